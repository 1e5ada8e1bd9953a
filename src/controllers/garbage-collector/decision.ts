// Decides what to do with an object whose owners have been read.

import type { Immutable, KubeObject, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import { FOREGROUND_FINALIZER, type Node, ORPHAN_FINALIZER } from './graph.ts';

type OwnerRef = Immutable<OwnerReference>;

/** The live owner of a reference. */
export type OwnerState =
  /** The owner exists and stays. */
  | 'solid'
  /** The owner does not exist, or another object has its name. */
  | 'dangling'
  /** The owner is being deleted in the foreground, and waits for its dependents. */
  | 'waiting';

export interface JudgedOwner {
  readonly reference: OwnerRef;
  readonly state: OwnerState;
}

export type Propagation = 'Orphan' | 'Foreground' | 'Background';

export type Verdict =
  | { readonly action: 'keep' }
  /** The object has other owners: only these references are removed. */
  | { readonly action: 'removeOwners'; readonly uids: readonly string[] }
  /**
   * `unblock`: the object is in a cycle of owners that wait for each other, so it first stops
   * blocking its own owner.
   */
  | { readonly action: 'delete'; readonly propagation: Propagation; readonly unblock: boolean };

/** Returns the verdict. `object`: the live object; `node`: its node in the graph. */
export function judge(object: KubeObject, node: Node, owners: readonly JudgedOwner[]): Verdict {
  if (owners.length === 0) return { action: 'keep' };
  const gone = owners.filter(({ state }) => state !== 'solid');
  if (gone.length < owners.length) {
    if (gone.length === 0) return { action: 'keep' };
    return { action: 'removeOwners', uids: gone.map(({ reference }) => reference.uid) };
  }
  if (owners.some(({ state }) => state === 'waiting') && node.dependents.size > 0) {
    const inCircle = [...node.dependents].some((dependent) => dependent.deletingDependents);
    return { action: 'delete', propagation: 'Foreground', unblock: inCircle };
  }
  return { action: 'delete', propagation: propagationOf(object), unblock: false };
}

/**
 * Returns the deletion policy that the finalizers of an object express. Default: its dependents are
 * deleted in the background.
 */
function propagationOf(object: KubeObject): Propagation {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan';
  if (finalizers.includes(FOREGROUND_FINALIZER)) return 'Foreground';
  return 'Background';
}

export function isWaitingForDependents(owner: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = owner.metadata;
  return deletionTimestamp !== undefined && (finalizers ?? []).includes(FOREGROUND_FINALIZER);
}
