// Chooses the endpoints of a service port that get traffic: by readiness, traffic policy, and
// hints.

import type { Endpoint } from './endpoint.ts';

export interface Policies {
  /** Some traffic of the port may go to any node. */
  readonly usesCluster: boolean;
  /** Some traffic of the port must stay on this node. */
  readonly usesLocal: boolean;
}

export interface Selection {
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** An endpoint on any node could serve. */
  readonly any: boolean;
}

/** Returns the ready endpoints; if there are none, the terminating ones that still serve. */
export function usableEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  return ready.length > 0
    ? ready
    : endpoints.filter(({ serving, terminating }) => serving && terminating);
}

/**
 * Returns the endpoints for each policy: the ready ones, or, if there are none, the terminating
 * ones that still serve. Hints count for the Cluster policy only, and only if every ready endpoint
 * has hints and one of them is for this node.
 */
export function select(
  endpoints: readonly Endpoint[],
  { usesCluster, usesLocal }: Policies,
  node: { readonly name: string; readonly zone: string },
): Selection {
  const usable = usableEndpoints(endpoints);
  const cluster = usable.some((endpoint) => endpoint.ready) ? hinted(usable, node) : usable;
  return {
    cluster: usesCluster ? cluster : [],
    local: usesLocal ? usableEndpoints(endpoints.filter((endpoint) => endpoint.local)) : [],
    any: (usesCluster || usesLocal) && cluster.length > 0,
  };
}

/**
 * Returns the endpoints with a hint for this node's name, else for its zone, else all. Node and
 * zone hints are not mixed.
 */
function hinted(
  ready: readonly Endpoint[],
  { name, zone }: { readonly name: string; readonly zone: string },
): readonly Endpoint[] {
  if (ready.every(({ nodes }) => nodes.length > 0)) {
    const forNode = ready.filter(({ nodes }) => nodes.includes(name));
    if (forNode.length > 0) return forNode;
  }
  if (zone !== '' && ready.every(({ zones }) => zones.length > 0)) {
    const forZone = ready.filter(({ zones }) => zones.includes(zone));
    if (forZone.length > 0) return forZone;
  }
  return ready;
}
