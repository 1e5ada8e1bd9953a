// The nftables objects of a service: elements of the table's maps, and chains. A value that is
// compared with the previous one.

import { createHash } from 'node:crypto';
import type { IpFamily } from '#machinery/net/ip.ts';
import type { Destination, PortRules, ServiceRules } from '../model.ts';
import { assignSlots } from './slots.ts';
import {
  type Container,
  type EndpointMap,
  markRule,
  REJECT_CHAIN,
  type TableSettings,
  wordsOf,
} from './table.ts';

export interface NftObjects {
  /** The container and key (see elementId) → the value; '' in sets. */
  readonly elements: ReadonlyMap<string, string>;
  /** Chains of this service, with their rules. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Chains that services share: the name determines the rules. */
  readonly shared: ReadonlyMap<string, readonly string[]>;
  /** Sets of clients with session affinity → their timeout in seconds. */
  readonly affinitySets: ReadonlyMap<string, number>;
  /** By port and policy: targets by slot, for the next call. */
  readonly slots: ReadonlyMap<string, readonly string[]>;
}

export const elementId = (container: Container, key: string): string => `${container}\t${key}`;

/** Chains and sets whose name has one of these prefixes belong to services. */
export const SERVICE_PREFIXES = [
  'pick-',
  'external-',
  'affinity-',
  'endpoint-',
  'clients-',
  'firewall-lb-',
];

type Policy = 'cluster' | 'local';

/**
 * Returns the objects of a service in one family; undefined if it has no port in the family.
 * `previous`: its objects so far.
 */
export function objectsOf(
  rules: ServiceRules,
  family: IpFamily,
  settings: TableSettings,
  previous: NftObjects | undefined,
): NftObjects | undefined {
  const ports = rules.ports.filter((port) => port.family === family);
  if (ports.length === 0) return undefined;
  const objects = new Objects(family, settings, previous);
  for (const port of ports) objects.addPort(port);
  return objects;
}

class Objects implements NftObjects {
  readonly elements = new Map<string, string>();
  readonly chains = new Map<string, readonly string[]>();
  readonly shared = new Map<string, readonly string[]>();
  readonly affinitySets = new Map<string, number>();
  readonly slots = new Map<string, readonly string[]>();
  readonly #ip: 'ip' | 'ip6';
  readonly #settings: TableSettings;
  readonly #previous: NftObjects | undefined;

  constructor(family: IpFamily, settings: TableSettings, previous: NftObjects | undefined) {
    this.#ip = wordsOf(family).family;
    this.#settings = settings;
    this.#previous = previous;
  }

  addPort(rules: PortRules): void {
    const { clusterIP, protocol, port, nodePort, internal, external, externalLocal } = rules;
    const vip = (ip: string): string => `${ip} . ${protocol} . ${port}`;
    this.#add('cluster-ips', clusterIP, '');
    for (const { ip, port: at, local } of [...rules.cluster, ...rules.local]) {
      if (local) this.#add('hairpin-connections', `${ip} . ${ip} . ${protocol} . ${at}`, '');
    }
    const policies = new Map<Policy, readonly string[]>();
    for (const policy of ['cluster', 'local'] as const)
      policies.set(policy, this.#slotsOf(rules, policy));
    if (rules.affinitySeconds > 0) this.#addAffinity(rules, policies);
    if (internal === 'reject' || internal === 'drop') {
      this.#add('no-endpoint-services', vip(clusterIP), verdictOf(internal));
    } else {
      this.#add('service-ips', vip(clusterIP), `goto ${this.#pick(rules, internal, false)}`);
      this.#addEndpoints(
        rules,
        internal,
        `endpoints-${internal}-${protocol}`,
        `${clusterIP} . ${port}`,
      );
    }
    const addresses = [...rules.loadBalancerIPs, ...rules.externalIPs];
    if (external !== 'reject') {
      // The policies that external traffic and the node's own traffic may use.
      const used: Policy[] = externalLocal ? ['cluster', 'local'] : ['cluster'];
      for (const ip of addresses) {
        this.#add('service-ips', vip(ip), `goto ${this.#externalChain(rules, false)}`);
        for (const policy of used)
          this.#addEndpoints(rules, policy, `endpoints-${policy}-${protocol}`, `${ip} . ${port}`);
      }
      if (nodePort !== 0) {
        this.#add(
          'service-nodeports',
          `${protocol} . ${nodePort}`,
          `goto ${this.#externalChain(rules, true)}`,
        );
        for (const policy of used) {
          this.#addEndpoints(
            rules,
            policy,
            `nodeport-endpoints-${policy}-${protocol}`,
            String(nodePort),
          );
        }
      }
    }
    if (external === 'reject' || external === 'drop') {
      for (const ip of addresses) this.#add('no-endpoint-services', vip(ip), verdictOf(external));
      if (nodePort !== 0)
        this.#add('no-endpoint-nodeports', `${protocol} . ${nodePort}`, verdictOf(external));
    }
    if (rules.sourceRanges.length > 0 && rules.loadBalancerIPs.length > 0) {
      const chain = `firewall-lb-${nameOf(rules.id)}`;
      this.chains.set(chain, [`${this.#ip} saddr != { ${rules.sourceRanges.join(', ')} } drop`]);
      for (const ip of rules.loadBalancerIPs) this.#add('firewall-ips', vip(ip), `goto ${chain}`);
    }
  }

  #add(container: Container, key: string, value: string): void {
    this.elements.set(elementId(container, key), value);
  }

  /**
   * Adds endpoints to the map. With session affinity, chains of the service contain them instead.
   */
  #addEndpoints(rules: PortRules, policy: Policy, container: Container, key: string): void {
    if (rules.affinitySeconds > 0) return;
    (this.slots.get(`${rules.id} ${policy}`) ?? []).forEach((target, slot) =>
      this.#add(container, `${key} . ${slot}`, target),
    );
  }

  #slotsOf(rules: PortRules, policy: Policy): readonly string[] {
    const key = `${rules.id} ${policy}`;
    const slots = assignSlots(
      this.#previous?.slots.get(key) ?? [],
      rules[policy].map(({ ip, port }) => `${ip} . ${port}`),
    );
    this.slots.set(key, slots);
    return slots;
  }

  /** Returns the chain that rewrites the destination to a target of the policy. */
  #pick(rules: PortRules, policy: Policy, isNodePort: boolean): string {
    if (rules.affinitySeconds > 0) return `affinity-${policy}-${nameOf(rules.id)}`;
    const count = rules[policy].length;
    const { protocol } = rules;
    const chain = `pick-${isNodePort ? 'nodeport-' : ''}${policy}-${protocol}-${count}`;
    const key = `${isNodePort ? '' : `${this.#ip} daddr . `}${protocol} dport . numgen random mod ${count}`;
    const map: EndpointMap = `${isNodePort ? 'nodeport-' : ''}endpoints-${policy}-${protocol}`;
    this.shared.set(chain, [`dnat ${this.#ip} addr . port to ${key} map @${map}`]);
    return chain;
  }

  /**
   * Returns the chain for external traffic: it marks packets to masquerade, and bypasses the policy
   * Local where needed.
   */
  #externalChain(rules: PortRules, isNodePort: boolean): string {
    const cluster = this.#pick(rules, 'cluster', isNodePort);
    const mark = markRule(this.#settings);
    const hasAffinity = rules.affinitySeconds > 0;
    const suffix = hasAffinity
      ? nameOf(rules.id)
      : `${rules.protocol}-${isNodePort ? 'nodeport' : 'address'}`;
    if (!rules.externalLocal) {
      const chain = `external-cluster-${hasAffinity ? '' : `${rules.cluster.length}-`}${suffix}`;
      (hasAffinity ? this.chains : this.shared).set(chain, [mark, `goto ${cluster}`]);
      return chain;
    }
    const counts = hasAffinity ? '' : `${rules.cluster.length}-${rules.local.length}-`;
    const chain = `external-local-${counts}${suffix}`;
    const pods = this.#settings.clusterCidrs.filter(
      (cidr) => cidr.includes(':') === (this.#ip === 'ip6'),
    );
    (hasAffinity ? this.chains : this.shared).set(chain, [
      ...(pods.length > 0 ? [`${this.#ip} saddr { ${pods.join(', ')} } goto ${cluster}`] : []),
      `fib saddr type local ${mark} goto ${cluster}`,
      ...(rules.local.length > 0 ? [`goto ${this.#pick(rules, 'local', isNodePort)}`] : []),
    ]);
    return chain;
  }

  /**
   * Adds session affinity: a client whose address is in an endpoint's set goes to that endpoint;
   * otherwise a random endpoint's chain adds the client to its set.
   */
  #addAffinity(rules: PortRules, policies: ReadonlyMap<Policy, readonly string[]>): void {
    const { protocol } = rules;
    // The timeout of a set is immutable, so another timeout needs another set.
    const nameFor = (target: string): string =>
      nameOf(`${rules.id} ${target} ${rules.affinitySeconds}`);
    for (const target of new Set([...policies.values()].flat())) {
      const [ip, port] = target.split(' . ') as [string, string];
      this.affinitySets.set(`clients-${nameFor(target)}`, rules.affinitySeconds);
      this.chains.set(`endpoint-${nameFor(target)}`, [
        `update @clients-${nameFor(target)} { ${this.#ip} saddr }`,
        `meta l4proto ${protocol} dnat to ${this.#ip === 'ip6' ? `[${ip}]` : ip}:${port}`,
      ]);
    }
    for (const [policy, targets] of policies) {
      if (targets.length === 0) continue;
      const jumps = targets.map((target, slot) => `${slot} : goto endpoint-${nameFor(target)}`);
      this.chains.set(`affinity-${policy}-${nameOf(rules.id)}`, [
        ...targets.map(
          (target) =>
            `${this.#ip} saddr @clients-${nameFor(target)} goto endpoint-${nameFor(target)}`,
        ),
        `numgen random mod ${targets.length} vmap { ${jumps.join(', ')} }`,
      ]);
    }
  }
}

const verdictOf = (destination: Extract<Destination, 'reject' | 'drop'>): string =>
  destination === 'reject' ? `goto ${REJECT_CHAIN}` : 'drop';

/** Returns a safe name for nft, so that user input is never written into its commands. */
function nameOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16);
}
