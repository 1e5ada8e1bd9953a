// The requirements of a pod's claims for a node: the node can use the volumes of bound claims, and
// for others existing volumes or volumes that can be provisioned. This file only decides;
// binding.ts carries it out.

import type { Node } from '#scheduler/framework/objects.ts';
import { Status } from '#scheduler/framework/status.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../volumes/claims.ts';
import { isAccessible, type Matches, sizeOf } from './matching.ts';
import type { Provisioning } from './provisioning.ts';

/** Annotation of a claim: the node of its first consumer, for which the volume is provisioned. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

/** The actions for a pod on one node. */
export interface Decision {
  /** The claims, each with its volume. */
  readonly bind: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume;
  }[];
  /** The claims whose volumes must be provisioned. */
  readonly provision: readonly PersistentVolumeClaim[];
}

/** A claim without a volume that waits for its first consumer. */
export interface OpenClaim {
  readonly claim: PersistentVolumeClaim;
  readonly matches: Matches;
  readonly provisioning: (node: Node) => Provisioning;
}

/** All of a pod's claims. */
export interface PodClaims {
  /** The volumes of bound claims that not all nodes can use. */
  readonly bound: readonly PersistentVolume[];
  /** The volume of a bound claim does not exist. */
  readonly volumeMissing: boolean;
  /** By size. */
  readonly open: readonly OpenClaim[];
}

/** Orders smaller claims first, so that each gets the smallest suitable volume. */
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

/** Returns a volume as a node sees it: drivers of migrated volumes use other labels. */
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
  return bits === 0 ? (decision as Decision) : statuses[bits]!;
}

/** Returns the decision, or the reasons of a rejection as bits. */
function decideOpen(open: readonly OpenClaim[], node: Node): Decision | number {
  const bind: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const provision: OpenClaim[] = [];
  const taken = new Set<string>();
  for (const one of open) {
    const selected = one.claim.metadata.annotations?.[SELECTED_NODE];
    if (selected !== undefined && selected !== node.metadata.name) return NO_MATCH;
    // A volume is being provisioned for the claim.
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
