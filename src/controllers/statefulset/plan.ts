// Decides the next action on the pods of a StatefulSet.
//
// Unless pods are managed in parallel, they are ordered: a pod is created when all pods before it
// are available, and deleted when all pods after it are gone. Missing pods come before surplus
// pods, and these before outdated pods.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isPodTerminal } from '../pod-state.ts';
import {
  claimsOf,
  firstOrdinal,
  ordinalOf,
  podName,
  podRevision,
  type ReadPod,
  type ReadStatefulSet,
  replicasOf,
  withIdentity,
} from './identity.ts';
import { isStale, ownershipOf } from './retention.ts';
import { isAvailable, isTerminating, isUnavailable } from './status.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;

/** The maximum number of pods that one sync creates: a set may want two billion. */
const BURST = 500;

export interface Situation {
  readonly set: ReadStatefulSet;
  /** The pods that the set controls. */
  readonly pods: readonly ReadPod[];
  /** Returns the claim with this name in the set's namespace. */
  readonly claim: (name: string) => ReadClaim | undefined;
  /** The name of the revision for new pods. */
  readonly updateRevision: string;
  readonly nowMs: number;
}

/** The actions, to be carried out in the order of the fields. */
export interface Plan {
  /** Pods of which claims may be missing. */
  readonly provide: readonly ReadPod[];
  /** Ordinals of pods to create. */
  readonly create: readonly number[];
  /** Pods to update: with their missing labels. */
  readonly relabel: readonly ReadPod[];
  readonly reclaim: readonly ReadClaim[];
  /** Names of claims that the set must release, because another object controls them. */
  readonly foreign: readonly string[];
  readonly remove: readonly ReadPod[];
}

interface Draft {
  readonly provide: ReadPod[];
  readonly create: number[];
  readonly relabel: ReadPod[];
  readonly reclaim: ReadClaim[];
  readonly foreign: string[];
  readonly remove: ReadPod[];
}

export function plan(situation: Situation): Plan {
  const draft: Draft = {
    provide: [],
    create: [],
    relabel: [],
    reclaim: [],
    foreign: [],
    remove: [],
  };
  const { set, pods } = situation;
  if (set.metadata.deletionTimestamp !== undefined) return draft;
  const inOrder = set.spec.podManagementPolicy !== 'Parallel';
  const wanted = new Map<number, ReadPod>();
  const condemned: ReadPod[] = [];
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal === undefined) continue;
    const index = ordinal - firstOrdinal(set);
    if (index >= 0 && index < replicasOf(set)) wanted.set(index, pod);
    else condemned.push(pod);
  }
  condemned.sort((a, b) => (ordinalOf(set, b) ?? 0) - (ordinalOf(set, a) ?? 0));

  for (const index of indexesOf(wanted, replicasOf(set))) {
    const blocks = planWanted(draft, situation, firstOrdinal(set) + index, wanted.get(index));
    if (blocks && inOrder) return draft;
  }
  for (const pod of condemned) reclaim(draft, situation, pod);
  const blocks = inOrder ? planScaleDown(draft, situation, condemned) : removeAll(draft, condemned);
  if (blocks) return draft;
  if (set.spec.updateStrategy.type !== 'OnDelete') planUpdate(draft, situation, wanted);
  return draft;
}

/**
 * Returns the indexes to look at, in rising order: up to BURST without a pod, and all with one. The
 * events of the new pods lead to the others.
 */
function* indexesOf(wanted: ReadonlyMap<number, ReadPod>, replicas: number): Iterable<number> {
  let index = 0;
  for (let missing = 0; index < replicas && missing < BURST; index++) {
    if (!wanted.has(index)) missing++;
    yield index;
  }
  yield* [...wanted.keys()].filter((each) => each >= index).sort((a, b) => a - b);
}

/** Plans a pod that should exist. Returns whether the following pods have to wait. */
function planWanted(
  draft: Draft,
  situation: Situation,
  ordinal: number,
  pod: ReadPod | undefined,
): boolean {
  const { set, nowMs } = situation;
  if (pod === undefined) {
    const name = podName(set, ordinal);
    const stale = claimsOf(set, ordinal).some(({ claim }) => {
      const present = situation.claim(claim.metadata.name);
      return (
        present !== undefined &&
        (present.metadata.deletionTimestamp !== undefined || isStale(set, name, present))
      );
    });
    if (!stale) draft.create.push(ordinal);
    return true;
  }
  if (isPodTerminal(pod)) {
    // A failed pod is deleted first; its replacement is created once it is gone.
    if (!isTerminating(pod)) draft.remove.push(pod);
    return true;
  }
  if (isTerminating(pod)) return true;
  const isPending = pod.status.phase === 'Pending';
  if (
    isPending &&
    claimsOf(set, ordinal).some(({ claim }) => situation.claim(claim.metadata.name) === undefined)
  ) {
    draft.provide.push(pod);
  }
  const relabelled = withIdentity(set, ordinal, pod);
  if (relabelled !== undefined) draft.relabel.push(relabelled);
  reclaim(draft, situation, pod);
  return !isAvailable(set, pod, nowMs);
}

function reclaim(draft: Draft, { set, claim }: Situation, pod: ReadPod): void {
  for (const { claim: wanted } of claimsOf(set, ordinalOf(set, pod) ?? 0)) {
    const present = claim(wanted.metadata.name);
    if (present === undefined) continue;
    const { changed, isForeign } = ownershipOf(set, pod, present);
    if (changed === undefined) continue;
    draft.reclaim.push(changed);
    if (isForeign) draft.foreign.push(present.metadata.name);
  }
}

/** Deletes the last surplus pod, if all others are available or it is the only unavailable one. */
function planScaleDown(
  draft: Draft,
  { set, nowMs }: Situation,
  condemned: readonly ReadPod[],
): boolean {
  const [last] = condemned;
  if (last === undefined) return false;
  const firstUnavailable = condemned.findLast((pod) => isUnavailable(set, pod, nowMs));
  const mayGo = isAvailable(set, last, nowMs) || last === firstUnavailable;
  if (!isTerminating(last) && mayGo) draft.remove.push(last);
  return true;
}

function removeAll(draft: Draft, condemned: readonly ReadPod[]): boolean {
  const staying = condemned.filter((pod) => !isTerminating(pod));
  draft.remove.push(...staying);
  return false;
}

/**
 * Deletes the last pod of another revision once the pods after it are available. Pods before it
 * need not be available: if pods are managed in parallel, an update may repair them.
 */
function planUpdate(
  draft: Draft,
  { set, updateRevision, nowMs }: Situation,
  wanted: ReadonlyMap<number, ReadPod>,
): void {
  const { partition = 0 } = set.spec.updateStrategy.rollingUpdate ?? {};
  for (let index = replicasOf(set) - 1; index >= partition; index--) {
    const pod = wanted.get(index);
    if (pod === undefined) return;
    if (podRevision(pod) !== updateRevision && !isTerminating(pod)) {
      if (!draft.remove.includes(pod)) draft.remove.push(pod);
      return;
    }
    if (isUnavailable(set, pod, nowMs)) return;
  }
}

/** Reports whether a new pod with this ordinal still gets the previous revision. */
export function isBelowPartition(set: ReadStatefulSet, ordinal: number): boolean {
  const { type, rollingUpdate } = set.spec.updateStrategy;
  return type === 'RollingUpdate' && ordinal < firstOrdinal(set) + (rollingUpdate?.partition ?? 0);
}
