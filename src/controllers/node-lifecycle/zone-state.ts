// The state of each zone, and the rate at which pods may be evicted from its nodes.
//
// When many nodes of a zone fail at once, the fault is more likely in the network between them and
// the control plane than in each of them, and evicting their pods would make it worse. The rules
// are those of kube-controller-manager's node lifecycle controller.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { TokenBucket } from '#machinery/token-bucket.ts';
import type { Clock } from '#machinery/clock.ts';
import { readyStatus } from './node-taints.ts';

type ReadNode = Immutable<Node>;

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

export interface EvictionRates {
  /** Nodes per second in a zone in state Normal or FullDisruption. Default: 0.1. */
  readonly perSecond?: number;
  /** Nodes per second in a large zone in state PartialDisruption. Default: 0.01. */
  readonly secondaryPerSecond?: number;
  /**
   * A zone with this many nodes or fewer evicts nothing in state PartialDisruption. Default: 50.
   */
  readonly largeClusterSize?: number;
  /**
   * A zone is in state PartialDisruption if at least this share of its nodes is not ready, and more
   * than two. Default: 0.55.
   */
  readonly unhealthyThreshold?: number;
}

const NORMAL_PER_SECOND = 0.1;

/** Returns region and zone as one string. All nodes without these labels are in one zone. */
export function zoneOf(node: ReadNode): string {
  const { labels = {} } = node.metadata;
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

const EXCLUDED = 'node.kubernetes.io/exclude-disruption';

/**
 * Reports whether the node counts for the state of its zone. A label, with any value, excludes it.
 */
export function countsForZone({ metadata }: ReadNode): boolean {
  return !Object.hasOwn(metadata.labels ?? {}, EXCLUDED);
}

/**
 * Returns the state of a zone with these nodes. A node without a Ready condition counts as not
 * ready.
 */
export function zoneState(
  nodes: readonly ReadNode[],
  { unhealthyThreshold = 0.55 }: EvictionRates = {},
): ZoneState {
  const ready = nodes.filter((node) => readyStatus(node) === 'True').length;
  const notReady = nodes.length - ready;
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  if (notReady > 2 && notReady / nodes.length >= unhealthyThreshold) return 'PartialDisruption';
  return 'Normal';
}

/**
 * Returns the nodes per second from which eviction may start, by zone; 0 for none. Returns
 * undefined if every zone is in state FullDisruption: evictions that have started are cancelled
 * then, too. A zone without nodes that count is not in the map.
 */
export function evictionRates(
  zones: ReadonlyMap<string, readonly ReadNode[]>,
  rates: EvictionRates = {},
): ReadonlyMap<string, number> | undefined {
  const { perSecond = NORMAL_PER_SECOND, secondaryPerSecond = 0.01, largeClusterSize = 50 } = rates;
  const states = new Map([...zones].map(([zone, nodes]) => [zone, zoneState(nodes, rates)]));
  if (states.size > 0 && [...states.values()].every((state) => state === 'FullDisruption'))
    return undefined;
  return new Map(
    [...states].map(([zone, state]) => {
      if (state !== 'PartialDisruption') return [zone, perSecond];
      return [zone, (zones.get(zone)?.length ?? 0) > largeClusterSize ? secondaryPerSecond : 0];
    }),
  );
}

interface Limiter {
  readonly perSecond: number;
  /** The limiter; undefined for a rate of 0. */
  readonly bucket: TokenBucket | undefined;
}

/**
 * The limiters of all zones. Each lets one node at a time start its eviction, at the zone's rate.
 */
export class EvictionLimiters {
  readonly #clock: Clock;
  readonly #normalPerSecond: number;
  readonly #zones = new Map<string, Limiter>();

  constructor(clock: Clock, { perSecond = NORMAL_PER_SECOND }: EvictionRates = {}) {
    this.#clock = clock;
    this.#normalPerSecond = perSecond;
  }

  /** Sets the rates of all zones. `rates`: as `evictionRates` returns them. */
  setRates(zones: ReadonlySet<string>, rates: ReadonlyMap<string, number> | undefined): void {
    for (const zone of this.#zones.keys()) if (!zones.has(zone)) this.#zones.delete(zone);
    for (const zone of zones)
      this.#setRate(zone, rates === undefined ? 0 : (rates.get(zone) ?? this.#normalPerSecond));
  }

  /** Reports whether the zone lets nodes start their eviction at all: its rate is not 0. */
  isOpen(zone: string): boolean {
    return this.#zones.get(zone)?.bucket !== undefined;
  }

  /**
   * Takes the token that a node needs to start its eviction. Returns false if the zone has none
   * now.
   */
  tryTake(zone: string): boolean {
    return this.#zones.get(zone)?.bucket?.tryTake() ?? false;
  }

  #setRate(zone: string, perSecond: number): void {
    const before = this.#zones.get(zone);
    if (before?.perSecond === perSecond) return;
    const bucket =
      perSecond === 0 ? undefined : new TokenBucket({ clock: this.#clock, perSecond, burst: 1 });
    // A zone whose previous limiter would not have let a node through begins with an empty bucket.
    // Otherwise each change of state would evict a node at once, and a zone that goes back and
    // forth would evict all of them.
    if (before !== undefined && before.bucket?.tryTake() !== true) bucket?.tryTake();
    this.#zones.set(zone, { perSecond, bucket });
  }
}
