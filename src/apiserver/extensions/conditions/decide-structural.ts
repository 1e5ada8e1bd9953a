// Decides the condition NonStructuralSchema. Validation rejects non-structural schemas, except in
// definitions with preserveUnknownFields, which may be in an etcd of a Kubernetes before 1.22.

import { findCondition, type NewCondition } from '#api/groups/apiextensions/v1/conditions.ts';
import {
  structuralSchema,
  type StructuralSchema,
  UnsupportedSchemaError,
} from '#api/machinery/codec/structural/structural-schema.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import { validateStructural } from '#api/machinery/codec/structural/validate-structural.ts';
import * as field from '#machinery/validation/field.ts';
import type { Definition } from './definition.ts';

/** Returns the condition, or undefined if all schemas are structural. */
export function decideStructural({ spec, status }: Definition): NewCondition | undefined {
  // All other schemas were checked when they were written, and a check takes milliseconds.
  if (
    spec.preserveUnknownFields !== true &&
    findCondition(status, 'NonStructuralSchema') === undefined
  )
    return undefined;
  const errors: field.FieldErrorList = [];
  if (spec.preserveUnknownFields === true) {
    errors.push(field.invalid(field.path('spec', 'preserveUnknownFields'), true, 'must be false'));
  }
  for (const [index, { name, schema }] of spec.versions.entries()) {
    const source = schema?.openAPIV3Schema as JSONSchemaProps | undefined;
    if (source === undefined) continue;
    const structural = structuralOrProblem(source);
    if (typeof structural === 'string') {
      const message = `failed to check validation schema for version ${name}: ${structural}`;
      return { type: 'NonStructuralSchema', status: 'Unknown', reason: 'StructuralError', message };
    }
    const at = field.path('spec', 'versions').index(index).child('schema', 'openAPIV3Schema');
    errors.push(...field.bounded(() => validateStructural(structural, at)));
  }
  if (errors.length === 0) return undefined;
  return {
    type: 'NonStructuralSchema',
    status: 'True',
    reason: 'Violations',
    message: field.aggregateMessage(errors),
  };
}

function structuralOrProblem(source: JSONSchemaProps): StructuralSchema | string {
  try {
    return structuralSchema(source);
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) return error.message;
    throw error;
  }
}
