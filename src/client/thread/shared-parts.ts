// Similar objects share their equal parts in memory. Most of a pod is the same in all pods of one
// template: of 10 kB decoded, 2 – 3 are its own.

import { LruCache } from '#machinery/collections/lru.ts';

/** Makes a new object share memory with earlier ones. */
export interface PartSharing {
  /** Returns an equal object, perhaps `object` itself, which may be changed for it. */
  share(object: object): object;
}

/** The form in which a received object is read here. Nothing of it is certain. */
interface Received {
  readonly kind?: unknown;
  readonly metadata?: {
    readonly namespace?: unknown;
    readonly ownerReferences?: readonly { readonly uid?: unknown }[];
  };
  readonly status?: { readonly phase?: unknown };
}

/**
 * The kinds of which there are many similar objects. Of others the parts stay apart: readers may
 * take a part of an object, such as a device of a ResourceSlice, for a thing of its own.
 */
const KINDS: ReadonlySet<unknown> = new Set(['Pod', 'Node']);
/** Groups of siblings that are remembered, each by its latest object. */
const DEFAULT_GROUPS = 2048;
/** Deeper parts are not compared. Kubernetes' own kinds have at most a dozen levels. */
const MAX_DEPTH = 32;

/** Shares the parts of each pod and node with the latest one of the same owner and phase. */
export class SiblingParts implements PartSharing {
  readonly #latest: LruCache<string, object>;

  constructor(groups: number = DEFAULT_GROUPS) {
    this.#latest = new LruCache({ capacity: groups });
  }

  share(object: object): object {
    if (!KINDS.has((object as Received).kind)) return object;
    const group = groupOf(object);
    const latest = this.#latest.get(group);
    const shared = latest === undefined ? object : shareParts(latest, object, MAX_DEPTH);
    this.#latest.set(group, shared);
    return shared;
  }
}

/** Shares nothing: the plain form. */
export const separateParts: PartSharing = { share: (object) => object };

function groupOf(object: Received): string {
  const { kind, metadata, status } = object;
  const owner = metadata?.ownerReferences?.[0]?.uid ?? metadata?.namespace;
  return `${text(kind)} ${text(owner)} ${text(status?.phase)}`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Returns `model` if both values are equal; otherwise `value`, whose parts are replaced by equal
 * parts of `model`. Both are as JSON.parse returns them, and `value` has no other reader yet.
 */
function shareParts<T>(model: unknown, value: T, depth: number): T {
  // Equal strings are two objects until one is dropped.
  if (model === value) return model as T;
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  if (typeof model !== 'object' || model === null || Array.isArray(model) !== Array.isArray(value))
    return value;
  const [from, to] = [model as Record<string, unknown>, value as Record<string, unknown>];
  let equal = true;
  let keys = 0;
  for (const key in to) {
    keys++;
    // An assignment to this key would set the prototype.
    if (key === '__proto__' || !Object.hasOwn(from, key)) {
      equal = false;
      continue;
    }
    const part = to[key];
    const shared = shareParts(from[key], part, depth - 1);
    if (shared !== part || typeof part === 'string') to[key] = shared;
    if (shared !== from[key]) equal = false;
  }
  if (!equal) return value;
  for (const _key in from) keys--;
  return keys === 0 ? (model as T) : value;
}
