import { expect, test } from 'vitest';
import type { Node, Service } from '#api/groups/core/v1/index.ts';
import type { Endpoint } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { cpuByZone, nearbyHints, sharedHints } from './hints.ts';

const none = (): undefined => undefined;
/** Creates endpoints; 'aab-' means zones a, a, b, and one without a zone. */
const endpointsIn = (zones: string): Endpoint[] =>
  [...zones].map((zone, index) => ({
    addresses: [`10.0.0.${index}`],
    conditions: { ready: true },
    nodeName: `node-${index}`,
    ...(zone !== '-' && { zone }),
  }));
const zonesOf = (endpoints: readonly Endpoint[]) =>
  endpoints.map(({ hints }) => hints?.forZones?.[0]?.name ?? '-').join('');
const shares = (parts: Record<string, number>) => new Map(Object.entries(parts));

test.each<[string, Record<string, number>, string | RegExp]>([
  ['ab', { a: 0.5, b: 0.5 }, 'ab'],
  ['aaabbb', { a: 0.5, b: 0.5 }, 'aaabbb'],
  ['aaaaaa', { a: 0.5, b: 0.5 }, 'bbbaaa'],
  ['aaaabb', { a: 0.5, b: 0.5 }, 'baaabb'],
  ['aabbcc', { a: 1 / 3, b: 1 / 3, c: 1 / 3 }, 'aabbcc'],
  ['aaaccc', { a: 1 / 3, b: 1 / 3, c: 1 / 3 }, 'baabcc'],
  ['a', { a: 0.5, b: 0.5 }, /^Insufficient number of endpoints \(1 endpoints, 2 zones\)$/],
  ['a-', { a: 0.5, b: 0.5 }, /^One or more endpoints do not have a zone specified$/],
  ['aab', { a: 0.3, b: 0.35, c: 0.35 }, 'cab'],
  [
    'aabb',
    { a: 0.4, b: 0.4, c: 0.1, d: 0.1 },
    /^Unable to allocate minimum required endpoints .* \(4 endpoints, 4 zones\)$/,
  ],
])('endpoints in %s for zones with %o', (zones, parts, expected) => {
  const shared = sharedHints(endpointsIn(zones), shares(parts), none);
  if (typeof expected === 'string')
    expect([shared.problem, zonesOf(shared.endpoints)]).toEqual([undefined, expected]);
  else expect(shared.problem).toMatch(expected);
});

test('without zones there are no hints', () => {
  expect(sharedHints(endpointsIn('ab'), undefined, none).problem).toMatch(
    /^Insufficient Node information/,
  );
});

test('allocations within their bounds stay', () => {
  const endpoints = endpointsIn('aaaabb');
  const before = ['b', 'a', 'a', 'a', 'b', 'b'];
  const kept = sharedHints(
    endpoints,
    shares({ a: 0.5, b: 0.5 }),
    (endpoint) => before[endpoints.indexOf(endpoint)],
  );
  expect(zonesOf(kept.endpoints)).toBe('baaabb');
  const moved = sharedHints(endpoints, shares({ a: 0.5, b: 0.5 }), () => 'b');
  expect(zonesOf(moved.endpoints)).toBe('baaabb');
});

test('endpoints that are not ready get no hints and do not count', () => {
  const endpoints = endpointsIn('aab').map((endpoint, index) => ({
    ...endpoint,
    conditions: { ready: index > 0 },
  }));
  expect(zonesOf(sharedHints(endpoints, shares({ a: 0.5, b: 0.5 }), none).endpoints)).toBe('-ab');
});

const node = (zone: string, cpu: string, more: object = {}, ready = 'True'): Immutable<Node> => ({
  metadata: {
    name: 'n',
    uid: '',
    resourceVersion: '',
    creationTimestamp: '',
    labels: { ...(zone !== '' && { 'topology.kubernetes.io/zone': zone }), ...more },
  },
  spec: {},
  status: {
    allocatable: { cpu },
    conditions: [{ type: 'Ready', status: ready }],
  } as unknown as Immutable<Node['status']>,
});

test.each<[string, Immutable<Node>[], Record<string, number> | undefined]>([
  ['two zones', [node('a', '1'), node('b', '3')], { a: 0.25, b: 0.75 }],
  ['one zone', [node('a', '1'), node('a', '3')], undefined],
  ['a node without zone', [node('a', '1'), node('b', '1'), node('', '1')], undefined],
  ['a node without CPU', [node('a', '1'), node('b', '0')], undefined],
  [
    'one that is not ready',
    [node('a', '1'), node('b', '1'), node('c', '1', {}, 'False')],
    { a: 0.5, b: 0.5 },
  ],
  [
    'a control plane',
    [
      node('a', '1'),
      node('b', '1'),
      node('', '1', { 'node-role.kubernetes.io/control-plane': '' }),
    ],
    { a: 0.5, b: 0.5 },
  ],
])('CPU: %s', (_, nodes, expected) => {
  expect(cpuByZone(nodes)).toEqual(expected === undefined ? undefined : shares(expected));
});

test.each([
  [undefined, undefined],
  ['PreferClose', { forZones: [{ name: 'a' }] }],
  ['PreferSameZone', { forZones: [{ name: 'a' }] }],
  ['PreferSameNode', { forZones: [{ name: 'a' }], forNodes: [{ name: 'node-0' }] }],
])('trafficDistribution %s', (trafficDistribution, expected) => {
  const service = { metadata: {}, spec: { trafficDistribution } } as Immutable<Service>;
  const [endpoint] = nearbyHints(service, endpointsIn('a'));
  expect(endpoint?.hints).toEqual(expected);
  const [notReady] = nearbyHints(
    service,
    endpointsIn('a').map((one) => ({ ...one, conditions: { ready: false } })),
  );
  expect(notReady?.hints).toBeUndefined();
});
