// JSON patch (RFC 6902). The document is never modified: the result shares the unchanged parts.
//
// No library meets the API's needs: shared documents that must not be written to, `__proto__` as
// an ordinary key, Kubernetes' error texts, indices from the end ('-1'), and limits on the number
// of operations, the copied bytes, the depth of the result, and the time.

import { deepCopy, deepEqual, getOwn, isPlainObject, isWithinDepth, setOwn } from '../deep.ts';
import { quote } from '../text/go-format.ts';
import { jsonType } from '../text/go-value.ts';
import { stringifyJson } from '../text/json-integers.ts';
import { DEFAULT_MAX_JSON_DEPTH } from '../text/json.ts';

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

/**
 * 'malformed': no valid patch (400). 'limit': the patch is too large (413). 'failed': the patch
 * does not apply to this document (422).
 */
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
/** The longest pointer. Real pointers are far shorter. */
const MAX_POINTER_LENGTH = 64 * 1024;
/** The number of bytes (as JSON) that all copy operations of a patch may copy together. */
const MAX_JSON_PATCH_COPY_BYTES = 3 * 1024 * 1024;

/** Checks that a parsed body is a patch. Throws JsonPatchError ('malformed' or 'limit'). */
export function parseJsonPatch(body: unknown): readonly JsonPatchOperation[] {
  // As in upstream, null is an empty list.
  if (body === null) return [];
  if (!Array.isArray(body))
    throw new JsonPatchError(
      'malformed',
      `error decoding patch: json: cannot unmarshal ${jsonType(body)} into Go value of type []handlers.jsonPatchOp`,
    );
  // As in upstream, null is an operation without fields.
  const operations = body.map((operation: unknown) => operation ?? {});
  for (const operation of operations) checkTypes(operation);
  if (body.length > MAX_JSON_PATCH_OPERATIONS) {
    const message =
      `The allowed maximum operations in a JSON patch is ${MAX_JSON_PATCH_OPERATIONS}, ` +
      `got ${body.length}`;
    throw new JsonPatchError('limit', message);
  }
  return operations.map((operation) => parseOperation(operation as Operation));
}

type Operation = Readonly<Record<string, unknown>>;

/** Throws JsonPatchError ('malformed') unless the value is an object, with texts in their places. */
function checkTypes(operation: unknown): void {
  const cannot = (value: unknown, where: string): JsonPatchError =>
    new JsonPatchError(
      'malformed',
      `error decoding patch: json: cannot unmarshal ${jsonType(value)} into Go ${where}`,
    );
  if (!isPlainObject(operation)) throw cannot(operation, 'value of type handlers.jsonPatchOp');
  for (const name of ['op', 'path', 'from']) {
    const value = getOwn(operation, name);
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw cannot(value, `struct field jsonPatchOp.${name} of type string`);
  }
}

const OPERATION_FIELDS: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Returns the paths of fields that operations do not have, such as '[0].extra'. */
export function unknownFields(body: unknown): readonly string[] {
  if (!Array.isArray(body)) return [];
  return body.flatMap((operation: unknown, index) =>
    isPlainObject(operation)
      ? Object.keys(operation)
          .filter((name) => !OPERATION_FIELDS.has(name))
          .map((name) => `[${index}].${name}`)
      : [],
  );
}

function parseOperation(operation: Operation): JsonPatchOperation {
  const op = getOwn(operation, 'op');
  const path = pointerOf(operation, 'path');
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      // A missing value is null, as in upstream.
      return { op, path, value: getOwn(operation, 'value') ?? null };
    case 'remove':
      return { op, path };
    case 'move':
    case 'copy':
      return { op, path, from: pointerOf(operation, 'from') };
    default:
      throw new JsonPatchError(
        'failed',
        `Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`,
      );
  }
}

function pointerOf(operation: Operation, key: 'path' | 'from'): string {
  const pointer = getOwn(operation, key);
  if (typeof pointer !== 'string')
    throw new JsonPatchError('failed', `a JSON patch operation needs ${quote(key)}`);
  if (pointer.length > MAX_POINTER_LENGTH) {
    throw new JsonPatchError(
      'limit',
      `${quote(key)} of a JSON patch operation may have at most ${MAX_POINTER_LENGTH} characters`,
    );
  }
  if (pointer !== '' && !pointer.startsWith('/')) {
    throw new JsonPatchError(
      'failed',
      `${quote(pointer)} is no JSON pointer: it must begin with '/'`,
    );
  }
  return pointer;
}

/**
 * Returns the document after all operations. If one fails, nothing has changed. Throws
 * JsonPatchError.
 */
export function applyJsonPatch(document: unknown, patch: readonly JsonPatchOperation[]): unknown {
  const draft = new Draft(document);
  for (let from = 0; from < patch.length;) from = draft.applyPart(patch, from);
  return draft.root;
}

/**
 * Does the same as applyJsonPatch in parts of some milliseconds each, and awaits `pause` between
 * them. A patch with one part is applied synchronously.
 */
export function applyJsonPatchInParts(
  document: unknown,
  patch: readonly JsonPatchOperation[],
  pause: () => Promise<void>,
): unknown {
  const draft = new Draft(document);
  const next = draft.applyPart(patch, 0);
  if (next === patch.length) return draft.root;
  return (async () => {
    for (let from = next; from < patch.length;) {
      await pause();
      from = draft.applyPart(patch, from);
    }
    return draft.root;
  })();
}

/** The work of one part, in units of the simplest operation. */
const WORK_IN_PART = 1000;
/**
 * Bytes to copy, items to move and characters of a path that take about as long as the simplest
 * operation.
 */
const BYTES_PER_WORK = 100;
const ITEMS_PER_WORK = 5000;
const CHARACTERS_PER_WORK = 20;

/**
 * The number of list items that all operations of a patch may move to make room or to close gaps.
 */
const MAX_JSON_PATCH_MOVED_ITEMS = 20_000_000;

type Container = Record<string, unknown> | unknown[];

/**
 * A document while a patch is applied to it. Each container that the patch changes is copied once,
 * at its first change; unchanged parts are shared with the original. The time of a patch therefore
 * grows with the sum of its size and the document's, not with their product.
 */
class Draft {
  #root: unknown;
  /** Copies that belong to this draft alone: each is at one place, and is modified in place. */
  readonly #owned = new Set<Container>();
  #copiedBytes = 0;
  #movedItems = 0;
  /**
   * Operations may have nested the document deeper than the values of the patch and the original
   * are.
   */
  #deepened = false;

  constructor(document: unknown) {
    this.#root = document;
  }

  get root(): unknown {
    return this.#root;
  }

  /**
   * Applies operations from `from` on until they make up one part. Returns the index of the next
   * operation.
   */
  applyPart(patch: readonly JsonPatchOperation[], from: number): number {
    let next = from;
    let work = 0;
    while (next < patch.length && work < WORK_IN_PART) {
      const operation = patch[next++]!;
      const [copiedBefore, movedBefore] = [this.#copiedBytes, this.#movedItems];
      this.#applyOne(operation);
      work += 1 + operation.path.length / CHARACTERS_PER_WORK;
      work +=
        (this.#copiedBytes - copiedBefore) / BYTES_PER_WORK +
        (this.#movedItems - movedBefore) / ITEMS_PER_WORK;
    }
    if (this.#deepened && next === patch.length) checkDepth(this.#root);
    return next;
  }

  #applyOne(operation: JsonPatchOperation): void {
    const { path } = operation;
    switch (operation.op) {
      case 'add':
        this.#add(path, operation.value);
        break;
      case 'remove':
        this.#remove(path);
        break;
      case 'replace':
        this.#replace(path, operation.value);
        break;
      case 'test':
        test(this.#root, path, operation.value);
        break;
      case 'move': {
        const { from } = operation;
        // An object cannot become a part of itself.
        if (path.startsWith(`${from}/`)) throw noDestination('move', path);
        const value = sourceOf(this.#root, from, 'move');
        if (path === from) break;
        this.#remove(from);
        this.#add(path, value, noDestination('move', path));
        this.#deepened = true;
        break;
      }
      case 'copy':
        this.#deepened = true;
        this.#add(
          path,
          this.#copyOf(sourceOf(this.#root, operation.from, 'copy')),
          noDestination('copy', path),
        );
        break;
    }
  }

  /** Returns a deep copy: later operations may modify either of the two. */
  #copyOf(value: unknown): unknown {
    checkDepth(value);
    const text = stringifyJson(value);
    this.#copiedBytes += text.length;
    if (this.#copiedBytes > MAX_JSON_PATCH_COPY_BYTES) {
      const message =
        'Unable to complete the copy, the accumulated size increase of copy is ' +
        `${this.#copiedBytes}, exceeding the limit ${MAX_JSON_PATCH_COPY_BYTES}`;
      throw new JsonPatchError('limit', message);
    }
    return deepCopy(value);
  }

  #add(path: string, value: unknown, noPath = missing('add', path)): void {
    if (path === '') {
      this.#root = value;
      return;
    }
    const { container, key } = this.#containerOf(path, () => noPath);
    if (!Array.isArray(container)) {
      setOwn(container, key, value);
      return;
    }
    // The index after the end is allowed, also written as '-'.
    const index =
      key === '-' ? container.length : indexOf(key, container.length, container.length + 1);
    if (index === undefined)
      throw new JsonPatchError(
        'failed',
        `Unable to access invalid index: ${key}: invalid index referenced`,
      );
    this.#moves(container.length - index);
    container.splice(index, 0, value);
  }

  #remove(path: string): void {
    if (path === '') {
      this.#root = null;
      return;
    }
    const failed = (why: string): JsonPatchError =>
      new JsonPatchError('failed', `error in remove for path: '${path}': ${why}`);
    const { container, key } = this.#containerOf(path, () => missing('remove', path));
    if (!Array.isArray(container)) {
      if (!Object.hasOwn(container, key))
        throw failed(`Unable to remove nonexistent key: ${key}: missing value`);
      delete container[key];
      return;
    }
    const index = indexOf(key, container.length, container.length);
    if (index === undefined)
      throw failed(`Unable to access invalid index: ${key}: invalid index referenced`);
    this.#moves(container.length - index);
    container.splice(index, 1);
  }

  #replace(path: string, value: unknown): void {
    if (path === '') {
      this.#root = value;
      return;
    }
    const lacks = (what: string): JsonPatchError =>
      new JsonPatchError(
        'failed',
        `replace operation does not apply: doc is missing ${what}: ${path}: missing value`,
      );
    const { container, key } = this.#containerOf(path, () => lacks('path'));
    if (!Array.isArray(container)) {
      // As in upstream, `replace` adds a key that is missing.
      setOwn(container, key, value);
      return;
    }
    const index = indexOf(key, container.length, container.length);
    if (index === undefined) throw lacks('key');
    container[index] = value;
  }

  #moves(items: number): void {
    this.#movedItems += items;
    if (this.#movedItems > MAX_JSON_PATCH_MOVED_ITEMS) {
      throw new JsonPatchError(
        'limit',
        `The operations of a JSON patch may move at most ${MAX_JSON_PATCH_MOVED_ITEMS} items of lists`,
      );
    }
  }

  /**
   * Returns the container of the path's last step. It and the containers on the way become the
   * draft's own.
   */
  #containerOf(
    path: string,
    noPath: () => JsonPatchError,
  ): { readonly container: Container; readonly key: string } {
    const [key, ...reversed] = steps(path).reverse();
    const way = reversed.reverse();
    this.#deepened ||= way.length > LONG_PATH;
    // A look-up without copying comes first: the path may not exist.
    if (!isContainer(lookup(this.#root, way))) throw noPath();
    let container = this.#own(this.#root as Container);
    this.#root = container;
    for (const step of way) {
      const child = this.#own(childOf(container, step) as Container);
      if (Array.isArray(container))
        container[indexOf(step, container.length, container.length)!] = child;
      else setOwn(container, step, child);
      container = child;
    }
    return { container, key: key! };
  }

  #own(container: Container): Container {
    if (this.#owned.has(container)) return container;
    const copy: Container = Array.isArray(container) ? [...container] : { ...container };
    this.#owned.add(copy);
    return copy;
  }
}

/** The minimum length of a path for which the depth of the result is checked. */
const LONG_PATH = 64;

/** Throws if the value is too deep. Code that recurses into the document relies on this limit. */
function checkDepth(value: unknown): void {
  if (!isWithinDepth(value, DEFAULT_MAX_JSON_DEPTH))
    throw new JsonPatchError('malformed', `exceeded max depth of ${DEFAULT_MAX_JSON_DEPTH}`);
}

function test(document: unknown, path: string, expected: unknown): void {
  const way = steps(path);
  if (way.length > 0 && !isContainer(lookup(document, way.slice(0, -1)))) {
    const message = `test operation does not apply: is missing path: ${path}: missing value`;
    throw new JsonPatchError('failed', message);
  }
  const actual = lookup(document, way);
  // A missing value equals null.
  if (!deepEqual(actual ?? null, expected ?? null)) {
    throw new JsonPatchError('failed', `testing value ${path} failed: test failed`);
  }
}

/** Returns the value to move or to copy. What is missing in an object is copied as null. */
function sourceOf(document: unknown, from: string, op: 'move' | 'copy'): unknown {
  const way = steps(from);
  const key = way.at(-1);
  if (key === undefined) return document;
  const container = lookup(document, way.slice(0, -1));
  const failed = (message: string): JsonPatchError => new JsonPatchError('failed', message);
  if (!isContainer(container))
    throw failed(
      `${op} operation does not apply: doc is missing from path: ${from}: missing value`,
    );
  const value = lookup(container, [key]);
  if (value !== undefined) return value;
  const place =
    op === 'move' ? `error in move for path: '${key}'` : `error in copy for from: '${from}'`;
  if (Array.isArray(container))
    throw failed(`${place}: Unable to access invalid index: ${key}: invalid index referenced`);
  if (op === 'copy') return null;
  throw failed(`${place}: Unable to remove nonexistent key: ${key}: missing value`);
}

function noDestination(op: 'move' | 'copy', path: string): JsonPatchError {
  return new JsonPatchError(
    'failed',
    `${op} operation does not apply: doc is missing destination path: ${path}: missing value`,
  );
}

function missing(op: string, path: string): JsonPatchError {
  return new JsonPatchError(
    'failed',
    `${op} operation does not apply: doc is missing path: ${quote(path)}: missing value`,
  );
}

function lookup(document: unknown, path: readonly string[]): unknown {
  let current = document;
  for (const step of path) {
    current = childOf(current, step);
    if (current === undefined) return undefined;
  }
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

/** Returns the index if it is below `bound`. '-1' is the last of `length` items. */
function indexOf(step: string, length: number, bound: number): number | undefined {
  if (!/^-?\d{1,9}$/.test(step)) return undefined;
  const index = Number(step) < 0 || step.startsWith('-') ? length + Number(step) : Number(step);
  return index >= 0 && index < bound ? index : undefined;
}

function steps(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
