// The frontends of the userspace proxy, computed from rules: the addresses to listen at, each with
// its destination. Pure.

import type { PortRules, Protocol, ServiceRules, Target } from '../model.ts';

export interface Frontend {
  readonly ip: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly kind: 'cluster' | 'node port' | 'external';
  readonly route: Route;
}

export interface Route {
  /**
   * The id of the port rules (PortRules.id): session affinity applies to the port, for any address
   * that a client uses.
   */
  readonly id: string;
  readonly affinitySeconds: number;
  /** The targets for external clients. */
  readonly targets: readonly Target[];
  /** The targets for the node itself and its pods. */
  readonly ownTargets: readonly Target[];
  /** The allowed clients; empty: all. */
  readonly sourceRanges: readonly string[];
}

export interface FrontendSettings {
  /** The addresses that serve node ports. */
  readonly nodePortIPs: readonly string[];
  /**
   * Reports whether the address belongs to this machine: external and load balancer addresses are
   * served only then.
   */
  readonly isOwn: (ip: string) => boolean;
}

export const frontendId = ({
  ip,
  port,
  protocol,
}: Pick<Frontend, 'ip' | 'port' | 'protocol'>): string => `${protocol} ${ip} ${port}`;

/**
 * Returns the frontends of a service. A frontend without a destination is left out: connections to
 * it are refused.
 */
export function frontendsOf(rules: ServiceRules, settings: FrontendSettings): Frontend[] {
  return rules.ports.flatMap((port) => frontendsOfPort(port, settings));
}

function frontendsOfPort(rules: PortRules, { nodePortIPs, isOwn }: FrontendSettings): Frontend[] {
  const { protocol, port, nodePort, clusterIP, internal, external, externalLocal, family } = rules;
  const route = (
    targets: readonly Target[],
    ownTargets: readonly Target[],
    sourceRanges: readonly string[] = [],
  ): Route => ({
    id: rules.id,
    affinitySeconds: rules.affinitySeconds,
    targets,
    ownTargets,
    sourceRanges,
  });
  const internalTargets =
    internal === 'local' ? rules.local : internal === 'cluster' ? rules.cluster : [];
  const outside = external === 'reject' ? [] : externalLocal ? rules.local : rules.cluster;
  const inside = external === 'reject' ? [] : rules.cluster;
  const at = (ip: string, kind: Frontend['kind'], on: number, to: Route): Frontend => ({
    ip,
    port: on,
    protocol,
    kind,
    route: to,
  });
  const nodeIPs =
    nodePort === 0 ? [] : nodePortIPs.filter((ip) => ip.includes(':') === (family === 'IPv6'));
  const all = [
    at(clusterIP, 'cluster', port, route(internalTargets, internalTargets)),
    ...nodeIPs.map((ip) => at(ip, 'node port', nodePort, route(outside, inside))),
    ...rules.externalIPs
      .filter(isOwn)
      .map((ip) => at(ip, 'external', port, route(outside, inside))),
    ...rules.loadBalancerIPs
      .filter(isOwn)
      .map((ip) => at(ip, 'external', port, route(outside, inside, rules.sourceRanges))),
  ];
  return all.filter(
    ({ route: { targets, ownTargets } }) => targets.length > 0 || ownTargets.length > 0,
  );
}
