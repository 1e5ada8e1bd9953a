// The fixed part of our table, and the names in it.
// - forward → egress → @egress-ip, @egress-ip6, by source address: goto pods-egress-HASH, or accept
//   for pods that are not isolated.
// - forward → ingress → @ingress-ip, @ingress-ip6, by destination address: goto pods-ingress-HASH,
//   or accept.
//
// A packet passes both base chains: a packet that the first accepts still enters the second.
// pods-…-HASH jumps to the chains of the policies that select the pod and then drops; pods with the
// same policies share it. policy-…-HASH accepts the traffic that the policy allows. Peers are
// looked up in sets: group-HASH-… follow pods, block-HASH-… contain an ipBlock's ranges and never
// change.
//
// The node's own traffic to its pods, and its pods' traffic to the node, is not forwarded and
// therefore never restricted, as the Kubernetes documentation of network policies requires. Cluster
// IPs and node ports are rewritten before: rules see endpoints.

import { createHash } from 'node:crypto';
import type { IpFamily } from '#machinery/net/ip.ts';
import type { Direction } from '../model.ts';

export interface PolicyTableSettings {
  /** The table's name, in the family inet. */
  readonly table: string;
  /** The bridge of the node's pods, if this cluster has one. */
  readonly bridge?: string;
  /** The ranges of this node's pods. Without a bridge, they identify addresses of pods. */
  readonly podCidrs: readonly string[];
}

export const FAMILIES = ['ip', 'ip6'] as const;
export type Family = (typeof FAMILIES)[number];
export const DIRECTIONS = ['egress', 'ingress'] as const satisfies readonly Direction[];

export const familyOf = (address: string): Family => (address.includes(':') ? 'ip6' : 'ip');
export const IP_FAMILY: Readonly<Record<Family, IpFamily>> = { ip: 'IPv4', ip6: 'IPv6' };
export const addressType = (family: Family): string =>
  family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';

/** Returns a safe name for nft, so that user input is never written into its commands. */
export const hashOf = (id: string): string =>
  createHash('sha256').update(id).digest('hex').slice(0, 20);

export const verdictMap = (direction: Direction, family: Family): string =>
  `${direction}-${family}`;
export const selfSet = (family: Family): string => `self-${family}`;
export const podsChain = (direction: Direction, policies: readonly string[]): string =>
  `pods-${direction}-${hashOf(policies.join(' '))}`;
export const policyChain = (direction: Direction, policy: string): string =>
  `policy-${direction}-${hashOf(policy)}`;
export const groupSet = (group: string, family: Family): string =>
  `group-${hashOf(group)}-${family}`;

/**
 * Returns the table's name: stable for a directory, different for others, so that two nodes on one
 * machine have two tables.
 */
export const policyTableName = (dataDir: string): string =>
  `coxswain-policy-${hashOf(dataDir).slice(0, 10)}`;

/**
 * The priorities of the base chains: after the addresses of services have been rewritten (dstnat,
 * -100), and before filters of other programs (0).
 */
const PRIORITY: Readonly<Record<Direction, number>> = { egress: -12, ingress: -11 };

/** Returns the commands that create an empty table, replacing any table with its name. */
export function tableCommands(settings: PolicyTableSettings): string[] {
  const name = `inet ${settings.table}`;
  const commands = [`add table ${name}`, `delete table ${name}`, `add table ${name}`];
  for (const family of FAMILIES) {
    const type = addressType(family);
    commands.push(`add set ${name} ${selfSet(family)} { type ${type} . ${type}; }`);
    for (const direction of DIRECTIONS) {
      commands.push(`add map ${name} ${verdictMap(direction, family)} { type ${type} : verdict; }`);
    }
  }
  for (const direction of DIRECTIONS) {
    commands.push(
      `add chain ${name} ${direction} { type filter hook forward priority ${PRIORITY[direction]}; policy accept; }`,
    );
    for (const rule of baseRules(direction, settings))
      commands.push(`add rule ${name} ${direction} ${rule}`);
  }
  return commands;
}

/**
 * Returns the base rules. If the bridge is known, they match only traffic from or to it: a leftover
 * table of another cluster, whose pods may have had the same addresses, then affects no other
 * bridge.
 */
function baseRules(
  direction: Direction,
  { podCidrs, bridge }: PolicyTableSettings,
): readonly string[] {
  const at = direction === 'egress' ? 'saddr' : 'daddr';
  const ranges = (family: Family): readonly string[] =>
    podCidrs.filter((cidr) => familyOf(cidr) === family);
  const unknown = FAMILIES.flatMap((family) =>
    ranges(family).length === 0 ? [] : [`${family} ${at} { ${ranges(family).join(', ')} } drop`],
  );
  return [
    ...(bridge === undefined
      ? []
      : [`${direction === 'egress' ? 'iifname' : 'oifname'} != "${bridge}" accept`]),
    'ct state established,related accept',
    // Without neighbour discovery no IPv6 address can be reached, even if policies allow it.
    'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept',
    // A pod that reaches itself through a service.
    ...FAMILIES.map((family) => `${family} saddr . ${family} daddr @${selfSet(family)} accept`),
    ...FAMILIES.map((family) => `${family} ${at} vmap @${verdictMap(direction, family)}`),
    // Unknown addresses of this node's pods, and forged ones.
    ...(bridge === undefined ? unknown : ['drop']),
  ];
}
