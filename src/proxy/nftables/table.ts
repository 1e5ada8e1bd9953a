// The fixed part of the proxy's table in one address family: base chains on netfilter's hooks, maps
// and sets. Services add elements to the maps, and a few chains.
// - nat-prerouting, nat-output → services → @service-ips, @service-nodeports → external-… → pick-…
//   → dnat
// - filter-…-pre-dnat → firewall-check → @firewall-ips: load balancer source ranges, before the
//   address is rewritten
// - filter-input, -forward, -output → …-endpoints-check: reject or drop traffic to services without
//   endpoints
// - filter-forward, -output → cluster-ips-check: reject other ports of cluster IPs, drop unknown
//   cluster IPs
// - nat-postrouting → masquerading: marked packets, and connections of a pod to itself
//
// A service without session affinity has no chain of its own. The chain pick-cluster-tcp-3 serves
// all TCP services with three endpoints: it looks up (address, port, random number below 3) in a
// map. So a change of endpoints changes a few map elements, and the number of chains, which nft
// reads before each transaction, does not grow with the number of services. Each protocol has its
// own map, because nft 1.0 cannot read back a rule that rewrites the port of several protocols.

import type { IpFamily } from '#machinery/net/ip.ts';
import type { Protocol } from '../model.ts';

export interface TableSettings {
  /** The table's name, in the families ip and ip6. */
  readonly table: string;
  /**
   * The addresses at which node ports work. Undefined: all addresses of the node except loopback.
   */
  readonly nodePortIPs: readonly string[] | undefined;
  /**
   * Sources in these ranges are pods of the cluster. Empty: unknown, so no source counts as
   * external.
   */
  readonly clusterCidrs: readonly string[];
  /** The ranges of cluster IPs: traffic to unallocated ones is dropped. */
  readonly serviceCidrs: readonly string[];
  readonly masqueradeAll: boolean;
  /** The bit of a packet's mark that requests masquerading. */
  readonly masqueradeBit: number;
  /**
   * A bridge of pods whose traffic to each other bypasses netfilter on the way back. Traffic
   * through services between its pods gets the bridge's address as its source. Undefined: none.
   */
  readonly blindBridge: string | undefined;
}

const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const satisfies readonly Protocol[];
const POLICIES = ['cluster', 'local'] as const;

/** A map of targets by address (not for node ports), port and slot. */
export type EndpointMap = `${'' | 'nodeport-'}endpoints-${(typeof POLICIES)[number]}-${Protocol}`;

const ENDPOINT_MAPS: readonly EndpointMap[] = POLICIES.flatMap((policy) =>
  PROTOCOLS.flatMap(
    (protocol) =>
      [`endpoints-${policy}-${protocol}`, `nodeport-endpoints-${policy}-${protocol}`] as const,
  ),
);

/** Maps and sets whose elements come from services. */
export type Container =
  | 'cluster-ips'
  | 'hairpin-connections'
  | 'service-ips'
  | 'service-nodeports'
  | 'no-endpoint-services'
  | 'no-endpoint-nodeports'
  | 'firewall-ips'
  | EndpointMap;

/** The keys and values of a container: names of types, or for endpoints expressions. */
interface ContainerType {
  readonly kind: 'set' | 'map';
  /** The form in declarations. */
  readonly declaration: string;
  /** The form in listings: 'KEY : VALUE'. */
  readonly listed: string;
}

export const REJECT_CHAIN = 'reject-chain';

export const BASE_CHAINS = [
  ['filter-prerouting-pre-dnat', 'filter', 'prerouting', -110],
  ['filter-output-pre-dnat', 'filter', 'output', -110],
  ['filter-input', 'filter', 'input', 0],
  ['filter-forward', 'filter', 'forward', 0],
  ['filter-output', 'filter', 'output', 0],
  ['nat-prerouting', 'nat', 'prerouting', -100],
  ['nat-output', 'nat', 'output', -100],
  ['nat-postrouting', 'nat', 'postrouting', 100],
] as const;

/** nft's keywords for a family. */
export interface FamilyWords {
  readonly family: 'ip' | 'ip6';
  readonly type: 'ipv4_addr' | 'ipv6_addr';
  readonly loopback: string;
}

export const wordsOf = (family: IpFamily): FamilyWords =>
  family === 'IPv4'
    ? { family: 'ip', type: 'ipv4_addr', loopback: '127.0.0.0/8' }
    : { family: 'ip6', type: 'ipv6_addr', loopback: '::1' };

export const markRule = ({ masqueradeBit }: TableSettings): string =>
  `meta mark set mark or ${hex(masqueradeBit)}`;

const hex = (bit: number): string => `0x${(2 ** bit).toString(16).padStart(8, '0')}`;

/** Returns the containers of a family by name. */
export function containersOf(family: IpFamily): ReadonlyMap<Container, ContainerType> {
  const { family: ip, type } = wordsOf(family);
  const typed = (kind: 'set' | 'map', key: string): ContainerType => {
    const value = kind === 'map' ? 'verdict' : '';
    return {
      kind,
      declaration: `{ type ${key}${kind === 'map' ? ' : verdict' : ''}; }`,
      listed: `${key} : ${value}`,
    };
  };
  const frontend = typed('map', `${type} . inet_proto . inet_service`);
  const nodePort = typed('map', 'inet_proto . inet_service');
  const endpoints = (name: EndpointMap): ContainerType => {
    const protocol = name.slice(name.lastIndexOf('-') + 1);
    const isNodePort = name.startsWith('nodeport-');
    const key = `${isNodePort ? '' : `${ip} daddr . `}${protocol} dport . numgen random mod 65536`;
    return {
      kind: 'map',
      declaration: `{ typeof ${key} : ${ip} daddr . ${protocol} dport; }`,
      listed: `${isNodePort ? '' : `${type} . `}inet_service . integer : ${type} . inet_service`,
    };
  };
  return new Map<Container, ContainerType>([
    ['cluster-ips', typed('set', type)],
    ['hairpin-connections', typed('set', `${type} . ${type} . inet_proto . inet_service`)],
    ['service-ips', frontend],
    ['service-nodeports', nodePort],
    ['no-endpoint-services', frontend],
    ['no-endpoint-nodeports', nodePort],
    ['firewall-ips', frontend],
    ...ENDPOINT_MAPS.map((name) => [name, endpoints(name)] as const),
  ]);
}

/** Chains with rules of the table itself, except base chains. */
const PLAIN_CHAINS = [
  'services',
  'firewall-check',
  'service-endpoints-check',
  'nodeport-endpoints-check',
  'cluster-ips-check',
  'masquerading',
  REJECT_CHAIN,
];

/** Chains that every table has. */
export const FIXED_CHAINS: ReadonlySet<string> = new Set([
  ...BASE_CHAINS.map(([name]) => name),
  ...PLAIN_CHAINS,
]);

/**
 * Returns the commands that create or replace the fixed part. Elements of maps stay. Existing base
 * chains must have the same hook and priority, otherwise the transaction fails.
 */
export function tableCommands(family: IpFamily, settings: TableSettings): string[] {
  const name = `${wordsOf(family).family} ${settings.table}`;
  const commands = [`add table ${name}`];
  for (const [container, { kind, declaration }] of containersOf(family)) {
    commands.push(`add ${kind} ${name} ${container} ${declaration}`);
  }
  for (const [chain, type, hook, priority] of BASE_CHAINS) {
    commands.push(`add chain ${name} ${chain} { type ${type} hook ${hook} priority ${priority}; }`);
  }
  for (const chain of PLAIN_CHAINS) commands.push(`add chain ${name} ${chain}`);
  for (const chain of FIXED_CHAINS) commands.push(`flush chain ${name} ${chain}`);
  for (const [chain, rules] of Object.entries(rulesOf(family, settings))) {
    for (const rule of rules) commands.push(`add rule ${name} ${chain} ${rule}`);
  }
  return commands;
}

function rulesOf(
  family: IpFamily,
  settings: TableSettings,
): Readonly<Record<string, readonly string[]>> {
  const { family: ip, loopback } = wordsOf(family);
  const ofFamily = (texts: readonly string[]): string[] =>
    texts.filter((text) => text.includes(':') === (ip === 'ip6'));
  const serviceCidrs = ofFamily(settings.serviceCidrs);
  const clusterCidrs = ofFamily(settings.clusterCidrs);
  const nodePortIPs =
    settings.nodePortIPs === undefined ? undefined : ofFamily(settings.nodePortIPs);
  const mark = hex(settings.masqueradeBit);
  const destination = `${ip} daddr . meta l4proto . th dport`;
  // An empty set cannot be written: without addresses there are no node ports.
  const atNode =
    nodePortIPs === undefined
      ? [`fib daddr type local ${ip} daddr != ${loopback}`]
      : nodePortIPs.length === 0
        ? []
        : [`${ip} daddr { ${nodePortIPs.join(', ')} }`];
  const fromOutside =
    clusterCidrs.length > 0
      ? [
          `${ip} daddr @cluster-ips ${ip} saddr != { ${clusterCidrs.join(', ')} } ${markRule(settings)}`,
        ]
      : [];
  return {
    'filter-prerouting-pre-dnat': ['ct state new jump firewall-check'],
    'filter-output-pre-dnat': ['ct state new jump firewall-check'],
    'filter-input': [
      'ct state new jump nodeport-endpoints-check',
      'ct state new jump service-endpoints-check',
    ],
    'filter-forward': [
      'ct state new jump service-endpoints-check',
      'ct state new jump cluster-ips-check',
    ],
    'filter-output': [
      'ct state new jump service-endpoints-check',
      'ct state new jump cluster-ips-check',
    ],
    'nat-prerouting': ['jump services'],
    'nat-output': ['jump services'],
    'nat-postrouting': ['jump masquerading'],
    services: [
      ...(settings.masqueradeAll
        ? [`${ip} daddr @cluster-ips ${markRule(settings)}`]
        : fromOutside),
      `${destination} vmap @service-ips`,
      ...atNode.map((match) => `${match} meta l4proto . th dport vmap @service-nodeports`),
    ],
    'firewall-check': [`${destination} vmap @firewall-ips`],
    'service-endpoints-check': [`${destination} vmap @no-endpoint-services`],
    'nodeport-endpoints-check': atNode.map(
      (match) => `${match} meta l4proto . th dport vmap @no-endpoint-nodeports`,
    ),
    'cluster-ips-check': [
      `${ip} daddr @cluster-ips reject`,
      ...(serviceCidrs.length > 0 ? [`${ip} daddr { ${serviceCidrs.join(', ')} } drop`] : []),
    ],
    masquerading: [
      `meta mark and ${mark} != 0 meta mark set mark xor ${mark} masquerade fully-random`,
      `ct status dnat ${ip} saddr . ${ip} daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random`,
      ...(settings.blindBridge === undefined
        ? []
        : [
            `ct status dnat iifname "${settings.blindBridge}" oifname ` +
              `"${settings.blindBridge}" masquerade fully-random`,
          ]),
    ],
    [REJECT_CHAIN]: ['reject'],
  };
}
