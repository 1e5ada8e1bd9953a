// JSON merge patch (RFC 7386): null removes a key, objects are merged, other values replace.

import { isPlainObject, setOwn } from '../deep.ts';

/** The patch or document exceeds the allowed depth. */
export class MergePatchDepthError extends Error {
  constructor(maxDepth: number) {
    super(`exceeded max depth of ${maxDepth}`);
    this.name = 'MergePatchDepthError';
  }
}

const DEFAULT_MAX_MERGE_DEPTH = 512;

/**
 * Returns `target` with the patch applied. Neither is modified; the result shares unchanged parts
 * with `target`. A patch without effect returns `target` itself. Throws MergePatchDepthError.
 */
export function applyMergePatch(
  target: unknown,
  patch: unknown,
  maxDepth: number = DEFAULT_MAX_MERGE_DEPTH,
): unknown {
  return merge(target, patch, maxDepth, maxDepth);
}

function merge(target: unknown, patch: unknown, depth: number, maxDepth: number): unknown {
  if (!isPlainObject(patch)) return patch;
  if (depth <= 0) throw new MergePatchDepthError(maxDepth);
  const isObject = isPlainObject(target);
  const original = isObject ? target : {};
  let result: Record<string, unknown> | undefined;
  for (const [key, change] of Object.entries(patch)) {
    const present = Object.hasOwn(original, key);
    const before = present ? original[key] : undefined;
    if (change === null) {
      if (!present) continue;
      result ??= { ...original };
      delete result[key];
      continue;
    }
    const after = merge(before, change, depth - 1, maxDepth);
    if (present && after === before) continue;
    result ??= { ...original };
    setOwn(result, key, after);
  }
  if (result !== undefined) return result;
  return isObject ? target : {};
}

/**
 * Returns the merge patch from `original` to `modified`; undefined if they are equal. Lists are
 * compared as a whole.
 */
export function createMergePatch(original: unknown, modified: unknown): unknown {
  if (!isPlainObject(original) || !isPlainObject(modified))
    return equal(original, modified) ? undefined : modified;
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(original))
    if (!Object.hasOwn(modified, key)) setOwn(patch, key, null);
  for (const [key, after] of Object.entries(modified)) {
    const change: unknown = Object.hasOwn(original, key)
      ? createMergePatch(original[key], after)
      : after;
    if (change !== undefined) setOwn(patch, key, change);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function equal(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return (
      a.length === b.length &&
      a.every((item, index) => createMergePatch(item, b[index]) === undefined)
    );
  }
  return a === b;
}
