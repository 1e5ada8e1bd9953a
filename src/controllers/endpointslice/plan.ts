// Plans the EndpointSlices of a service: with as few changes to existing slices as possible, and a
// maximum number of endpoints per slice. This file decides; the slice writer writes.

import type { Endpoint, EndpointPort, EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual, stableStringify } from '#machinery/deep.ts';

type ReadSlice = Immutable<EndpointSlice>;
type Ports = Immutable<EndpointSlice>['ports'];

/** Endpoints with the same ports, which share slices. */
export interface PortGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface Content {
  readonly ports: readonly Immutable<EndpointPort>[];
  readonly endpoints: readonly Immutable<Endpoint>[];
}

export interface Plan {
  readonly create: readonly Content[];
  readonly update: readonly { readonly slice: ReadSlice; readonly content: Content }[];
  readonly remove: readonly ReadSlice[];
  readonly totals: SliceTotals;
}

/** The totals of a plan. An endpoint whose ports change counts as removed and added. */
export interface SliceTotals {
  readonly added: number;
  /** Endpoints that stay, with other content. */
  readonly updated: number;
  readonly removed: number;
  /** The number of planned endpoints. */
  readonly endpoints: number;
  /** The number of planned slices. */
  readonly slices: number;
  /** The smallest number of slices that could hold the endpoints. */
  readonly fewestSlices: number;
}

export interface PlanConfig {
  readonly groups: readonly PortGroup[];
  /** The existing slices of this service and address family. */
  readonly existing: readonly ReadSlice[];
  readonly maxEndpoints: number;
  /** Reports whether something besides the endpoints of a slice must be written. */
  readonly isOutdated: (slice: ReadSlice) => boolean;
}

interface Draft {
  readonly slice: ReadSlice | undefined;
  readonly ports: Content['ports'];
  readonly endpoints: Immutable<Endpoint>[];
  changed: boolean;
}

export function portsKey(ports: Ports | Content['ports']): string {
  return (ports ?? [])
    .map((port) => stableStringify(port))
    .sort()
    .join('\n');
}

/** Returns a key that is equal for the same endpoint in any condition. */
export function endpointKey({ addresses, hostname = '', targetRef }: Immutable<Endpoint>): string {
  return stableStringify([
    [...addresses].sort(),
    hostname,
    targetRef?.namespace ?? '',
    targetRef?.name ?? '',
  ]);
}

/**
 * Plans the slices. A service without endpoints gets one empty slice, which shows that it has been
 * reconciled.
 */
export function planSlices({ groups, existing, maxEndpoints, isOutdated }: PlanConfig): Plan {
  const wanted = new Map(groups.map((group) => [portsKey(group.ports), group]));
  const drafts: Draft[] = [];
  const remove: ReadSlice[] = [];
  const before = existing.reduce((sum, { endpoints }) => sum + (endpoints ?? []).length, 0);
  let [kept, updated, endpointsWanted, fewestSlices] = [0, 0, 0, 0];
  for (const [key, { ports, endpoints }] of wanted) {
    const own = existing.filter((slice) => portsKey(slice.ports) === key);
    const { drafts: packed, ...counts } = pack({ ports, endpoints }, own, maxEndpoints, isOutdated);
    kept += counts.kept;
    updated += counts.updated;
    endpointsWanted += counts.wanted;
    fewestSlices += Math.ceil(counts.wanted / maxEndpoints);
    drafts.push(...packed.filter((draft) => draft.endpoints.length > 0));
    remove.push(
      ...packed.flatMap(({ slice, endpoints: left }) =>
        slice !== undefined && left.length === 0 ? [slice] : [],
      ),
    );
  }
  remove.push(...existing.filter((slice) => !wanted.has(portsKey(slice.ports))));
  if (drafts.length === 0) {
    const index = remove.findIndex(
      ({ endpoints, ports }) => (endpoints ?? []).length === 0 && (ports ?? []).length === 0,
    );
    const [slice] = index < 0 ? [] : remove.splice(index, 1);
    drafts.push({
      slice,
      ports: [],
      endpoints: [],
      changed: slice === undefined || isOutdated(slice),
    });
  }
  const written = replaceRather(drafts, remove);
  const totals = {
    added: endpointsWanted - kept,
    updated,
    removed: before - kept,
    endpoints: endpointsWanted,
    slices: existing.length + written.create.length - written.remove.length,
    fewestSlices,
  };
  return { ...written, totals };
}

interface Packed {
  readonly drafts: readonly Draft[];
  /**
   * The number of planned endpoints, of endpoints that stay in their slice, and of those whose
   * content changes.
   */
  readonly wanted: number;
  readonly kept: number;
  readonly updated: number;
}

/** Distributes the endpoints over drafts. Drafts without endpoints are slices to delete. */
function pack(
  { ports, endpoints }: PortGroup,
  existing: readonly ReadSlice[],
  maxEndpoints: number,
  isOutdated: PlanConfig['isOutdated'],
): Packed {
  const open = new Map(endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
  const wanted = open.size;
  let updated = 0;
  const drafts = existing.map((slice): Draft => {
    const before = slice.endpoints ?? [];
    const kept: Immutable<Endpoint>[] = [];
    for (const endpoint of before) {
      const key = endpointKey(endpoint);
      const now = open.get(key);
      if (now === undefined || kept.length === maxEndpoints) continue;
      open.delete(key);
      const isSame = semanticEqual(now, endpoint);
      kept.push(isSame ? endpoint : now);
      if (!isSame) updated++;
    }
    const same =
      kept.length === before.length && kept.every((endpoint, index) => endpoint === before[index]);
    return {
      slice,
      ports: slice.ports ?? [],
      endpoints: kept,
      changed: !same || isOutdated(slice),
    };
  });
  // Slices that are rewritten anyway are filled first, the fullest of them first.
  const rest = [...open.values()];
  const kept = wanted - rest.length;
  const byFill = drafts.filter(({ changed, endpoints: kept }) => changed && kept.length > 0);
  for (const draft of byFill.sort((a, b) => b.endpoints.length - a.endpoints.length)) {
    draft.endpoints.push(...rest.splice(0, maxEndpoints - draft.endpoints.length));
  }
  // If one more existing slice has room for all remaining endpoints, it is rewritten; otherwise new
  // slices are created, which moves no endpoint.
  while (rest.length > 0) {
    const fitting = drafts
      .filter((draft) => !draft.changed && draft.endpoints.length + rest.length <= maxEndpoints)
      .sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
    const target = fitting ?? { slice: undefined, ports, endpoints: [], changed: true };
    if (fitting === undefined) drafts.push(target);
    target.changed = true;
    target.endpoints.push(...rest.splice(0, maxEndpoints - target.endpoints.length));
  }
  return { drafts, wanted, kept, updated };
}

/**
 * Reuses slices that would be deleted as slices that would be created: one write instead of two.
 */
function replaceRather(
  drafts: readonly Draft[],
  remove: readonly ReadSlice[],
): Omit<Plan, 'totals'> {
  const spare = [...remove];
  const create: Content[] = [];
  const update: { slice: ReadSlice; content: Content }[] = [];
  for (const { slice, ports, endpoints, changed } of drafts) {
    const target = slice ?? spare.shift();
    if (target === undefined) create.push({ ports, endpoints });
    else if (slice === undefined || changed)
      update.push({ slice: target, content: { ports, endpoints } });
  }
  return { create, update, remove: spare };
}
