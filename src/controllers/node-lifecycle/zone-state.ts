// How fast pods may be evicted from nodes that are not ready. When many nodes fail at once the fault is more likely between
// them and the controller than in them, and evicting everything would make it worse.

import type { Node } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import { readyStatus } from './node-taints.ts';

type ReadNode = Immutable<Node>;

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

export interface EvictionRates {
  /** Nodes a second in a zone that is mostly well. Default: 0.1. */
  readonly perSecond?: number;
  /** In a large zone with many failures. Default: 0.01. */
  readonly secondaryPerSecond?: number;
  /** A zone with so many nodes or fewer evicts nothing while many of them have failed. Default: 50. */
  readonly largeClusterSize?: number;
  /** The share of nodes that are not ready from which a zone counts as disrupted. Default: 0.55. */
  readonly unhealthyThreshold?: number;
}

/** Region and zone; nodes without labels are in one zone. */
export function zoneOf(node: ReadNode): string {
  const { labels = {} } = node.metadata;
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

/** A node with this label, whatever its value, says nothing about its zone. */
const EXCLUDED = 'node.kubernetes.io/exclude-disruption';

/** Whether how it does counts for its zone. */
export function countsForZone({ metadata }: ReadNode): boolean {
  return !Object.hasOwn(metadata.labels ?? {}, EXCLUDED);
}

export function zoneState(nodes: readonly ReadNode[], { unhealthyThreshold = 0.55 }: EvictionRates = {}): ZoneState {
  const ready = nodes.filter((node) => readyStatus(node) === 'True').length;
  const notReady = nodes.length - ready;
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  if (notReady > 2 && notReady / nodes.length >= unhealthyThreshold) return 'PartialDisruption';
  return 'Normal';
}

/** Of zones of which nothing is known, too. */
export const NORMAL_PER_SECOND = 0.1;

/** Nodes a second from which pods may be evicted, per zone; 0: none. Undefined for all: not even those begun go on. */
export function evictionRates(
  zones: ReadonlyMap<string, readonly ReadNode[]>,
  rates: EvictionRates = {},
): ReadonlyMap<string, number> | undefined {
  const { perSecond = NORMAL_PER_SECOND, secondaryPerSecond = 0.01, largeClusterSize = 50 } = rates;
  const states = new Map([...zones].map(([zone, nodes]) => [zone, zoneState(nodes, rates)]));
  if (states.size > 0 && [...states.values()].every((state) => state === 'FullDisruption')) return undefined;
  return new Map(
    [...states].map(([zone, state]) => {
      if (state !== 'PartialDisruption') return [zone, perSecond];
      return [zone, (zones.get(zone)?.length ?? 0) > largeClusterSize ? secondaryPerSecond : 0];
    }),
  );
}
