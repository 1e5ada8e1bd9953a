import { expect, test } from 'vitest';
import { guardCommands } from './guard.ts';

test('ports of services are open, all other ports of the machine are not', () => {
  const announcements = ['10.0.0.240', 'fd00::240'].map((address) => ({
    address,
    service: 'default/web',
    ports: [{ protocol: 'tcp' as const, port: 80 }],
    candidates: [],
  }));
  expect(guardCommands('t', announcements).trimEnd().split('\n')).toEqual([
    'add table inet t',
    'delete table inet t',
    'add table inet t',
    'add chain inet t input { type filter hook input priority 0; policy accept; }',
    'add rule inet t input iifname lo accept',
    'add rule inet t input ct state established,related accept',
    'add set inet t ip-addresses { type ipv4_addr; }',
    'add set inet t ip-ports { type ipv4_addr . inet_proto . inet_service; }',
    'add element inet t ip-addresses { 10.0.0.240 }',
    'add element inet t ip-ports { 10.0.0.240 . tcp . 80 }',
    'add rule inet t input ip daddr @ip-addresses meta l4proto { icmp, ipv6-icmp } accept',
    'add rule inet t input ip daddr . meta l4proto . th dport @ip-ports accept',
    'add rule inet t input ip daddr @ip-addresses meta l4proto tcp reject with tcp reset',
    'add rule inet t input ip daddr @ip-addresses reject',
    'add set inet t ip6-addresses { type ipv6_addr; }',
    'add set inet t ip6-ports { type ipv6_addr . inet_proto . inet_service; }',
    'add element inet t ip6-addresses { fd00::240 }',
    'add element inet t ip6-ports { fd00::240 . tcp . 80 }',
    'add rule inet t input ip6 daddr @ip6-addresses meta l4proto { icmp, ipv6-icmp } accept',
    'add rule inet t input ip6 daddr . meta l4proto . th dport @ip6-ports accept',
    'add rule inet t input ip6 daddr @ip6-addresses meta l4proto tcp reject with tcp reset',
    'add rule inet t input ip6 daddr @ip6-addresses reject',
  ]);
});
