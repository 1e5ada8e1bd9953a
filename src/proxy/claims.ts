// Resolves conflicts between services with the same address and port. The API server allocates
// cluster IPs, so they take precedence over addresses that users write; otherwise the older service
// wins. The other services keep their remaining addresses, and get this one once it is released.

import type { PortRules, RulesUpdate, ServiceRules } from './model.ts';

interface Claim {
  /**
   * The rank of the address: 0 for cluster IPs and node ports, 1 for load balancers, 2 for external
   * IPs.
   */
  readonly rank: number;
  readonly created: string;
  readonly service: string;
  /** The id of the port rules (PortRules.id). */
  readonly port: string;
}

interface Wish {
  readonly frontend: string;
  readonly rank: number;
  readonly port: string;
}

export class Claims {
  readonly #services = new Map<string, ServiceRules>();
  /** By frontend ('10.96.0.1 tcp 80'; '* tcp 30080' for node ports), the winning claim first. */
  readonly #claims = new Map<string, Claim[]>();

  /**
   * Returns the update for back ends: without frontends that another service has, and with services
   * that have lost or won frontends by it.
   */
  resolve(update: RulesUpdate): RulesUpdate {
    if (update.complete) {
      this.#services.clear();
      this.#claims.clear();
    }
    const affected = new Set<string>();
    for (const [key, next] of update.changes) {
      affected.add(key);
      const previous = this.#services.get(key);
      if (previous !== undefined) this.#remove(previous, affected);
      if (next === undefined) this.#services.delete(key);
      else {
        this.#services.set(key, next);
        this.#add(next, affected);
      }
    }
    const changes = new Map<string, ServiceRules | undefined>();
    for (const key of affected) {
      const rules = this.#services.get(key);
      changes.set(key, rules === undefined ? undefined : this.#effective(rules));
    }
    return { complete: update.complete, changes };
  }

  #add(rules: ServiceRules, affected: Set<string>): void {
    for (const { frontend, rank, port } of wishesOf(rules)) {
      const claim: Claim = { rank, created: rules.created, service: rules.key, port };
      const claims = this.#claims.get(frontend);
      if (claims === undefined) {
        this.#claims.set(frontend, [claim]);
        continue;
      }
      const winner = claims[0]?.service;
      claims.push(claim);
      claims.sort(byPrecedence);
      if (winner !== undefined && winner !== claims[0]?.service) affected.add(winner);
    }
  }

  #remove(rules: ServiceRules, affected: Set<string>): void {
    for (const { frontend } of wishesOf(rules)) {
      const claims = (this.#claims.get(frontend) ?? []).filter(
        ({ service }) => service !== rules.key,
      );
      const [winner] = claims;
      if (winner === undefined) {
        this.#claims.delete(frontend);
      } else {
        affected.add(winner.service);
        this.#claims.set(frontend, claims);
      }
    }
  }

  #effective(rules: ServiceRules): ServiceRules {
    const lost: string[] = [];
    const has = (frontend: string, rank: number, port: string): boolean => {
      const winner = this.#claims.get(frontend)?.[0];
      if (winner?.port === port && winner.rank === rank) return true;
      if (winner !== undefined && winner.service !== rules.key)
        lost.push(`${frontend} belongs to the service ${winner.service}`);
      return false;
    };
    const ports = rules.ports.flatMap((port): PortRules[] => {
      const { id, protocol, nodePort } = port;
      const vip = (ip: string): string => `${ip} ${protocol} ${port.port}`;
      // A port without its cluster IP is unusable.
      if (!has(vip(port.clusterIP), 0, id)) return [];
      const externalIPs = port.externalIPs.filter((ip) => has(vip(ip), 2, id));
      const loadBalancerIPs = port.loadBalancerIPs.filter((ip) => has(vip(ip), 1, id));
      const isOwn = nodePort === 0 || has(`* ${protocol} ${nodePort} ${port.family}`, 0, id);
      if (
        isOwn &&
        externalIPs.length === port.externalIPs.length &&
        loadBalancerIPs.length === port.loadBalancerIPs.length
      ) {
        return [port];
      }
      return [{ ...port, externalIPs, loadBalancerIPs, nodePort: isOwn ? nodePort : 0 }];
    });
    return lost.length === 0
      ? { ...rules, ports }
      : { ...rules, ports, problems: [...rules.problems, ...lost] };
  }
}

function wishesOf({ ports }: ServiceRules): Wish[] {
  return ports.flatMap((port) => {
    const { id, protocol, clusterIP, externalIPs, loadBalancerIPs, nodePort, family } = port;
    const vip = (ip: string, rank: number): Wish => ({
      frontend: `${ip} ${protocol} ${port.port}`,
      rank,
      port: id,
    });
    return [
      vip(clusterIP, 0),
      ...loadBalancerIPs.map((ip) => vip(ip, 1)),
      ...externalIPs.map((ip) => vip(ip, 2)),
      ...(nodePort === 0
        ? []
        : [{ frontend: `* ${protocol} ${nodePort} ${family}`, rank: 0, port: id }]),
    ];
  });
}

function byPrecedence(a: Claim, b: Claim): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.created !== b.created) return a.created < b.created ? -1 : 1;
  return a.port < b.port ? -1 : a.port > b.port ? 1 : 0;
}
