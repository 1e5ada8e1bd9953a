// JSON patch (RFC 6902). The document is never changed: what an operation does not touch is shared with the result.
//
// Of its own rather than a library's, because the API needs what libraries do not give together: documents that are shared
// and must not be written to, `__proto__` as an ordinary key, Kubernetes' error texts, indices from the end ('-1'), and
// bounds on how many operations there are and how much `copy` may multiply.

import { deepEqual, getOwn, isPlainObject, setOwn } from './deep.ts';
import { quote } from './go-format.ts';
import { jsonType } from './go-value.ts';

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

/** 'malformed': no patch at all (400); 'limit': too much of it (413); 'failed': it does not apply to this document (422). */
export type JsonPatchErrorKind = 'malformed' | 'limit' | 'failed';

export class JsonPatchError extends Error {
  readonly kind: JsonPatchErrorKind;

  constructor(kind: JsonPatchErrorKind, message: string) {
    super(message);
    this.name = 'JsonPatchError';
    this.kind = kind;
  }
}

export const MAX_JSON_PATCH_OPERATIONS = 10_000;
/** How many bytes (as JSON) all copy operations of a patch may copy together. */
export const MAX_JSON_PATCH_COPY_BYTES = 3 * 1024 * 1024;

/** Checks that a parsed body is a patch. Throws JsonPatchError ('malformed' or 'limit'). */
export function parseJsonPatch(body: unknown): readonly JsonPatchOperation[] {
  if (!Array.isArray(body))
    throw new JsonPatchError(
      'malformed',
      `error decoding patch: json: cannot unmarshal ${jsonType(body)} into Go value of type []handlers.jsonPatchOp`,
    );
  if (body.length > MAX_JSON_PATCH_OPERATIONS) {
    const message = `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, got ${body.length}`;
    throw new JsonPatchError('limit', message);
  }
  return body.map((operation: unknown) => parseOperation(operation));
}

function parseOperation(operation: unknown): JsonPatchOperation {
  if (!isPlainObject(operation)) throw new JsonPatchError('malformed', 'a JSON patch operation must be an object');
  const op = getOwn(operation, 'op');
  const path = pointerOf(operation, 'path');
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      // A missing value is null, as it is for Kubernetes.
      return { op, path, value: getOwn(operation, 'value') ?? null };
    case 'remove':
      return { op, path };
    case 'move':
    case 'copy':
      return { op, path, from: pointerOf(operation, 'from') };
    default:
      throw new JsonPatchError('failed', `Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
  }
}

function pointerOf(operation: Readonly<Record<string, unknown>>, key: 'path' | 'from'): string {
  const pointer = getOwn(operation, key);
  if (typeof pointer !== 'string') throw new JsonPatchError('malformed', `a JSON patch operation needs ${quote(key)}`);
  if (pointer !== '' && !pointer.startsWith('/')) {
    throw new JsonPatchError('malformed', `${quote(pointer)} is no JSON pointer: it must begin with '/'`);
  }
  return pointer;
}

/** The document that the operations make of `document`, all of them or (when one throws) none. Throws JsonPatchError. */
export function applyJsonPatch(document: unknown, patch: readonly JsonPatchOperation[]): unknown {
  let result = document;
  let copied = 0;
  for (const operation of patch) {
    switch (operation.op) {
      case 'add':
        result = add(result, operation.path, operation.value);
        break;
      case 'remove':
        result = remove(result, operation.path);
        break;
      case 'replace':
        result = replace(result, operation.path, operation.value);
        break;
      case 'test':
        test(result, operation.path, operation.value);
        break;
      case 'move': {
        // Into itself is nowhere.
        if (operation.path.startsWith(`${operation.from}/`)) throw missing('move', operation.path);
        const value = valueAt(result, operation.from, 'move');
        if (operation.path !== operation.from) result = add(remove(result, operation.from), operation.path, value);
        break;
      }
      case 'copy': {
        const value = valueAt(result, operation.from, 'copy');
        copied += JSON.stringify(value).length;
        if (copied > MAX_JSON_PATCH_COPY_BYTES) {
          const message = `Unable to complete the copy, the accumulated size increase of copy is ${copied}, exceeding the limit ${MAX_JSON_PATCH_COPY_BYTES}`;
          throw new JsonPatchError('limit', message);
        }
        result = add(result, operation.path, value);
        break;
      }
    }
  }
  return result;
}

/** What makes of a container (object or list) one with another value at the last step of a path. */
type Edit = (container: unknown, key: string) => unknown;

function add(document: unknown, path: string, value: unknown): unknown {
  if (path === '') return value;
  return edit(
    document,
    steps(path),
    () => missing('add', path),
    (container, key) => {
      if (!Array.isArray(container)) return withEntry(container as Record<string, unknown>, key, value);
      // One past the end, and '-' which means that, is allowed.
      const index = key === '-' ? container.length : indexOf(key, container.length, container.length + 1);
      if (index === undefined)
        throw new JsonPatchError('failed', `Unable to access invalid index: ${key}: invalid index referenced`);
      return container.toSpliced(index, 0, value);
    },
  );
}

function remove(document: unknown, path: string): unknown {
  if (path === '') return null;
  return edit(
    document,
    steps(path),
    () => missing('remove', path),
    (container, key) => {
      const failed = (why: string): JsonPatchError => new JsonPatchError('failed', `error in remove for path: '${path}': ${why}`);
      if (!Array.isArray(container)) {
        const object = container as Record<string, unknown>;
        if (!Object.hasOwn(object, key)) throw failed(`Unable to remove nonexistent key: ${key}: missing value`);
        return withoutEntry(object, key);
      }
      const index = indexOf(key, container.length, container.length);
      if (index === undefined) throw failed(`Unable to access invalid index: ${key}: invalid index referenced`);
      return container.toSpliced(index, 1);
    },
  );
}

function replace(document: unknown, path: string, value: unknown): unknown {
  if (path === '') return value;
  const noKey = (): JsonPatchError =>
    new JsonPatchError('failed', `replace operation does not apply: doc is missing key: ${path}: missing value`);
  const noPath = (): JsonPatchError =>
    new JsonPatchError('failed', `replace operation does not apply: doc is missing path: ${path}: missing value`);
  return edit(document, steps(path), noPath, (container, key) => {
    if (!Array.isArray(container)) {
      // Kubernetes replaces what is not there, too.
      return withEntry(container as Record<string, unknown>, key, value);
    }
    const index = indexOf(key, container.length, container.length);
    if (index === undefined) throw noKey();
    return container.with(index, value);
  });
}

function test(document: unknown, path: string, expected: unknown): void {
  const actual = lookup(document, steps(path));
  // A missing value passes for null.
  if (!deepEqual(actual ?? null, expected ?? null)) {
    throw new JsonPatchError('failed', `testing value ${path} failed: test failed`);
  }
}

function valueAt(document: unknown, path: string, op: string): unknown {
  const value = lookup(document, steps(path));
  if (value === undefined) throw missing(op, path);
  return value;
}

function missing(op: string, path: string): JsonPatchError {
  return new JsonPatchError('failed', `${op} operation does not apply: doc is missing path: ${quote(path)}: missing value`);
}

/** Copies the containers on the way to the last step, and lets `change` make the last one. */
function edit(node: unknown, path: readonly string[], noPath: () => JsonPatchError, change: Edit): unknown {
  // Without recursion: a path may be as long as a request.
  const containers: unknown[] = [];
  let current = node;
  for (const step of path.slice(0, -1)) {
    containers.push(current);
    current = childOf(current, step);
  }
  if (!isContainer(current)) throw noPath();
  let result = change(current, path.at(-1) as string);
  for (let at = containers.length - 1; at >= 0; at--) {
    const container = containers[at];
    const step = path[at] as string;
    if (Array.isArray(container)) result = container.with(indexOf(step, container.length, container.length) as number, result);
    else result = withEntry(container as Record<string, unknown>, step, result);
  }
  return result;
}

function lookup(document: unknown, path: readonly string[]): unknown {
  let current = document;
  for (const step of path) current = childOf(current, step);
  return current;
}

function childOf(node: unknown, step: string): unknown {
  if (Array.isArray(node)) {
    const index = indexOf(step, node.length, node.length);
    return index === undefined ? undefined : (node[index] as unknown);
  }
  return isContainer(node) ? getOwn(node as Record<string, unknown>, step) : undefined;
}

function isContainer(node: unknown): boolean {
  return typeof node === 'object' && node !== null;
}

/** An index below `bound`; '-1' is the last of `length` items. */
function indexOf(step: string, length: number, bound: number): number | undefined {
  if (!/^-?\d{1,9}$/.test(step)) return undefined;
  const index = Number(step) < 0 || step.startsWith('-') ? length + Number(step) : Number(step);
  return index >= 0 && index < bound ? index : undefined;
}

function withEntry(object: Readonly<Record<string, unknown>>, key: string, value: unknown): Record<string, unknown> {
  const copy = { ...object };
  setOwn(copy, key, value);
  return copy;
}

function withoutEntry(object: Readonly<Record<string, unknown>>, key: string): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) if (name !== key) setOwn(copy, name, value);
  return copy;
}

function steps(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
