// The fixed part of our table, and the names in it.
//
//   forward ──► egress  ──► @egress-ip, @egress-ip6    by source:      goto pods-egress-HASH,  or accept for pods that are not isolated
//   forward ──► ingress ──► @ingress-ip, @ingress-ip6  by destination: goto pods-ingress-HASH, or accept
//
// A packet passes both base chains: what the first accepts, the second still sees. pods-…-HASH
// jumps to the chains of the policies that select the pod and then drops; pods with the same
// policies share it. policy-…-HASH accepts what the policy allows. Peers are looked up in sets:
// group-HASH-… follow pods, block-HASH-… have an ipBlock's ranges and never change.
//
// The node's own traffic to its pods, and its pods' traffic to the node, is not forwarded and
// therefore never restricted, as the Kubernetes documentation of network policies asks for. Cluster
// IPs and node ports are rewritten before: rules see endpoints.

import { createHash } from 'node:crypto';
import type { IpFamily } from '#machinery/net/ip.ts';
import type { Direction } from '../model.ts';

export interface PolicyTableSettings {
  /** The table's name, in the family inet. */
  readonly table: string;
  /** The bridge that the node's pods are on, if there is one of ours. */
  readonly bridge?: string;
  /**
   * Where pods of this node get their addresses from. Without a bridge, these tell which addresses
   * are of pods.
   */
  readonly podCidrs: readonly string[];
}

export const FAMILIES = ['ip', 'ip6'] as const;
export type Family = (typeof FAMILIES)[number];
export const DIRECTIONS = ['egress', 'ingress'] as const satisfies readonly Direction[];

export const familyOf = (address: string): Family => (address.includes(':') ? 'ip6' : 'ip');
export const IP_FAMILY: Readonly<Record<Family, IpFamily>> = { ip: 'IPv4', ip6: 'IPv6' };
export const addressType = (family: Family): string =>
  family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';

/** A name for nft: what users write does not get into its commands. */
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
 * Returns the table's name: the same for the same directory, another for others, so that two nodes
 * on one machine have two.
 */
export const policyTableName = (dataDir: string): string =>
  `coxswain-policy-${hashOf(dataDir).slice(0, 10)}`;

/**
 * After the addresses of services have been rewritten (dstnat, -100), before other programs'
 * filters (0).
 */
const PRIORITY: Readonly<Record<Direction, number>> = { egress: -12, ingress: -11 };

/** Returns the commands that make an empty table, whatever was there under its name. */
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
 * Where the bridge is known, rules are for what comes from it or goes to it: a table that is left
 * over of another cluster, whose pods may have had the same addresses, then concerns no other
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
    // Without neighbor discovery no address of IPv6 can be reached, whatever policies allow.
    'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept',
    // A pod that reaches itself through a service.
    ...FAMILIES.map((family) => `${family} saddr . ${family} daddr @${selfSet(family)} accept`),
    ...FAMILIES.map((family) => `${family} ${at} vmap @${verdictMap(direction, family)}`),
    // Addresses of this node's pods that are not known, and forged ones.
    ...(bridge === undefined ? unknown : ['drop']),
  ];
}
