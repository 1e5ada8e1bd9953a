// The requirements of a pod's claims for a node. Bound ones: the node can use their volumes.
// Others: it can use volumes which exist or could be made. Decides only; see binding.ts for what
// follows.

import type { Node } from '#scheduler/framework/objects.ts';
import { Status } from '#scheduler/framework/status.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../volumes/claims.ts';
import { isAccessible, type Matches, sizeOf } from './matching.ts';
import type { Provisioning } from './provisioning.ts';

/**
 * On a claim: where the pod is going to be that waits for it, so that the volume is made for that
 * node.
 */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** The actions for a pod on one node. */
export interface Decision {
  /** Each with the volume that it gets. */
  readonly bind: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume;
  }[];
  /** A volume has to be made for these. */
  readonly provision: readonly PersistentVolumeClaim[];
}

/** A claim without a volume that waits for its first pod. */
export interface OpenClaim {
  readonly claim: PersistentVolumeClaim;
  readonly matches: Matches;
  readonly provisioning: (node: Node) => Provisioning;
}

/** All of a pod's claims. */
export interface PodClaims {
  /** The volumes of bound claims that not all nodes can use. */
  readonly bound: readonly PersistentVolume[];
  /** A volume that a claim is bound to is not there. */
  readonly volumeMissing: boolean;
  /** By size. */
  readonly open: readonly OpenClaim[];
}

/** Smaller ones first, so that each gets the smallest volume that will do. */
export function bySize(a: OpenClaim, b: OpenClaim): number {
  return (sizeOf(a.claim) ?? 0) - (sizeOf(b.claim) ?? 0);
}

const NAME = 'VolumeBinding';

const NODE_CONFLICT = 1;
const NO_MATCH = 2;
const NO_SPACE = 4;
const NO_VOLUME = 8;

const REASONS: readonly (readonly [number, string])[] = [
  [NODE_CONFLICT, "node(s) didn't match PersistentVolume's node affinity"],
  [NO_MATCH, "node(s) didn't find available persistent volumes to bind"],
  [NO_SPACE, 'node(s) did not have enough free storage'],
  [NO_VOLUME, 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'],
];

const statuses: readonly Status[] = Array.from({ length: 16 }, (_, bits) => {
  const reasons = REASONS.filter(([bit]) => (bits & bit) !== 0).map(([, reason]) => reason);
  return new Status('UnschedulableAndUnresolvable', reasons, NAME);
});

const NOTHING: Decision = { bind: [], provision: [] };

/** A volume as a node sees it: some are of a driver that knows nodes by other labels. */
export type View = (volume: PersistentVolume, node: Node) => PersistentVolume;

/**
 * Returns the actions, or why the pod cannot run on the node. Throws CsiMigrationError, as
 * `seenFrom` does.
 */
export function decide(claims: PodClaims, node: Node, seenFrom: View): Decision | Status {
  let bits = claims.volumeMissing ? NO_VOLUME : 0;
  if (!claims.bound.every((volume) => isAccessible(seenFrom(volume, node), node)))
    bits |= NODE_CONFLICT;
  const decision = claims.open.length === 0 ? NOTHING : decideOpen(claims.open, node);
  if (typeof decision === 'number') bits |= decision;
  return bits === 0 ? (decision as Decision) : (statuses[bits] as Status);
}

/** The decision, or the bits of what stands against it. */
function decideOpen(open: readonly OpenClaim[], node: Node): Decision | number {
  const bind: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const provision: OpenClaim[] = [];
  const taken = new Set<string>();
  for (const one of open) {
    const selected = one.claim.metadata.annotations?.[SELECTED_NODE];
    if (selected !== undefined && selected !== node.metadata.name) return NO_MATCH;
    // A volume is being made for it.
    const volume = selected === undefined ? one.matches.best(node, taken) : undefined;
    if (volume === undefined) {
      provision.push(one);
    } else {
      taken.add(volume.metadata.name ?? '');
      bind.push({ claim: one.claim, volume });
    }
  }
  for (const { provisioning } of provision) {
    const answer = provisioning(node);
    if (answer !== 'possible') return answer === 'noSpace' ? NO_SPACE : NO_MATCH;
  }
  return { bind, provision: provision.map(({ claim }) => claim) };
}
