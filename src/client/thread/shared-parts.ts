// Similar objects share their equal parts in memory. Most of a pod is the same in all pods of one
// template: of 10 kB decoded, 2 – 3 are its own.

import { LruCache } from '#machinery/collections/lru.ts';
import { shareParts } from '#machinery/collections/share-parts.ts';

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
    const shared = latest === undefined ? object : shareParts(latest, object);
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
