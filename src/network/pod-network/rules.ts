// The nftables table of the pod network: traffic of pods that leaves the cluster is masqueraded;
// traffic between pods is not; and VXLAN is accepted from nodes only. Pure: settings in, commands
// out.
//
// Masquerading by the CNI plugin `bridge` would rewrite everything that leaves the node's own
// range, including traffic to pods of other nodes. The service proxy has its own table; if both
// tables match a connection, the first one rewrites it, and both use the node's address.

import { parseCidr, parseIp } from '#machinery/net/ip.ts';
import { removalOf } from '#machinery/net/nft/index.ts';

export interface Rules {
  /** The ranges of this node's pods. */
  readonly own: readonly string[];
  /** The ranges of all pods. */
  readonly pods: readonly string[];
  /** The addresses of other nodes. */
  readonly nodes: readonly string[];
  readonly vxlan:
    | {
        readonly device: string;
        readonly id: number;
        readonly port: number;
        readonly local: string;
      }
    | undefined;
}

const FAMILIES = [
  {
    family: 'ip',
    type: 'ipv4_addr',
    multicast: '224.0.0.0/4',
    isOf: (text: string) => !text.includes(':'),
  },
  {
    family: 'ip6',
    type: 'ipv6_addr',
    multicast: 'ff00::/8',
    isOf: (text: string) => text.includes(':'),
  },
] as const;
type Family = (typeof FAMILIES)[number];

/** The number of elements per command, so that lines are bounded. */
const ELEMENTS = 500;

/**
 * Returns the commands that create or replace the table in one transaction, so that no packet sees
 * a partial table.
 */
export function completeCommands(table: string, rules: Rules): string {
  return FAMILIES.flatMap((family) => {
    const remove = removalOf({ family: family.family, name: table }).trim();
    return isNeeded(family, rules) ? [remove, ...tableCommands(family, table, rules)] : [remove];
  })
    .join('\n')
    .concat('\n');
}

/** Returns the commands that remove the table. */
export const removalCommands = (table: string): string =>
  FAMILIES.map(({ family }) => removalOf({ family, name: table })).join('');

/**
 * Returns the commands for a change of the two sets only; undefined if more has changed. '' if
 * nothing has.
 */
export function setCommands(table: string, before: Rules, after: Rules): string | undefined {
  const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  if (!isSame(before.own, after.own) || !isSame(before.vxlan, after.vxlan)) return undefined;
  const lines = FAMILIES.filter((family) => isNeeded(family, after)).flatMap((family) =>
    (['pods', 'nodes'] as const).flatMap((set) => {
      const [old, next] = [
        new Set(before[set].filter(family.isOf)),
        new Set(after[set].filter(family.isOf)),
      ];
      const path = `${family.family} ${table} ${set}`;
      return [
        ...elementCommands(
          'delete',
          path,
          [...old].filter((element) => !next.has(element)),
        ),
        ...elementCommands(
          'add',
          path,
          [...next].filter((element) => !old.has(element)),
        ),
      ];
    }),
  );
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Reports whether the family needs a table: it has pods, or carries the tunnel. */
const isNeeded = (family: Pick<Family, 'isOf'>, { own, vxlan }: Rules): boolean =>
  own.some(family.isOf) || (vxlan !== undefined && family.isOf(vxlan.local));

/** Returns the families that need a table. */
export const neededFamilies = (rules: Rules): readonly ('ip' | 'ip6')[] =>
  FAMILIES.filter((family) => isNeeded(family, rules)).map(({ family }) => family);

function tableCommands(
  family: Family,
  table: string,
  { own, pods, nodes, vxlan }: Rules,
): string[] {
  const ip = family.family;
  const name = `${ip} ${table}`;
  const commands = [
    `add table ${name}`,
    `add set ${name} pods { type ${family.type}; flags interval; }`,
    `add set ${name} nodes { type ${family.type}; }`,
    `add chain ${name} postrouting { type nat hook postrouting priority 100; }`,
    ...elementCommands('add', `${name} pods`, pods.filter(family.isOf)),
    ...elementCommands('add', `${name} nodes`, nodes.filter(family.isOf)),
  ];
  for (const range of own.filter(family.isOf)) {
    commands.push(
      `add rule ${name} postrouting ${ip} saddr ${checked(range)} ${ip} daddr != @pods ` +
        `${ip} daddr != ${family.multicast} masquerade fully-random`,
    );
  }
  if (vxlan === undefined) return commands;
  commands.push(
    `add chain ${name} from-tunnel { type filter hook prerouting priority -150; }`,
    // The source is a pod, or a process of a node.
    `add rule ${name} from-tunnel iifname "${vxlan.device}" ${ip} saddr != @pods ${ip} saddr != @nodes drop`,
  );
  if (family.isOf(vxlan.local)) {
    commands.push(
      `add chain ${name} to-tunnel { type filter hook input priority -10; }`,
      // The identifier is in 24 bits of the VXLAN header: other networks may use the same port.
      `add rule ${name} to-tunnel udp dport ${vxlan.port} @th,96,24 ${vxlan.id} ${ip} saddr != @nodes drop`,
    );
  }
  return commands;
}

function elementCommands(
  verb: 'add' | 'delete',
  set: string,
  elements: readonly string[],
): string[] {
  const commands: string[] = [];
  for (let start = 0; start < elements.length; start += ELEMENTS) {
    const part = elements.slice(start, start + ELEMENTS).map(checked);
    commands.push(`${verb} element ${set} { ${part.join(', ')} }`);
  }
  return commands;
}

/**
 * Returns the text if it is an address or a range, since nothing else may be written into commands.
 * Throws TypeError.
 */
function checked(text: string): string {
  if (parseIp(text) === undefined && parseCidr(text) === undefined)
    throw new TypeError(`${JSON.stringify(text)} is no address`);
  return text;
}
