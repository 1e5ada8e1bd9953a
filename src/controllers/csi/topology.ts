// Decides where a volume has to be accessible. Pure.

import type { Node, PersistentVolume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { CSINode, StorageClass } from '#api/groups/storage/v1/index.ts';
import type { CsiInput, CsiMessage } from '#csi/schema.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

/** Labels of nodes: a place where volumes can be. */
export type Segments = Readonly<Record<string, string>>;

/**
 * Returns the segments of a node for a driver; undefined if the driver is not registered there, or
 * the labels are missing.
 */
export function segmentsOf(
  driver: string,
  csiNode: Immutable<CSINode> | undefined,
  node: Immutable<Node> | undefined,
): Segments | undefined {
  const entry = csiNode?.spec.drivers?.find(({ name }) => name === driver);
  if (entry === undefined) return undefined;
  const segments: Record<string, string> = {};
  for (const key of entry.topologyKeys ?? []) {
    const value = ownValue(node?.metadata.labels ?? {}, key);
    if (value === undefined) return undefined;
    segments[key] = value;
  }
  return segments;
}

/**
 * Returns the requirement. `selected`: the segments of the node of the first consumer; `all`: those
 * of all nodes, for volumes that no pod waits for.
 */
export function requirementFor(
  { allowedTopologies }: Immutable<StorageClass>,
  selected: Segments | undefined,
  all: readonly Segments[],
): CsiInput<'TopologyRequirement'> | undefined {
  const places = distinct(selected === undefined ? allowed(allowedTopologies, all) : [selected]);
  if (places.length === 0) return undefined;
  const topologies = places.map((segments) => ({ segments }));
  return { requisite: topologies, preferred: topologies };
}

type Terms = Immutable<StorageClass>['allowedTopologies'];

/** Reports whether the class allows volumes there. */
export function isAllowed(terms: Terms, segments: Segments): boolean {
  if (terms === undefined || terms.length === 0) return true;
  return terms.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values.includes(segments[key] ?? '')),
  );
}

const allowed = (terms: Terms, all: readonly Segments[]): readonly Segments[] =>
  all.filter((segments) => isAllowed(terms, segments));

function distinct(places: readonly Segments[]): readonly Segments[] {
  const seen = new Map<string, Segments>();
  for (const segments of places) {
    if (Object.keys(segments).length === 0) continue;
    seen.set(JSON.stringify(Object.entries(segments).toSorted(byKey)), segments);
  }
  return [...seen.values()];
}

const byKey = ([a]: readonly [string, string], [b]: readonly [string, string]): number =>
  a < b ? -1 : 1;

/** Returns the nodes from which the volume is accessible; undefined for all. */
export function affinityOf(
  topologies: readonly CsiMessage<'Topology'>[],
): Immutable<PersistentVolume>['spec']['nodeAffinity'] {
  if (topologies.length === 0) return undefined;
  return {
    required: {
      nodeSelectorTerms: topologies.map(({ segments }) => ({
        matchExpressions: Object.entries(segments)
          .toSorted(byKey)
          .map(([key, value]) => ({ key, operator: 'In', values: [value] })),
      })),
    },
  };
}
