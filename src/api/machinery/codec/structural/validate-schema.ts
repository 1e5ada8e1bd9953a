// Validates the schema of a definition: everything that must hold before a codec can be made of it.

import type { JSONSchemaProps } from './json-schema-props.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { isSaid, type StructuralSchema, structuralSchema, UnsupportedSchemaError } from './structural-schema.ts';
import { validateDefaults } from './validate-defaults.ts';
import { type KeywordOptions, validateKeywords } from './validate-keywords.ts';
import { validateStructural } from './validate-structural.ts';

export interface ValidateSchemaOptions extends Omit<KeywordOptions, 'compilesRules'> {
  /** Whether the kind has the status subresource: its schema is then taken out of the whole. Default: false. */
  readonly statusEnabled?: boolean;
}

/** Keywords that would be lost for the status, if its schema were taken out of one that has them at its root. */
const FORBIDDEN_WITH_STATUS = [
  'id',
  '$schema',
  '$ref',
  'default',
  'enum',
  'maxProperties',
  'minProperties',
  'allOf',
  'oneOf',
  'anyOf',
  'not',
  'additionalProperties',
  'patternProperties',
  'dependencies',
  'additionalItems',
  'definitions',
  'nullable',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
] as const;

/** The others, as upstream names them. */
const ALLOWED_WITH_STATUS =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems ' +
  'UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';

/**
 * Returns what is wrong with the schema, rules included. `at`: its path, such as spec.validation.openAPIV3Schema. Rules that are not in
 * `compiledRules` are compiled at once, which takes up to a millisecond each.
 */
export function validateSchema(source: JSONSchemaProps, at: FieldPath, options: ValidateSchemaOptions = {}): FieldErrorList {
  const errors: FieldErrorList = [];
  if (options.statusEnabled === true) errors.push(...validateRootWithStatus(source, at));
  const schema = structuralOrError(source);
  let compilesRules = false;
  if (!(schema instanceof UnsupportedSchemaError)) {
    const structural = validateStructural(schema, at);
    const found = structural.length > 0 ? structural : validateDefaults(schema, at);
    errors.push(...found);
    compilesRules = found.length === 0;
  }
  errors.push(...validateKeywords(source, at, { ...options, compilesRules }));
  // The keywords say the same better.
  if (errors.length === 0 && schema instanceof UnsupportedSchemaError) errors.push(field.invalid(at, '', schema.message));
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

function validateRootWithStatus(source: JSONSchemaProps, at: FieldPath): FieldErrorList {
  if ((source.type ?? '') !== '' && source.type !== 'object') {
    const detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [field.invalid(at.child('type'), source.type, detail)];
  }
  const isUsed = FORBIDDEN_WITH_STATUS.some((keyword) => isSaid(keyword, source[keyword]));
  if (!isUsed) return [];
  const detail = `only [${ALLOWED_WITH_STATUS}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [field.invalid(at, field.omitValue, detail)];
}
