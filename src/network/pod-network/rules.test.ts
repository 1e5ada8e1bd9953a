import { expect, test } from 'vitest';
import { completeCommands, type Rules, setCommands } from './rules.ts';

const rules: Rules = {
  own: ['10.0.1.0/24'],
  pods: ['10.0.0.0/16'],
  nodes: ['192.0.2.2'],
  vxlan: undefined,
};

test('one table for each family with pods; the other is removed', () => {
  expect(completeCommands('t', rules)).toBe(`add table ip t
delete table ip t
add table ip t
add set ip t pods { type ipv4_addr; flags interval; }
add set ip t nodes { type ipv4_addr; }
add chain ip t postrouting { type nat hook postrouting priority 100; }
add element ip t pods { 10.0.0.0/16 }
add element ip t nodes { 192.0.2.2 }
add rule ip t postrouting ip saddr 10.0.1.0/24 ip daddr != @pods ip daddr != 224.0.0.0/4 masquerade fully-random
add table ip6 t
delete table ip6 t
`);
});

test('the tunnel has rules in its outer family, and for packets that it delivers', () => {
  const vxlan = { device: 'cxv0123456789', id: 7, port: 8472, local: 'fd00::1' };
  const commands = completeCommands('t', { ...rules, nodes: ['fd00::2'], vxlan });
  expect(commands).toContain(
    'add rule ip6 t to-tunnel udp dport 8472 @th,96,24 7 ip6 saddr != @nodes drop',
  );
  expect(commands).toContain(
    'add rule ip t from-tunnel iifname "cxv0123456789" ip saddr != @pods ip saddr != @nodes drop',
  );
  expect(commands).not.toContain('ip t to-tunnel');
});

test('an added or removed node changes elements only', () => {
  expect(setCommands('t', rules, { ...rules, nodes: ['192.0.2.3'] })).toBe(
    'delete element ip t nodes { 192.0.2.2 }\nadd element ip t nodes { 192.0.2.3 }\n',
  );
  expect(setCommands('t', rules, rules)).toBe('');
  expect(setCommands('t', rules, { ...rules, own: [] })).toBeUndefined();
});

test('only addresses are written into commands', () => {
  expect(() => completeCommands('t', { ...rules, nodes: ['192.0.2.2 }; flush ruleset'] })).toThrow(
    'is no address',
  );
});
