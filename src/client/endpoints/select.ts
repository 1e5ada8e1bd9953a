// Which endpoints of a service port get traffic: by readiness, traffic policy, and hints.

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
  /** Any node has an endpoint that could serve. */
  readonly any: boolean;
}

/** Returns the endpoints that are ready, or where none is, those that terminate and still serve. */
export function usableEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  const ready = endpoints.filter((endpoint) => endpoint.ready);
  return ready.length > 0
    ? ready
    : endpoints.filter(({ serving, terminating }) => serving && terminating);
}

/**
 * Returns the endpoints for each policy: those that are ready, or, where none is, those that terminate and still serve.
 * Hints count for the Cluster policy only, and only if every ready endpoint has some and one is for this node.
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
 * Returns the endpoints that are for this node by name, else by zone, else all. Hints for nodes and zones are not
 * mixed.
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
