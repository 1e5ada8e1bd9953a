// Where the userspace proxy listens: from rules to frontends, each with where its traffic may go.
// Pure.

import type { PortRules, Protocol, ServiceRules, Target } from '../model.ts';

export interface Frontend {
  readonly ip: string;
  readonly port: number;
  readonly protocol: Protocol;
  readonly kind: 'cluster' | 'node port' | 'external';
  readonly route: Route;
}

export interface Route {
  /** PortRules.id: session affinity is for the port, whatever address a client uses. */
  readonly id: string;
  readonly affinitySeconds: number;
  /** For clients elsewhere. */
  readonly targets: readonly Target[];
  /** For the node itself and its pods. */
  readonly ownTargets: readonly Target[];
  /** Clients that are served; empty: all. */
  readonly sourceRanges: readonly string[];
}

export interface FrontendSettings {
  /** Where node ports are served. */
  readonly nodePortIPs: readonly string[];
  /**
   * External and load balancer addresses are served only where they are addresses of this machine.
   */
  readonly isOwn: (ip: string) => boolean;
}

export const frontendId = ({
  ip,
  port,
  protocol,
}: Pick<Frontend, 'ip' | 'port' | 'protocol'>): string => `${protocol} ${ip} ${port}`;

/**
 * Returns the frontends of a service. One that would lead nowhere is left out: connections to it
 * are refused.
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
