// Validates the schema of a definition: everything that a codec requires.

import type { JSONSchemaProps } from './json-schema-props.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { patternProblem, sizeOfPattern } from '#machinery/text/pattern.ts';
import { compileRulesOf } from './rules/precompiled.ts';
import { shownSchema } from './shown-schema.ts';
import {
  isEffective,
  partsOf,
  type StructuralSchema,
  structuralSchema,
  UnsupportedSchemaError,
} from './structural-schema.ts';
import { validateDefaultsInSteps } from './validate-defaults.ts';
import { type KeywordOptions, validateKeywords } from './validate-keywords.ts';
import { validateStructuralInSteps } from './validate-structural.ts';

export interface ValidateSchemaOptions extends Omit<KeywordOptions, 'compilesRules'> {
  /**
   * The kind has the status subresource: its schema is then extracted from the whole. Default:
   * false.
   */
  readonly statusEnabled?: boolean;
  /** Allow a schema that is not structural, because it was not before. Default: false. */
  readonly allowNonStructural?: boolean;
  /** Allow unknown fields in defaults, because there were some before. Default: false. */
  readonly allowUnknownFieldsInDefaults?: boolean;
}

/**
 * Keywords in the order in which upstream checks them, with upstream's names. Keywords with `false`
 * are forbidden in the root of a schema with a status subresource: extracting the schema of the
 * status would lose them.
 */
const ROOT_KEYWORDS: readonly (readonly [keyof JSONSchemaProps, string | false])[] = [
  ['id', false],
  ['$schema', false],
  ['$ref', false],
  ['description', 'Description'],
  ['type', 'Type'],
  ['nullable', false],
  ['format', 'Format'],
  ['title', 'Title'],
  ['default', false],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['enum', false],
  ['maxProperties', false],
  ['minProperties', false],
  ['required', 'Required'],
  ['items', 'Items'],
  ['allOf', false],
  ['oneOf', false],
  ['anyOf', false],
  ['not', false],
  ['properties', 'Properties'],
  ['additionalProperties', false],
  ['patternProperties', false],
  ['dependencies', false],
  ['additionalItems', false],
  ['definitions', false],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'],
  ['x-kubernetes-embedded-resource', false],
  ['x-kubernetes-int-or-string', false],
  ['x-kubernetes-list-map-keys', false],
  ['x-kubernetes-list-type', false],
  ['x-kubernetes-map-type', false],
  ['x-kubernetes-validations', 'XValidations'],
];
const ALLOWED_WITH_STATUS = ROOT_KEYWORDS.flatMap(([, name]) =>
  name === false ? [] : [name],
).join(' ');

/**
 * Returns the errors of the schema, rules included. `at`: its path, such as
 * spec.validation.openAPIV3Schema. Rules that are not in `compiledRules` are compiled
 * synchronously, which takes up to a millisecond each.
 */
export function validateSchema(
  source: JSONSchemaProps,
  at: FieldPath,
  options: ValidateSchemaOptions = {},
): FieldErrorList {
  return runSteps(validate(source, at, options));
}

/**
 * Does the same as validateSchema in steps of a few milliseconds, the compilation of rules
 * included.
 */
export function* validateSchemaInSteps(
  source: JSONSchemaProps,
  at: FieldPath,
  options: Omit<ValidateSchemaOptions, 'compiledRules'> = {},
): Steps<FieldErrorList> {
  const excess = yield* compilePatterns(source);
  if (excess !== undefined) return [field.invalid(at, field.omitValue, excess)];
  const compiledRules = yield* compileRulesOf(source);
  yield;
  return yield* validate(source, at, { ...options, compiledRules });
}

/**
 * The maximum depth of nested schemas: validation and decoding are recursive. Upstream's only limit
 * is that of JSON, 10,000.
 */
const MAX_DEPTH = 300;
/** The number of pattern characters that are compiled in one step. */
const PATTERNS_PER_STEP = 1000;
/** The length that a node counts. */
const NODE_LENGTH = 10;

/** The maximum total size of a schema's patterns (sizeOfPattern). Upstream limits the body only. */
const MAX_PATTERNS_SIZE = 400_000;

/**
 * Compiles the patterns of a schema, so that validation finds them in the cache. Returns an error
 * if they are too large.
 */
function* compilePatterns(root: JSONSchemaProps): Steps<string | undefined> {
  const left: (readonly [schema: JSONSchemaProps, depth: number])[] = [[root, 0]];
  let length = 0;
  let size = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [schema, depth] = next;
    if (depth > MAX_DEPTH) return `must not be nested more than ${MAX_DEPTH} levels deep`;
    const { pattern = '' } = schema;
    const ofPattern = sizeOfPattern(pattern);
    size += ofPattern;
    if (size > MAX_PATTERNS_SIZE)
      return `patterns must have at most ${MAX_PATTERNS_SIZE} characters in all, repetitions written out`;
    if (pattern !== '') patternProblem(pattern);
    length += NODE_LENGTH + ofPattern;
    if (length > PATTERNS_PER_STEP) {
      length = 0;
      yield;
    }
    for (const part of partsOf(schema)) left.push([part, depth + 1]);
  }
  return undefined;
}

function* validate(
  source: JSONSchemaProps,
  at: FieldPath,
  options: ValidateSchemaOptions,
): Steps<FieldErrorList> {
  const errors: FieldErrorList =
    options.statusEnabled === true ? validateRootWithStatus(source, at) : [];
  if (source.nullable === true)
    errors.push(field.forbidden(at.child('nullable'), 'nullable cannot be true at the root'));
  let problem: UnsupportedSchemaError | undefined;
  let compilesRules = false;
  if (options.allowNonStructural !== true) {
    const schema = structuralOrError(source);
    yield;
    if (schema instanceof UnsupportedSchemaError) problem = schema;
    else {
      const structural = yield* validateStructuralInSteps(schema, at);
      yield;
      const unknown = options.allowUnknownFieldsInDefaults;
      const problem =
        structural.length > 0 ? structural : yield* validateDefaultsInSteps(schema, at, unknown);
      errors.push(...problem);
      compilesRules = problem.length === 0;
    }
    yield;
  }
  errors.push(...(yield* validateKeywords(source, at, { ...options, compilesRules })));
  // The errors of the keywords are more precise.
  if (errors.length === 0 && problem !== undefined)
    errors.push(field.invalid(at, '', problem.message));
  return errors;
}

function structuralOrError(source: JSONSchemaProps): StructuralSchema | UnsupportedSchemaError {
  try {
    return structuralSchema(source);
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) return error;
    throw error;
  }
}

/** Returns the error of the first keyword that the root must not have. */
function validateRootWithStatus(source: JSONSchemaProps, at: FieldPath): FieldErrorList {
  for (const [keyword, name] of ROOT_KEYWORDS) {
    if (!isEffective(keyword, source[keyword])) continue;
    if (keyword === 'type' && source.type !== 'object') {
      const detail =
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
      return [field.invalid(at.child('type'), source.type, detail)];
    }
    if (name !== false) continue;
    const detail =
      `only [${ALLOWED_WITH_STATUS}] fields are allowed at the root of the schema if the ` +
      'status subresource is enabled';
    return [field.invalid(at, shownSchema(source), detail)];
  }
  return [];
}
