// Computes topology hints: the zones or nodes whose traffic each endpoint should serve.
//
// Services with spec.trafficDistribution get each endpoint's own zone or node as its hint. Services
// with the older annotation 'Auto' get endpoints in proportion to the CPU of each zone, so that no
// endpoint is overloaded.

import type { Node, Service } from '#api/groups/core/v1/index.ts';
import type { Endpoint } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';

type ReadService = Immutable<Service>;

const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';
const TOPOLOGY_HINTS = 'service.kubernetes.io/topology-aware-hints';
const ZONE = 'topology.kubernetes.io/zone';
const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

const TOO_FEW_TO_SHARE =
  'Unable to allocate minimum required endpoints to each zone without exceeding overload threshold';

/** The maximum relative overload of an endpoint. */
const OVERLOAD = 0.2;

export function sharesByZone({ metadata }: ReadService): boolean {
  const mode = metadata.annotations?.[TOPOLOGY_MODE] ?? metadata.annotations?.[TOPOLOGY_HINTS];
  return mode === 'Auto' || mode === 'auto';
}

/**
 * Returns the service's traffic distribution if it is one that is supported; otherwise undefined.
 */
export function trafficDistributionOf(service: ReadService): string | undefined {
  const { trafficDistribution = '' } = service.spec;
  const isKnown = ['PreferClose', 'PreferSameZone', 'PreferSameNode'].includes(trafficDistribution);
  return isKnown && !sharesByZone(service) ? trafficDistribution : undefined;
}

/** Returns hints for each ready endpoint's own zone (and node); other endpoints get no hints. */
export function nearbyHints(
  service: ReadService,
  endpoints: readonly Endpoint[],
): readonly Endpoint[] {
  const trafficDistribution = trafficDistributionOf(service);
  if (trafficDistribution === undefined) return endpoints;
  return endpoints.map((endpoint) => {
    const { conditions, zone, nodeName } = endpoint;
    const forNode = trafficDistribution === 'PreferSameNode' ? nodeName : undefined;
    if (conditions.ready !== true || (zone === undefined && forNode === undefined)) return endpoint;
    const hints = {
      ...(zone !== undefined && { forZones: [{ name: zone }] }),
      ...(forNode !== undefined && { forNodes: [{ name: forNode }] }),
    };
    return { ...endpoint, hints };
  });
}

/**
 * Returns the share of the cluster's CPU in each zone; undefined if a node has no zone or no CPU,
 * or there is only one zone.
 */
export function cpuByZone(
  nodes: readonly Immutable<Node>[],
): ReadonlyMap<string, number> | undefined {
  const cpus = new Map<string, number>();
  let total = 0;
  for (const { metadata, status } of nodes) {
    const labels = metadata.labels ?? {};
    if (CONTROL_PLANE.some((label) => Object.hasOwn(labels, label))) continue;
    if (status.conditions?.find(({ type }) => type === 'Ready')?.status !== 'True') continue;
    const zone = labels[ZONE] ?? '';
    const cpu = parseQuantity(status.allocatable?.['cpu'] ?? '0').milliValue();
    if (zone === '' || cpu === 0) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + cpu);
    total += cpu;
  }
  if (cpus.size < 2) return undefined;
  return new Map([...cpus].map(([zone, cpu]) => [zone, cpu / total]));
}

export interface Sharing {
  readonly endpoints: readonly Endpoint[];
  /** Why there are no hints; undefined if there are hints. */
  readonly problem?: string;
}

interface Allocation {
  readonly minimum: number;
  maximum: number;
  readonly desired: number;
}

/**
 * Returns hints in proportion to the zones' CPU. `hinted`: the current hint of each endpoint. Hints
 * within the bounds are kept.
 */
export function sharedHints(
  endpoints: readonly Endpoint[],
  shares: ReadonlyMap<string, number> | undefined,
  hinted: (endpoint: Endpoint) => string | undefined,
): Sharing {
  const ready = endpoints.filter(({ conditions }) => conditions.ready === true);
  const allocations = allocate(ready.length, shares);
  if (typeof allocations === 'string') return { endpoints, problem: allocations };
  if (ready.some(({ zone }) => zone === undefined)) {
    return { endpoints, problem: 'One or more endpoints do not have a zone specified' };
  }
  const zones =
    keep(ready.map(hinted), allocations) ??
    redistribute(
      ready.map(({ zone }) => zone ?? ''),
      allocations,
    );
  const byEndpoint = new Map(ready.map((endpoint, index) => [endpoint, zones[index] ?? '']));
  return {
    endpoints: endpoints.map((endpoint) => {
      const name = byEndpoint.get(endpoint);
      return name === undefined ? endpoint : { ...endpoint, hints: { forZones: [{ name }] } };
    }),
  };
}

function allocate(
  count: number,
  shares: ReadonlyMap<string, number> | undefined,
): ReadonlyMap<string, Allocation> | string {
  if (shares === undefined)
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  const numbers = `(${count} endpoints, ${shares.size} zones)`;
  if (shares.size > count) return `Insufficient number of endpoints ${numbers}`;
  const allocations = new Map<string, Allocation>();
  let least = 0;
  for (const [zone, share] of [...shares].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const desired = share * count;
    const minimum = Math.ceil(desired / (1 + OVERLOAD));
    allocations.set(zone, { minimum, maximum: 0, desired: Math.max(desired, minimum) });
    least += minimum;
  }
  if (least > count) return `${TOO_FEW_TO_SHARE} ${numbers}`;
  for (const allocation of allocations.values())
    allocation.maximum = allocation.minimum + count - least;
  return allocations;
}

/**
 * Returns the current hints if every endpoint has one and no zone has too few or too many
 * endpoints; otherwise undefined.
 */
function keep(
  zones: readonly (string | undefined)[],
  allocations: ReadonlyMap<string, Allocation>,
): readonly string[] | undefined {
  const counts = countEach(zones);
  if (zones.some((zone) => zone === undefined || !allocations.has(zone))) return undefined;
  for (const [zone, { minimum, maximum }] of allocations) {
    const count = counts.get(zone) ?? 0;
    if (count < minimum || count > maximum) return undefined;
  }
  return zones as readonly string[];
}

/**
 * Gives each endpoint its own zone as its hint, and then moves endpoints from zones with more than
 * their share to zones with less.
 */
function redistribute(
  own: readonly string[],
  allocations: ReadonlyMap<string, Allocation>,
): readonly string[] {
  const counts = countEach(own);
  const surplus = new Map(
    [...allocations].map(([zone, { desired }]) => [zone, (counts.get(zone) ?? 0) - desired]),
  );
  const zones = [...own];
  for (;;) {
    const [giving, gives] = extreme(surplus, 1);
    const [receiving, wants] = extreme(surplus, -1);
    if ((gives < 1 && wants < 1) || gives < 0.5 || wants < 0.5) return zones;
    zones[zones.indexOf(giving)] = receiving;
    surplus.set(giving, gives - 1);
    surplus.set(receiving, 1 - wants);
  }
}

/** Returns the zone with the largest surplus (`sign` 1) or deficit (-1), and the amount. */
function extreme(surplus: ReadonlyMap<string, number>, sign: 1 | -1): readonly [string, number] {
  let found: readonly [string, number] = ['', -Infinity];
  for (const [zone, amount] of surplus) if (amount * sign > found[1]) found = [zone, amount * sign];
  return found;
}

function countEach(zones: readonly (string | undefined)[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const zone of zones) if (zone !== undefined) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return counts;
}
