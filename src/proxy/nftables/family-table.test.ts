// The text that is sent to nft: the first rules of services, and the difference of each change.

import { expect, test } from 'vitest';
import { decideService } from '../decide.ts';
import type { Service, ServiceRules } from '../model.ts';
import { NODE, service, slice } from '../testing/objects.ts';
import { FamilyTable } from './family-table.ts';
import { parseListing } from './listing.ts';
import type { TableSettings } from './table.ts';

const SETTINGS: TableSettings = {
  table: 'cox',
  nodePortIPs: undefined,
  clusterCidrs: ['10.0.0.0/16'],
  serviceCidrs: ['10.96.0.0/16'],
  masqueradeAll: false,
  masqueradeBit: 14,
  blindBridge: undefined,
};
const rules = (given: Service, endpoints: readonly string[]): ServiceRules | undefined =>
  decideService(given, endpoints.length === 0 ? [] : [slice(endpoints)], NODE);
/** Returns the commands without the table's name, one per line. */
const text = (commands: readonly string[]): string =>
  commands.map((command) => command.replace('ip cox ', '')).join('\n');
const fresh = (): FamilyTable => new FamilyTable('IPv4', SETTINGS, undefined, false);

test('a service with two endpoints, then one more, one fewer, none, and deleted', () => {
  const table = fresh();
  const change = (endpoints: readonly string[] | undefined): string =>
    text(
      table.change(
        [['default/web', endpoints === undefined ? undefined : rules(service(), endpoints)]],
        0,
      ),
    );
  expect(change(['10.0.0.1 here', '10.0.0.2'])).toBe(
    [
      'add chain pick-cluster-tcp-2',
      'flush chain pick-cluster-tcp-2',
      'add rule pick-cluster-tcp-2 dnat ip addr . port to ip daddr . tcp dport . numgen ' +
        'random mod 2 map @endpoints-cluster-tcp',
      'add element cluster-ips { 10.96.0.10 }',
      'add element hairpin-connections { 10.0.0.1 . 10.0.0.1 . tcp . 8080 }',
      'add element service-ips { 10.96.0.10 . tcp . 80 : goto pick-cluster-tcp-2 }',
      'add element endpoints-cluster-tcp { 10.96.0.10 . 80 . 0 : 10.0.0.1 . 8080, 10.96.0.10 ' +
        '. 80 . 1 : 10.0.0.2 . 8080 }',
    ].join('\n'),
  );
  expect(change(['10.0.0.1 here', '10.0.0.2'])).toBe('');
  expect(change(['10.0.0.1 here', '10.0.0.3'])).toBe(
    [
      'delete element endpoints-cluster-tcp { 10.96.0.10 . 80 . 1 }',
      'add element endpoints-cluster-tcp { 10.96.0.10 . 80 . 1 : 10.0.0.3 . 8080 }',
    ].join('\n'),
  );
  expect(change(['10.0.0.3'])).toBe(
    [
      'add chain pick-cluster-tcp-1',
      'delete element service-ips { 10.96.0.10 . tcp . 80 }',
      'delete element endpoints-cluster-tcp { 10.96.0.10 . 80 . 0, 10.96.0.10 . 80 . 1 }',
      'delete element hairpin-connections { 10.0.0.1 . 10.0.0.1 . tcp . 8080 }',
      'flush chain pick-cluster-tcp-1',
      'flush chain pick-cluster-tcp-2',
      'add rule pick-cluster-tcp-1 dnat ip addr . port to ip daddr . tcp dport . numgen ' +
        'random mod 1 map @endpoints-cluster-tcp',
      'add element service-ips { 10.96.0.10 . tcp . 80 : goto pick-cluster-tcp-1 }',
      'add element endpoints-cluster-tcp { 10.96.0.10 . 80 . 0 : 10.0.0.3 . 8080 }',
    ].join('\n'),
  );
  expect(change([])).toBe(
    [
      'delete element service-ips { 10.96.0.10 . tcp . 80 }',
      'delete element endpoints-cluster-tcp { 10.96.0.10 . 80 . 0 }',
      'flush chain pick-cluster-tcp-1',
      'add element no-endpoint-services { 10.96.0.10 . tcp . 80 : goto reject-chain }',
    ].join('\n'),
  );
  expect(change(undefined)).toBe(
    [
      'delete element cluster-ips { 10.96.0.10 }',
      'delete element no-endpoint-services { 10.96.0.10 . tcp . 80 }',
    ].join('\n'),
  );
  // Empty chains are deleted once the kernel has released them.
  expect(table.deleteStaleChains(999)).toEqual([]);
  expect(text(table.deleteStaleChains(1000))).toBe(
    'delete chain pick-cluster-tcp-2\ndelete chain pick-cluster-tcp-1',
  );
});

test('traffic policies of an external service', () => {
  const local = service({
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }],
  });
  const commands = text(
    fresh().change([['default/web', rules(local, ['10.0.0.1 here', '10.0.0.2'])]], 0),
  );
  expect(commands).toContain(
    [
      'add rule external-local-2-1-tcp-nodeport ip saddr { 10.0.0.0/16 } goto pick-nodeport-cluster-tcp-2',
      'add rule external-local-2-1-tcp-nodeport fib saddr type local meta mark set mark or ' +
        '0x00004000 goto pick-nodeport-cluster-tcp-2',
      'add rule external-local-2-1-tcp-nodeport goto pick-nodeport-local-tcp-1',
    ].join('\n'),
  );
  expect(commands).toContain(
    'add element nodeport-endpoints-local-tcp { 30080 . 0 : 10.0.0.1 . 8080 }',
  );
  const elsewhere = text(fresh().change([['default/web', rules(local, ['10.0.0.2'])]], 0));
  expect(elsewhere).toContain('add element no-endpoint-nodeports { tcp . 30080 : drop }');
  expect(elsewhere).toContain(
    'add element service-nodeports { tcp . 30080 : goto external-local-1-0-tcp-nodeport }',
  );
});

test('two services share an endpoint: it is removed with the second of them', () => {
  const table = fresh();
  const other = service({ clusterIP: '10.96.0.11' }, 'other');
  table.change([['default/web', rules(service(), ['10.0.0.1 here'])]], 0);
  table.change(
    [['default/other', decideService(other, [slice(['10.0.0.1 here'], { of: 'other' })], NODE)]],
    0,
  );
  expect(text(table.change([['default/web', undefined]], 0))).not.toContain('hairpin');
  expect(text(table.change([['default/other', undefined]], 0))).toContain(
    'delete element hairpin-connections',
  );
});

test('user input is never written into commands', () => {
  const odd = service({
    sessionAffinity: 'ClientIP',
    ports: [{ name: 'x"; flush ruleset; "', port: 80, targetPort: 8080 }],
  });
  const named = [{ name: 'x"; flush ruleset; "', port: 8080, protocol: 'TCP' }];
  const decided = decideService(odd, [slice(['10.0.0.1'], { ports: named as never })], NODE);
  const commands = text(fresh().change([['default/web', decided]], 0));
  expect(commands).toMatch(
    /add rule endpoint-[0-9a-f]{16} meta l4proto tcp dnat to 10\.0\.0\.1:8080/,
  );
  expect(commands).not.toContain('ruleset');
});

test('a thousand endpoints and ports need bounded commands', () => {
  const ports = Array.from({ length: 20 }, (_, index) => ({
    name: `p${index}`,
    port: 80 + index,
    targetPort: 8080,
  }));
  const endpointPorts = ports.map(({ name }) => ({ name, port: 8080, protocol: 'TCP' }));
  const many = Array.from({ length: 1000 }, (_, index) => `10.0.${index >> 8}.${index & 255} here`);
  const decided = decideService(
    service({ ports }),
    [slice(many, { ports: endpointPorts as never })],
    NODE,
  );
  const table = fresh();
  const commands = table.change([['default/web', decided]], 0);
  expect(Math.max(...commands.map((command) => command.length))).toBeLessThan(64 * 1024);
  // Another endpoint costs as much as in a small service: one element for each port, and the count.
  const next = decideService(
    service({ ports }),
    [slice([...many, '10.0.200.1'], { ports: endpointPorts as never })],
    NODE,
  );
  expect(table.change([['default/web', next]], 0).join('\n').length).toBeLessThan(10_000);
});

test('an existing table: correct parts stay, wrong ones are repaired, unknown ones are removed', () => {
  const element = (key: unknown[], value: unknown): unknown[] => [{ concat: key }, value];
  const verdicts = { type: ['ipv4_addr', 'inet_proto', 'inet_service'], map: 'verdict' };
  const listing = JSON.stringify({
    nftables: [
      { metainfo: {} },
      { table: { family: 'ip', name: 'cox' } },
      {
        map: {
          name: 'service-ips',
          ...verdicts,
          elem: [
            element(['10.96.0.10', 6, 80], { goto: { target: 'pick-cluster-tcp-1' } }),
            element(['10.96.0.99', 'tcp', 80], { goto: { target: 'pick-cluster-tcp-7' } }),
          ],
        },
      },
      {
        map: {
          name: 'endpoints-cluster-tcp',
          type: ['ipv4_addr', 'inet_service', 'integer'],
          map: 'ipv4_addr . inet_service',
          elem: [element(['10.96.0.10', 80, 0], { concat: ['10.6.6.6', 8080] })],
        },
      },
      { set: { name: 'cluster-ips', type: 'ipv4_addr', elem: ['10.96.0.10'] } },
      { set: { name: 'theirs', type: 'ipv4_addr' } },
      { chain: { name: 'pick-cluster-tcp-7' } },
      { chain: { name: 'theirs' } },
      { rule: { chain: 'theirs' } },
    ],
  });
  const table = new FamilyTable('IPv4', SETTINGS, parseListing(listing, 'IPv4'), false);
  expect(text(table.change([['default/web', rules(service(), ['10.0.0.1'])]], 0))).toBe(
    [
      'add chain pick-cluster-tcp-1',
      'delete element endpoints-cluster-tcp { 10.96.0.10 . 80 . 0 }',
      'flush chain pick-cluster-tcp-1',
      'add rule pick-cluster-tcp-1 dnat ip addr . port to ip daddr . tcp dport . numgen ' +
        'random mod 1 map @endpoints-cluster-tcp',
      'add element endpoints-cluster-tcp { 10.96.0.10 . 80 . 0 : 10.0.0.1 . 8080 }',
    ].join('\n'),
  );
  expect(text(table.removeLeftovers(0))).toBe(
    [
      'delete element service-ips { 10.96.0.99 . tcp . 80 }',
      'flush chain pick-cluster-tcp-7',
      'flush chain theirs',
      'delete set theirs',
    ].join('\n'),
  );
  expect(text(table.deleteStaleChains(1000))).toBe(
    'delete chain pick-cluster-tcp-7\ndelete chain theirs',
  );
});

test.each([
  ['no listing', 'nonsense'],
  [
    'another key',
    '{"nftables":[{"map":{"name":"service-ips","type":"ipv4_addr","map":"verdict"}}]}',
  ],
  ['a set in place of a map', '{"nftables":[{"set":{"name":"service-ips","type":"ipv4_addr"}}]}'],
  [
    'another hook',
    '{"nftables":[{"chain":{"name":"nat-output","type":"nat","hook":"output","prio":0}}]}',
  ],
  [
    'a base chain of another program',
    '{"nftables":[{"chain":{"name":"x","type":"nat","hook":"output","prio":0}}]}',
  ],
  ['an object that is not ours', '{"nftables":[{"flowtable":{"name":"x"}}]}'],
])('a table with %s is replaced', (_, listing) => {
  expect(() => parseListing(listing, 'IPv4')).toThrow(
    expect.objectContaining({ name: 'UnusableTableError' }),
  );
});
