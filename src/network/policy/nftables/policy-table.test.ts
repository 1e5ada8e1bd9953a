// The commands of transactions: their order, their size, and which are left out.

import { beforeEach, describe, expect, test } from 'vitest';
import { runSteps } from '#machinery/turn.ts';
import type { NetworkPolicy } from '../model.ts';
import { PolicyState } from '../policy-state.ts';
import { compilePolicy } from '../rules/compile.ts';
import { apiPolicy, pod, type PodOptions, select } from '../testing/objects.ts';
import { PolicyTable } from './policy-table.ts';
import { policyTableName } from './table.ts';

let state: PolicyState;
let table: PolicyTable;
let nowMs: number;
beforeEach(() => {
  state = new PolicyState();
  table = new PolicyTable({ table: 't', podCidrs: ['10.0.0.0/24', 'fd00::/64'], bridge: 'br' });
  nowMs = 0;
  runSteps(state.setNamespace('x', {}));
});

const setPod = (key: string, options?: PodOptions): void =>
  runSteps(state.setPod(key, options === undefined ? undefined : pod(key, options)));
const setPolicy = (key: string, spec?: Partial<NetworkPolicy['spec']>): void =>
  runSteps(
    state.setPolicy(key, spec === undefined ? undefined : compilePolicy(apiPolicy(key, spec))),
  );

/**
 * Returns the commands without the table's name, with hashes as H1, H2 … in the order of their
 * appearance.
 */
function sync(isComplete = false): string[] {
  const names = new Map<string, string>();
  return [...table.commands(state.rules, isComplete ? undefined : state.takeChange(), nowMs)]
    .flat()
    .map((command) =>
      command
        .replaceAll(
          /[0-9a-f]{20}/g,
          (hash) => names.get(hash) ?? (names.set(hash, `H${names.size + 1}`), `H${names.size}`),
        )
        .replace(' inet t ', ' '),
    );
}

const IN_80 = {
  policyTypes: ['Ingress'],
  ingress: [{ from: [{ podSelector: select('app=b') }], ports: [{ port: 80 }] }],
} as const;

describe('transactions', () => {
  test('the first one creates the table, whatever exists', () => {
    setPod('x/a', { ips: ['10.0.0.1', 'fd00::1'] });
    setPod('x/b', { ips: ['10.0.0.2'], labels: { app: 'b' } });
    setPolicy('x/p', {
      ...IN_80,
      podSelector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] },
    });
    const commands = sync();
    expect(commands.slice(0, 3)).toEqual([
      'add table inet t',
      'delete table inet t',
      'add table inet t',
    ]);
    expect(commands.filter((command) => command.startsWith('add rule egress'))).toEqual([
      'add rule egress iifname != "br" accept',
      'add rule egress ct state established,related accept',
      'add rule egress icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept',
      'add rule egress ip saddr . ip daddr @self-ip accept',
      'add rule egress ip6 saddr . ip6 daddr @self-ip6 accept',
      'add rule egress ip saddr vmap @egress-ip',
      'add rule egress ip6 saddr vmap @egress-ip6',
      'add rule egress drop',
    ]);
    const isFixed = (command: string): boolean =>
      /^add (?:map|set self-\w+|(?:rule|chain) (?:egress|ingress)) /.test(command);
    expect(commands.slice(3).filter((command) => !isFixed(command))).toEqual([
      'add set group-H1-ip { type ipv4_addr; }',
      'add set group-H1-ip6 { type ipv6_addr; }',
      'add chain policy-ingress-H2',
      'add chain pods-ingress-H2',
      'flush chain policy-ingress-H2',
      'flush chain pods-ingress-H2',
      'add rule policy-ingress-H2 ip saddr @group-H1-ip tcp dport { 80 } accept',
      'add rule policy-ingress-H2 ip6 saddr @group-H1-ip6 tcp dport { 80 } accept',
      'add rule pods-ingress-H2 jump policy-ingress-H2',
      'add rule pods-ingress-H2 drop',
      'add element group-H1-ip { 10.0.0.2 }',
      'add element self-ip { 10.0.0.1 . 10.0.0.1, 10.0.0.2 . 10.0.0.2 }',
      'add element egress-ip { 10.0.0.1 : accept, 10.0.0.2 : accept }',
      'add element ingress-ip { 10.0.0.1 : goto pods-ingress-H2, 10.0.0.2 : accept }',
      'add element self-ip6 { fd00::1 . fd00::1 }',
      'add element egress-ip6 { fd00::1 : accept }',
      'add element ingress-ip6 { fd00::1 : goto pods-ingress-H2 }',
    ]);
  });

  test('an added or removed pod changes a few elements', () => {
    setPod('x/a', { ips: ['10.0.0.1'] });
    setPolicy('x/p', IN_80);
    sync();
    setPod('x/b', { ips: ['10.0.0.2'], labels: { app: 'b' } });
    expect(sync()).toEqual([
      'add element group-H1-ip { 10.0.0.2 }',
      'add element self-ip { 10.0.0.2 . 10.0.0.2 }',
      'add element egress-ip { 10.0.0.2 : accept }',
      'add element ingress-ip { 10.0.0.2 : goto pods-ingress-H2 }',
    ]);
    setPod('y/far', { ips: ['10.0.9.9'], labels: { app: 'b' }, node: 'there' });
    expect(sync()).toEqual([]);
    setPod('x/b');
    expect(sync()).toEqual([
      'delete element group-H1-ip { 10.0.0.2 }',
      'delete element self-ip { 10.0.0.2 . 10.0.0.2 }',
      'delete element egress-ip { 10.0.0.2 }',
      'delete element ingress-ip { 10.0.0.2 }',
    ]);
  });

  test('a changed policy is rewritten; an unchanged one is not', () => {
    setPod('x/a', { ips: ['10.0.0.1'] });
    setPolicy('x/p', IN_80);
    sync();
    setPolicy('x/p', { ...IN_80 });
    expect(sync()).toEqual([]);
    setPolicy('x/p', {
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ ipBlock: { cidr: '10.1.0.0/16', except: ['10.1.0.0/24'] } }] }],
    });
    expect(sync()).toEqual([
      'add set block-H1-ip { type ipv4_addr; flags interval; }',
      'add element block-H1-ip { 10.1.1.0-10.1.255.255 }',
      'add chain policy-ingress-H2',
      'flush chain policy-ingress-H2',
      'add rule policy-ingress-H2 ip saddr @block-H1-ip accept',
      'delete set group-H3-ip',
      'delete set group-H3-ip6',
    ]);
    setPolicy('x/p', { policyTypes: ['Ingress'], ingress: [{}] });
    expect(sync()).toEqual([
      'add chain policy-ingress-H1',
      'flush chain policy-ingress-H1',
      'add rule policy-ingress-H1 accept',
      'delete set block-H2-ip',
    ]);
  });

  test('unused chains are emptied at once, and deleted a second later', () => {
    setPod('x/a', { ips: ['10.0.0.1'] });
    setPolicy('x/p', IN_80);
    setPolicy('x/q', { policyTypes: ['Ingress'] });
    sync();
    expect(table.hasStaleChains).toBe(false);
    setPolicy('x/p');
    expect(sync()).toEqual([
      'add chain pods-ingress-H1',
      'delete element ingress-ip { 10.0.0.1 }',
      'flush chain policy-ingress-H2',
      'flush chain pods-ingress-H1',
      'flush chain pods-ingress-H3',
      'add rule pods-ingress-H1 jump policy-ingress-H1',
      'add rule pods-ingress-H1 drop',
      'add element ingress-ip { 10.0.0.1 : goto pods-ingress-H1 }',
      'delete set group-H4-ip',
      'delete set group-H4-ip6',
    ]);
    expect(table.deleteStaleChains(999)).toEqual([]);
    // One of the chains is used again in time.
    nowMs = 500;
    setPolicy('x/p', IN_80);
    sync();
    setPolicy('x/q');
    sync();
    expect(table.deleteStaleChains(1000)).toEqual([]);
    expect(table.deleteStaleChains(1500)).toHaveLength(3);
    expect(table.hasStaleChains).toBe(false);
  });

  test('after an error everything is programmed again', () => {
    setPod('x/a', { ips: ['10.0.0.1'] });
    setPolicy('x/p', IN_80);
    const first = sync();
    table.forget();
    setPod('x/a', { ips: ['10.0.0.1'], labels: { now: 'labelled' } });
    expect(sync()).toEqual(first);
    expect(sync(true)).toEqual(first);
  });
});

test('rules of ports, names, and both families', () => {
  setPod('x/a', { ips: ['10.0.0.1'], ports: ['tcp/web=8080'] });
  const ports = [{ port: 'web' }, { port: 1, endPort: 9 }, { protocol: 'UDP' }] as const;
  const from = [{ ipBlock: { cidr: 'fd00:1::/32' } }, { ipBlock: { cidr: '0.0.0.0/0' } }];
  setPolicy('x/p', { policyTypes: ['Ingress'], ingress: [{ from, ports }] });
  expect(
    sync().filter(
      (command) => command.includes('policy-ingress-') && command.startsWith('add rule policy'),
    ),
  ).toEqual([
    'add rule policy-ingress-H3 meta nfproto ipv4 tcp dport { 1-9 } accept',
    'add rule policy-ingress-H3 meta nfproto ipv4 meta l4proto udp accept',
    'add rule policy-ingress-H3 meta nfproto ipv4 ip daddr . meta l4proto . th dport @group-H2-ip accept',
    'add rule policy-ingress-H3 ip6 saddr @block-H1-ip6 tcp dport { 1-9 } accept',
    'add rule policy-ingress-H3 ip6 saddr @block-H1-ip6 meta l4proto udp accept',
    'add rule policy-ingress-H3 ip6 saddr @block-H1-ip6 ip6 daddr . meta l4proto . th dport @group-H2-ip6 accept',
  ]);
});

test('without a bridge, ranges identify addresses of pods', () => {
  table = new PolicyTable({ table: 't', podCidrs: ['10.0.0.0/24', 'fd00::/64'] });
  setPolicy('x/p', IN_80);
  expect(sync().filter((command) => command.startsWith('add rule ingress'))).toEqual([
    'add rule ingress ct state established,related accept',
    'add rule ingress icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept',
    'add rule ingress ip saddr . ip daddr @self-ip accept',
    'add rule ingress ip6 saddr . ip6 daddr @self-ip6 accept',
    'add rule ingress ip daddr vmap @ingress-ip',
    'add rule ingress ip6 daddr vmap @ingress-ip6',
    'add rule ingress ip daddr { 10.0.0.0/24 } drop',
    'add rule ingress ip6 daddr { fd00::/64 } drop',
  ]);
});

test('user input is never written into commands', () => {
  const evil = 'x; flush ruleset #';
  setPod(`x/${evil}`, { ips: ['10.0.0.1'], labels: { [evil]: evil }, ports: [`tcp/${evil}=80`] });
  setPolicy(`x/${evil}`, { ingress: [{ from: [{ podSelector: {} }], ports: [{ port: evil }] }] });
  expect(sync().filter((command) => command.includes('flush ruleset'))).toEqual([]);
});

test('two nodes on one machine have two tables', () => {
  expect(policyTableName('/a')).toMatch(/^coxswain-policy-[0-9a-f]{10}$/);
  expect(policyTableName('/b')).not.toBe(policyTableName('/a'));
});
