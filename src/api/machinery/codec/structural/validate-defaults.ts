// Validates the defaults of a schema: a default must be valid as a value of an object.

import { Budget } from '#cel/index.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import { Pace } from './pace.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateEmbedded, validateResource } from './embedded.ts';
import { ReadContext } from './read-context.ts';
import { InvalidFieldError, readerOf, RESOURCE_FIELDS } from './reader.ts';
import { checkRules } from './rules/check.ts';
import { ruleNodeOf } from './rules/rule-node.ts';
import type { StructuralSchema } from './structural-schema.ts';
import { validateValue } from './validate-value.ts';

/** The errors of one validation of defaults, and its remaining budget. */
interface Run {
  readonly errors: FieldErrorList;
  /** The rules of all defaults share one budget. */
  readonly budget: Budget;
  readonly allowUnknownFields: boolean;
  readonly pace: Pace;
}

/** Returns a resource around a default in its metadata. */
type Surround = (value: unknown) => Record<string, unknown>;

/**
 * Returns the errors of the schema's defaults. `allowUnknownFields`: defaults may have fields that
 * decoding drops.
 */
export function validateDefaults(
  schema: StructuralSchema,
  at: FieldPath,
  allowUnknownFields = false,
): FieldErrorList {
  return runSteps(validateDefaultsInSteps(schema, at, allowUnknownFields));
}

/** Does the same as validateDefaults in steps. */
export function* validateDefaultsInSteps(
  schema: StructuralSchema,
  at: FieldPath,
  allowUnknownFields = false,
): Steps<FieldErrorList> {
  const run: Run = { errors: [], budget: new Budget(), allowUnknownFields, pace: new Pace() };
  yield* validateNode({ ...schema, embeddedResource: true }, at, undefined, run);
  return run.errors;
}

/** Validates the defaults of a node. `surround`: the node is in the metadata of a resource. */
function* validateNode(
  schema: StructuralSchema,
  at: FieldPath,
  surround: Surround | undefined,
  run: Run,
): Steps<void> {
  if (run.budget.exhausted) return;
  if (run.pace.isStepOver) yield;
  const inMeta = schema.embeddedResource ? undefined : surround;
  if (schema.default !== undefined) validateDefault(schema, at.child('default'), inMeta, run);
  // Metadata has no defaults below additionalProperties; upstream does not check them elsewhere.
  const { items } = schema;
  if (items !== undefined) {
    yield* validateNode(
      items,
      at.child('items'),
      inMeta === undefined ? undefined : (value) => inMeta([value]),
      run,
    );
  }
  for (const [name, property] of schema.properties) {
    yield* validateNode(
      property,
      at.child('properties').key(name),
      surroundOf(schema, name, inMeta),
      run,
    );
  }
}

function surroundOf(
  schema: StructuralSchema,
  name: string,
  inMeta: Surround | undefined,
): Surround | undefined {
  if (inMeta !== undefined) return (value) => inMeta({ [name]: value });
  if (!schema.embeddedResource || !RESOURCE_FIELDS.has(name)) return undefined;
  return (value) => ({ apiVersion: 'validation/v1', kind: 'Validation', [name]: value });
}

function validateDefault(
  schema: StructuralSchema,
  at: FieldPath,
  surround: Surround | undefined,
  run: Run,
): void {
  const value = schema.default;
  let errors: FieldErrorList;
  if (surround !== undefined) {
    const ofResource = validateResource(surround(value), field.path(''));
    const detail = `must result in valid metadata: ${field.aggregateMessage(ofResource)}`;
    errors = ofResource.length === 0 ? [] : [field.invalid(at, value, detail)];
  } else {
    const read = readDefault(schema, value, at);
    if (read instanceof field.FieldError) errors = [read];
    else {
      if (read.pruned.length > 0 && !run.allowUnknownFields)
        run.errors.push(field.invalid(at, value, 'must not have unknown fields'));
      errors = validateEmbedded(schema, value, at);
    }
  }
  if (errors.length === 0)
    errors = validateValue(schema.source, value, { base: at, ofObjects: false });
  if (errors.length === 0) errors = validateByRules(schema, at, run);
  run.errors.push(...errors);
}

/**
 * Evaluates the rules for the default as the value of an update without changes, and as a new
 * value.
 */
function validateByRules(schema: StructuralSchema, at: FieldPath, { budget }: Run): FieldErrorList {
  const node = ruleNodeOf(schema);
  const value = schema.default;
  const [asOld, asNew] = [new Budget(budget.remaining), new Budget(budget.remaining)];
  let errors = runSteps(checkRules(node, { value, old: value, base: at, budget: asOld }, []));
  if (errors.length === 0)
    errors = runSteps(checkRules(node, { value, base: at, budget: asNew }, []));
  budget.remaining = Math.min(asOld.remaining, asNew.remaining);
  return errors;
}

/** Decodes the default. Returns the result, or the error of the first invalid field. */
function readDefault(
  schema: StructuralSchema,
  value: unknown,
  at: FieldPath,
): ReadContext | field.FieldError {
  const context = new ReadContext(at);
  try {
    readerOf(schema)(value, context);
    return context;
  } catch (error) {
    if (error instanceof InvalidFieldError) return error.error;
    throw error;
  }
}
