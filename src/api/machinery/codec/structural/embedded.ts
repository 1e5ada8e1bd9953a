// Resources embedded in custom resources (x-kubernetes-embedded-resource): their type and their
// metadata must be valid, whatever their schema.

import type { ObjectMeta } from '../../meta/v1/index.ts';
import {
  MetadataPaths,
  pathSegmentName,
  validateObjectMeta,
} from '../../meta/v1/object-meta-validation.ts';
import { isPlainObject } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { DecodeError } from '../decode-error.ts';
import { childPath } from './lists.ts';
import { decodeMetadata } from './object-meta.ts';
import { anywhere } from './schema-predicate.ts';
import { schemaOfField, type StructuralSchema } from './structural-schema.ts';

const hasEmbedded = anywhere(({ embeddedResource }) => embeddedResource);

/**
 * Returns the errors of the embedded resources in the value. `at`: the value's path; undefined for
 * a whole object.
 */
export function validateEmbedded(
  schema: StructuralSchema,
  value: unknown,
  at?: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (hasEmbedded(schema)) validateValue(schema, value, at, errors);
  return errors;
}

function validateValue(
  schema: StructuralSchema,
  value: unknown,
  at: FieldPath | undefined,
  errors: FieldErrorList,
): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined || !hasEmbedded(items)) return;
    value.forEach((item, index) =>
      validateValue(items, item, (at ?? field.path('')).index(index), errors),
    );
    return;
  }
  if (!isPlainObject(value)) return;
  if (schema.embeddedResource) errors.push(...validateResource(value, at ?? field.path('')));
  for (const [name, item] of Object.entries(value)) {
    const inside = schemaOfField(schema, name);
    if (inside !== undefined && hasEmbedded(inside))
      validateValue(inside, item, childPath(schema, name, at), errors);
  }
}

/**
 * Returns the errors of a resource's apiVersion, kind and metadata. The metadata may be missing.
 */
export function validateResource(
  resource: Readonly<Record<string, unknown>>,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const { apiVersion, kind, metadata } = resource;
  if (apiVersion === undefined) errors.push(field.required(at.child('apiVersion')));
  else errors.push(...validateText(apiVersion, at.child('apiVersion'), apiVersionProblem));
  if (kind === undefined) errors.push(field.required(at.child('kind')));
  else errors.push(...validateText(kind, at.child('kind'), kindProblem));
  if (metadata !== undefined) errors.push(...validateMetadata(metadata, at.child('metadata')));
  return errors;
}

function validateText(
  value: unknown,
  at: FieldPath,
  problemOf: (text: string) => string | undefined,
): FieldErrorList {
  if (typeof value !== 'string') return [field.invalid(at, value, 'must be a string')];
  const problem = value === '' ? 'must not be empty' : problemOf(value);
  return problem === undefined ? [] : [field.invalid(at, value, problem)];
}

function apiVersionProblem(apiVersion: string): string | undefined {
  return apiVersion.split('/').length > 2
    ? `unexpected GroupVersion string: ${apiVersion}`
    : undefined;
}

function kindProblem(kind: string): string | undefined {
  const problems = validation.isDNS1035Label(kind.toLowerCase());
  return problems.length === 0
    ? undefined
    : `may have mixed case, but should otherwise match: ${problems.join(',')}`;
}

function validateMetadata(given: unknown, at: FieldPath): FieldErrorList {
  try {
    const { metadata } = decodeMetadata(given);
    const meta = metadata as Partial<ObjectMeta>;
    const rules = { validateName: pathSegmentName, anyFinalizer: true };
    // A template has no name yet.
    return validateObjectMeta(
      { ...meta, name: meta.name ?? 'unnamed' } as ObjectMeta,
      (meta.namespace ?? '') !== '',
      rules,
      new MetadataPaths(at),
    );
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return [field.invalid(at, given, error.message)];
  }
}
