// Finds existing volumes that could be bound to a claim, and for a node the smallest suitable one.

import type { VolumeNodeAffinity } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { labelSelectorAsSelector } from '#machinery/selectors/labels.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { Node } from '#scheduler/framework/objects.ts';
import { compileNodeSelector, type NodeMatcher } from '../node-selector.ts';
import { HOSTNAME } from '../topology/labels.ts';
import {
  classOfClaim,
  classOfVolume,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '../volumes/claims.ts';

/** Compiled once per version of a volume. */
const affinities = new WeakMap<Immutable<VolumeNodeAffinity>, NodeMatcher>();

/** Reports whether the node can use the volume. */
export function isAccessible({ spec: { nodeAffinity } }: PersistentVolume, node: Node): boolean {
  if (nodeAffinity?.required === undefined) return true;
  let matches = affinities.get(nodeAffinity);
  if (matches === undefined) {
    matches = compileNodeSelector(nodeAffinity.required);
    affinities.set(nodeAffinity, matches);
  }
  return matches(node);
}

/** Reports whether the volume refers to the claim, even if the claim does not refer to it yet. */
export function isBoundTo(
  { spec: { claimRef } }: PersistentVolume,
  { metadata }: PersistentVolumeClaim,
): boolean {
  if (
    claimRef === undefined ||
    claimRef.name !== metadata.name ||
    claimRef.namespace !== metadata.namespace
  )
    return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

/** Returns bytes; undefined if the claim has no size. */
export function sizeOf(claim: PersistentVolumeClaim): number | undefined {
  const text = claim.spec.resources.requests?.storage;
  return text === undefined ? undefined : parseQuantity(text).value();
}

const capacities = new WeakMap<PersistentVolume, number>();

/** Returns bytes. */
function capacityOf(volume: PersistentVolume): number {
  let capacity = capacities.get(volume);
  if (capacity === undefined) {
    capacity = parseQuantity(volume.spec.capacity?.storage ?? '0').value();
    capacities.set(volume, capacity);
  }
  return capacity;
}

interface Candidate {
  readonly volume: PersistentVolume;
  /** In bytes. */
  readonly size: number;
}

/**
 * The volumes that one claim could get, on any node. Created once for a pod, and used for many
 * nodes.
 */
export class Matches {
  /** The first volume that was reserved for this claim: no other one may be used then. */
  readonly #meant: PersistentVolume | undefined;
  /** By size, without volumes that only one host can use, which are in #ofHost. */
  readonly #anywhere: readonly Candidate[];
  /** By hostname label. */
  readonly #ofHost = new Map<string, Candidate[]>();

  constructor(claim: PersistentVolumeClaim, volumes: readonly PersistentVolume[]) {
    const suits = suitsClaim(claim);
    const candidates: Candidate[] = [];
    for (const volume of volumes) {
      const candidate = suits(volume);
      if (candidate === undefined) continue;
      if (isBoundTo(volume, claim)) {
        this.#meant = volume;
        break;
      }
      if (isFree(volume)) candidates.push(candidate);
    }
    const anywhere: Candidate[] = [];
    for (const candidate of this.#meant === undefined
      ? candidates.sort((a, b) => a.size - b.size)
      : []) {
      const hosts = hostsOf(candidate.volume);
      if (hosts === undefined) anywhere.push(candidate);
      for (const host of hosts ?? []) {
        const present = this.#ofHost.get(host);
        if (present === undefined) this.#ofHost.set(host, [candidate]);
        else present.push(candidate);
      }
    }
    this.#anywhere = anywhere;
  }

  /** Returns the smallest volume for the node that is not in `taken`. */
  best(node: Node, taken: ReadonlySet<string>): PersistentVolume | undefined {
    const usable = ({ volume }: Candidate): boolean =>
      !taken.has(volume.metadata.name ?? '') && isAccessible(volume, node);
    const meant = this.#meant;
    if (meant !== undefined)
      return !taken.has(meant.metadata.name ?? '') && isAccessible(meant, node) ? meant : undefined;
    const anywhere = this.#anywhere.find(usable);
    const here = this.#ofHost.get(node.metadata.labels?.[HOSTNAME] ?? '')?.find(usable);
    if (here === undefined || anywhere === undefined) return (here ?? anywhere)?.volume;
    return here.size < anywhere.size ? here.volume : anywhere.volume;
  }
}

/**
 * Returns a filter for volumes, also for reserved ones: large enough, of the claim's mode and
 * attributes, and not being deleted.
 */
function suitsClaim(
  claim: PersistentVolumeClaim,
): (volume: PersistentVolume) => Candidate | undefined {
  const {
    accessModes = [],
    selector,
    volumeAttributesClassName = '',
    volumeMode = 'Filesystem',
  } = claim.spec;
  const wanted = sizeOf(claim);
  const className = classOfClaim(claim);
  const labels = selector === undefined ? undefined : labelSelectorAsSelector(selector);
  return (volume) => {
    const { metadata, spec } = volume;
    if (
      metadata.deletionTimestamp !== undefined ||
      (spec.volumeMode ?? 'Filesystem') !== volumeMode
    )
      return undefined;
    if ((spec.volumeAttributesClassName ?? '') !== volumeAttributesClassName) return undefined;
    const size = capacityOf(volume);
    if (wanted !== undefined && size < wanted) return undefined;
    const candidate = { volume, size };
    if (isBoundTo(volume, claim)) return candidate;
    if (classOfVolume(volume) !== className) return undefined;
    if (labels !== undefined && !labels.matches(metadata.labels ?? {})) return undefined;
    return accessModes.every((mode) => spec.accessModes?.includes(mode) === true)
      ? candidate
      : undefined;
  };
}

function isFree({ spec, status }: PersistentVolume): boolean {
  return status.phase === 'Available' && spec.claimRef === undefined;
}

/**
 * Returns the hostnames to which the volume's affinity restricts nodes; undefined if it does not.
 */
function hostsOf({ spec }: PersistentVolume): readonly string[] | undefined {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const hosts = new Set<string>();
  for (const { matchExpressions = [] } of terms) {
    const named = matchExpressions.find(
      ({ key, operator }) => key === HOSTNAME && operator === 'In',
    );
    if (named === undefined) return undefined;
    for (const host of named.values ?? []) hosts.add(host);
  }
  return terms.length === 0 ? undefined : [...hosts];
}
