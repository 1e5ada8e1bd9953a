// Blocks access to the rest of the machine at announced addresses. They are local addresses, so
// every server that listens on all addresses of the machine would answer there, too. Traffic of
// services is rewritten before it arrives here; a userspace proxy listens on the services' ports,
// which stay open.

import type { Announcement } from './decide.ts';

/** Returns the nftables commands that create or replace the table in one transaction. */
export function guardCommands(table: string, announcements: readonly Announcement[]): string {
  const lines = [
    `add table inet ${table}`,
    `delete table inet ${table}`,
    `add table inet ${table}`,
  ];
  lines.push(`add chain inet ${table} input { type filter hook input priority 0; policy accept; }`);
  // The machine's own traffic to these addresses comes from one of them, so replies go there.
  lines.push(
    `add rule inet ${table} input iifname lo accept`,
    `add rule inet ${table} input ct state established,related accept`,
  );
  for (const [family, type] of [
    ['ip', 'ipv4_addr'],
    ['ip6', 'ipv6_addr'],
  ] as const) {
    const own = announcements.filter(({ address }) => address.includes(':') === (family === 'ip6'));
    if (own.length === 0) continue;
    lines.push(`add set inet ${table} ${family}-addresses { type ${type}; }`);
    lines.push(
      `add set inet ${table} ${family}-ports { type ${type} . inet_proto . inet_service; }`,
    );
    lines.push(
      `add element inet ${table} ${family}-addresses { ${own.map(({ address }) => address).join(', ')} }`,
    );
    const ports = own.flatMap(({ address, ports: list }) =>
      list.map(({ protocol, port }) => `${address} . ${protocol} . ${port}`),
    );
    if (ports.length > 0)
      lines.push(`add element inet ${table} ${family}-ports { ${ports.join(', ')} }`);
    // ICMP is allowed: neighbour discovery needs it, and users ping addresses.
    lines.push(
      `add rule inet ${table} input ${family} daddr @${family}-addresses meta l4proto { icmp, ipv6-icmp } accept`,
      `add rule inet ${table} input ${family} daddr . meta l4proto . th dport @${family}-ports accept`,
      `add rule inet ${table} input ${family} daddr @${family}-addresses meta l4proto tcp reject with tcp reset`,
      `add rule inet ${table} input ${family} daddr @${family}-addresses reject`,
    );
  }
  return `${lines.join('\n')}\n`;
}
