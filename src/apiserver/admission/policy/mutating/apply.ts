// Applies the value of a mutation's expression to an object. An apply configuration is merged as in
// server-side apply; a list of operations is applied as a JSON patch.

import {
  asList,
  asMap,
  merge,
  type MergeType,
  TypedValueError,
  validateTyped,
} from '#api/machinery/managed-fields/index.ts';
import {
  EvaluationError,
  listItems,
  misnamedObjects,
  ObjectValue,
  toJson,
  type Value,
} from '#cel/index.ts';
import { applyJsonPatch, JsonPatchError, parseJsonPatch } from '#machinery/patch/json-patch.ts';

type Json = Readonly<Record<string, unknown>>;

/** A mutation that cannot be applied. Clients get its message. */
export class MutationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MutationError';
  }
}

/**
 * Merges an apply configuration into an object. `type`: the type of the object, which has
 * apiVersion and kind. Throws MutationError.
 */
export function applyConfiguration(type: MergeType, object: Json, value: Value): Json {
  checkNames(value);
  const configuration = {
    ...(jsonOf(value) as Json),
    apiVersion: object['apiVersion'],
    kind: object['kind'],
  };
  try {
    validateTyped(type, configuration);
  } catch (error) {
    if (!(error instanceof TypedValueError)) throw error;
    throw new MutationError(
      `error applying patch: failed to convert patch object to typed object: ${error.message}`,
    );
  }
  const atomic = atomicPaths(type, configuration, '');
  if (atomic.length > 0) {
    const where = atomic.join(', ');
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${where}`,
    );
  }
  return merge(type, object, configuration) as Json;
}

/**
 * Returns the paths of atomic values in an apply configuration. They are rejected, because an
 * atomic value would be replaced completely, with fields that the policy's author did not consider.
 */
function atomicPaths(type: MergeType, value: unknown, path: string): string[] {
  const map =
    value === null || typeof value !== 'object' || Array.isArray(value) ? undefined : asMap(value);
  if (map !== undefined && type.map !== undefined) {
    const { atomic, fields } = type.map;
    const inside = Object.entries(map).flatMap(([name, field]) => {
      const fieldType = fields.get(name);
      return fieldType === undefined ? [] : atomicPaths(fieldType.type, field, `${path}.${name}`);
    });
    return atomic ? [path, ...inside] : inside;
  }
  const list = Array.isArray(value) ? asList(value) : undefined;
  if (list === undefined || type.list === undefined) return [];
  const { atomic, items } = type.list;
  const inside = list.flatMap((item, index) => atomicPaths(items, item, `${path}[${index}]`));
  return atomic ? [path, ...inside] : inside;
}

/**
 * Applies a JSON patch. Returns the object unchanged if a test of the patch fails. Throws
 * MutationError.
 */
export function applyPatch(object: Json, value: Value): Json {
  const operations = listItems(value).map(operationOf);
  try {
    return applyJsonPatch(object, parseJsonPatch(operations)) as Json;
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    if (error.kind === 'failed' && error.message.endsWith(': test failed')) return object;
    throw new MutationError(`JSON Patch: ${error.message}`);
  }
}

function operationOf(operation: Value): Json {
  if (!(operation instanceof ObjectValue))
    throw new MutationError(
      'type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch',
    );
  const value = operation.get('value');
  // A value may be an object of any type, but its nested objects must have the types of their
  // fields.
  if (value instanceof ObjectValue) checkNames(value, value.typeName);
  const from = operation.get('from');
  return {
    op: operation.get('op') ?? '',
    path: operation.get('path') ?? '',
    ...(typeof from === 'string' && from !== '' && { from }),
    ...(value !== undefined && { value: jsonOf(value) }),
  };
}

/** Throws MutationError if an object's type name does not fit its place. */
function checkNames(value: Value, path?: string): void {
  const problems = misnamedObjects(value, path);
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`);
}

/** Returns the JSON of a value. Throws MutationError for values without one. */
function jsonOf(value: Value): unknown {
  try {
    return toJson(value);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    throw new MutationError(
      `JSONPath valueExpression evaluated to a type that could not marshal to JSON: ${error.message}`,
    );
  }
}
