// The rules of structural schemas. Upstream has the same in apiextensions-apiserver,
// pkg/apiserver/schema.

import type { JSONSchemaProps } from './json-schema-props.ts';
import { runSteps, type Steps } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { isEffective, isSchema, type StructuralSchema } from './structural-schema.ts';
import { Pace } from './pace.ts';
import { patternProblem } from '#machinery/text/pattern.ts';

/** The position of a node: the whole object, an item of a list, or a field. */
type Level = 'root' | 'item' | 'field';

/** Returns the reasons why the schema is not structural, sorted by message. */
export function validateStructural(schema: StructuralSchema, at: FieldPath): FieldErrorList {
  return runSteps(validateStructuralInSteps(schema, at));
}

/** Does the same as validateStructural in steps. */
export function* validateStructuralInSteps(
  schema: StructuralSchema,
  at: FieldPath,
): Steps<FieldErrorList> {
  const errors: FieldErrorList = [];
  yield* validateNode(schema, 'root', at, errors, new Pace());
  validateCompleteness(schema.source, schema, at, at, errors);
  return errors.sort((a, b) => (a.message < b.message ? -1 : a.message > b.message ? 1 : 0));
}

function* validateNode(
  schema: StructuralSchema,
  level: Level,
  at: FieldPath,
  errors: FieldErrorList,
  pace: Pace,
): Steps<void> {
  if (pace.isStepOver) yield;
  const { source, type, items, properties, additionalProperties, embeddedResource } = schema;
  if (type === 'array' && items === undefined)
    errors.push(field.required(at.child('items'), 'must be specified'));
  if (items !== undefined) yield* validateNode(items, 'item', at.child('items'), errors, pace);
  const inProperties = at.child('properties');
  for (const [name, property] of properties)
    yield* validateNode(property, 'field', inProperties.key(name), errors, pace);
  if (additionalProperties !== undefined) {
    const here = at.child('additionalProperties');
    if (level === 'root') errors.push(field.forbidden(here, 'must not be used at the root'));
    if (typeof additionalProperties === 'object')
      yield* validateNode(additionalProperties, 'field', here, errors, pace);
  }
  validateExtensions(schema, at, errors);
  const skips = {
    anyOf: isIntOrString(source.anyOf),
    firstAllOf: isIntOrString(source.allOf?.[0]?.anyOf),
  };
  validateValues(source, level, at, errors, skips);
  validateType(schema, level, at, errors);
  const isResource = level === 'root' || embeddedResource;
  for (const name of ['kind', 'apiVersion']) {
    const property = properties.get(name);
    if (isResource && property !== undefined && property.type !== 'string') {
      errors.push(
        field.invalid(
          at.child('properties').key(name).child('type'),
          property.type,
          'must be string',
        ),
      );
    }
  }
  const metadata = properties.get('metadata');
  if (metadata !== undefined)
    validateMetadata(metadata, isResource, level, at.child('properties').key('metadata'), errors);
  if (embeddedResource && !schema.preserveUnknownFields && properties.size === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(field.required(at.child('properties'), detail));
  }
}

const EMPTY_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function validateType(
  schema: StructuralSchema,
  level: Level,
  at: FieldPath,
  errors: FieldErrorList,
): void {
  const { type, embeddedResource } = schema;
  const here = at.child('type');
  if (embeddedResource && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? field.required(here, detail) : field.invalid(here, type, detail));
  } else if (type === '' && !schema.intOrString && !schema.preserveUnknownFields) {
    errors.push(field.required(here, EMPTY_TYPE[level]));
  }
  if (embeddedResource && schema.additionalProperties !== undefined) {
    const detail = 'must not be used if x-kubernetes-embedded-resource is set';
    errors.push(field.forbidden(at.child('additionalProperties'), detail));
  }
  if (level === 'root' && type !== '' && type !== 'object')
    errors.push(field.invalid(here, type, 'must be object at the root'));
}

function validateExtensions(schema: StructuralSchema, at: FieldPath, errors: FieldErrorList): void {
  if (!schema.intOrString) return;
  const detail = 'must be false if x-kubernetes-int-or-string is true';
  if (schema.preserveUnknownFields)
    errors.push(field.invalid(at.child('x-kubernetes-preserve-unknown-fields'), true, detail));
  if (schema.embeddedResource)
    errors.push(field.invalid(at.child('x-kubernetes-embedded-resource'), true, detail));
}

/** The keywords that are allowed for metadata at the root; the rest is the same for every kind. */
const METADATA_KEYWORDS: ReadonlySet<string> = new Set(['type', 'default', 'properties']);

function validateMetadata(
  metadata: StructuralSchema,
  isResource: boolean,
  level: Level,
  at: FieldPath,
  errors: FieldErrorList,
): void {
  if (isResource && metadata.type !== 'object')
    errors.push(field.invalid(at.child('type'), metadata.type, 'must be object'));
  if (level !== 'root') return;
  const restrictsOnlyNames = [...metadata.properties.keys()].every(
    (name) => name === 'name' || name === 'generateName',
  );
  if (
    restrictsOnlyNames &&
    keywordsOf(metadata.source).every((keyword) => METADATA_KEYWORDS.has(keyword))
  )
    return;
  const detail =
    'must not specify anything other than name and generateName, but metadata is implicitly specified';
  errors.push(field.forbidden(at, detail));
}

function keywordsOf(source: JSONSchemaProps): string[] {
  return Object.entries(source)
    .filter(([keyword, value]) => isEffective(keyword, value))
    .map(([keyword]) => keyword);
}

/**
 * Reports whether the list is integer or string, in this order: the only types that are allowed in
 * a junctor.
 */
function isIntOrString(anyOf: readonly JSONSchemaProps[] | null | undefined): boolean {
  if (anyOf?.length !== 2) return false;
  const types = anyOf.map((source) => (keywordsOf(source).length === 1 ? source.type : undefined));
  return types[0] === 'integer' && types[1] === 'string';
}

interface Skips {
  readonly anyOf: boolean;
  readonly firstAllOf: boolean;
}

const SKIP_NONE: Skips = { anyOf: false, firstAllOf: false };

function validateValues(
  source: JSONSchemaProps,
  level: Level,
  at: FieldPath,
  errors: FieldErrorList,
  skips: Skips,
): void {
  if (!skips.anyOf) {
    source.anyOf?.forEach((nested, index) =>
      validateNested(nested, level, at.child('anyOf').index(index), errors),
    );
  }
  source.allOf?.forEach((nested, index) => {
    const skip = skips.firstAllOf && index === 0 ? { anyOf: true, firstAllOf: false } : SKIP_NONE;
    validateNested(nested, level, at.child('allOf').index(index), errors, skip);
  });
  source.oneOf?.forEach((nested, index) =>
    validateNested(nested, level, at.child('oneOf').index(index), errors),
  );
  if (isSchema(source.not)) validateNested(source.not, level, at.child('not'), errors);
  const pattern = source.pattern ?? '';
  const problem = pattern === '' ? undefined : patternProblem(pattern);
  if (problem !== undefined) {
    errors.push(
      field.invalid(
        at.child('pattern'),
        pattern,
        `must be a valid regular expression, but isn't: ${problem}`,
      ),
    );
  }
}

/** Validates a schema inside of a junctor: it may restrict values, but not define their types. */
function validateNested(
  source: JSONSchemaProps,
  level: Level,
  at: FieldPath,
  errors: FieldErrorList,
  skips: Skips = SKIP_NONE,
): void {
  validateValues(source, level, at, errors, skips);
  if (isSchema(source.items)) validateNested(source.items, level, at.child('items'), errors);
  for (const [name, property] of Object.entries(source.properties ?? {})) {
    validateNested(property, 'field', at.child('properties').key(name), errors);
  }
  for (const [keyword, detail] of FORBIDDEN_IN_JUNCTORS) {
    const value = source[keyword];
    // `additionalProperties: false` has no effect as a validation.
    if (!isEffective(keyword, value) || (keyword === 'additionalProperties' && value === false))
      continue;
    errors.push(field.forbidden(at.child(keyword), `must be ${detail} to be structural`));
  }
  if (Object.hasOwn(source.properties ?? {}, 'metadata')) {
    errors.push(
      field.forbidden(
        at.child('properties').key('metadata'),
        'must not be specified in a nested context',
      ),
    );
  }
}

const FORBIDDEN_IN_JUNCTORS: readonly (readonly [keyof JSONSchemaProps, string])[] = [
  ['type', 'empty'],
  ['additionalProperties', 'undefined'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
];

/**
 * Checks that everything a junctor restricts is defined outside of it, too. `at`: the path of the
 * definition. `from`: the path of the restriction.
 */
function validateCompleteness(
  source: JSONSchemaProps,
  schema: StructuralSchema,
  at: FieldPath,
  from: FieldPath,
  errors: FieldErrorList,
): void {
  const nested = (part: JSONSchemaProps, here: FieldPath): void =>
    nestedCompleteness(part, schema, at, here, errors);
  if (isSchema(source.not)) nested(source.not, from.child('not'));
  source.allOf?.forEach((part, index) => nested(part, from.child('allOf').index(index)));
  source.anyOf?.forEach((part, index) => nested(part, from.child('anyOf').index(index)));
  source.oneOf?.forEach((part, index) => nested(part, from.child('oneOf').index(index)));
}

function nestedCompleteness(
  source: JSONSchemaProps,
  schema: StructuralSchema | undefined,
  at: FieldPath,
  from: FieldPath,
  errors: FieldErrorList,
): void {
  if (schema === undefined) {
    errors.push(field.required(at, `because it is defined in ${from.toString()}`));
    return;
  }
  validateCompleteness(source, schema, at, from, errors);
  if (isSchema(source.items))
    nestedCompleteness(source.items, schema.items, at.child('items'), from.child('items'), errors);
  for (const [name, property] of Object.entries(source.properties ?? {})) {
    const here = at.child('properties').key(name);
    nestedCompleteness(
      property,
      schema.properties.get(name),
      here,
      from.child('properties').key(name),
      errors,
    );
  }
}
