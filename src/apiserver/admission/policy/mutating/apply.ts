// What the value of a mutation's expression makes of an object: an apply configuration is merged into it as server-side apply
// merges, a list of operations is applied as a JSON patch.

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

/** A mutation that cannot be made. The message is what clients are told. */
export class MutationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MutationError';
  }
}

/** `type`: of the object, which has its apiVersion and kind. Throws MutationError. */
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

/** An atomic value would be replaced as a whole, with all that its author did not think of. */
function atomicPaths(type: MergeType, value: unknown, path: string): string[] {
  const map =
    value === null || typeof value !== 'object' || Array.isArray(value) ? undefined : asMap(value);
  if (map !== undefined && type.map !== undefined) {
    const { atomic, fields } = type.map;
    const inside = Object.entries(map).flatMap(([name, field]) => {
      const known = fields.get(name);
      return known === undefined ? [] : atomicPaths(known.type, field, `${path}.${name}`);
    });
    return atomic ? [path, ...inside] : inside;
  }
  const list = Array.isArray(value) ? asList(value) : undefined;
  if (list === undefined || type.list === undefined) return [];
  const { atomic, items } = type.list;
  const inside = list.flatMap((item, index) => atomicPaths(items, item, `${path}[${index}]`));
  return atomic ? [path, ...inside] : inside;
}

/** The object itself if one of the patch's tests fails. Throws MutationError. */
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
  // An object that is put somewhere may be one of any place, but its parts must be of that place.
  if (value instanceof ObjectValue) checkNames(value, value.typeName);
  const from = operation.get('from');
  return {
    op: operation.get('op') ?? '',
    path: operation.get('path') ?? '',
    ...(typeof from === 'string' && from !== '' && { from }),
    ...(value !== undefined && { value: jsonOf(value) }),
  };
}

/** Throws MutationError for objects that are named otherwise than by their place. */
function checkNames(value: Value, path?: string): void {
  const problems = misnamedObjects(value, path);
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`);
}

/** Throws MutationError for values that have no JSON. */
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
