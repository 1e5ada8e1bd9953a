// Validation of network policies, ingresses, slices, ranges and addresses, through the server.

import { describe, expect, test } from 'vitest';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { requestsOf, type ResourceRequests } from '#apiserver/testing/workloads.ts';

const t = serverPerTest();

const PATHS = {
  policy: '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
  ingress: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  class: '/apis/networking.k8s.io/v1/ingressclasses',
  address: '/apis/networking.k8s.io/v1/ipaddresses',
  range: '/apis/networking.k8s.io/v1/servicecidrs',
  slice: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
  endpoints: '/api/v1/namespaces/default/endpoints',
} as const;
type Kind = keyof typeof PATHS;
const on = (kind: Kind): ResourceRequests => requestsOf(t, PATHS[kind]);
const metadata = { name: 'it' };

const policy = (spec: object) => ({ metadata, spec: { podSelector: {}, ...spec } });
const from = (...peers: object[]) => policy({ ingress: [{ from: peers }] });
const to = (...peers: object[]) => policy({ egress: [{ to: peers }] });
const ports = (...list: object[]) => policy({ ingress: [{ ports: list }] });
const backend = (service: object) => ({ metadata, spec: { defaultBackend: { service } } });
const web = { name: 'web', port: { number: 80 } };
const path = (more: object) => ({
  metadata,
  spec: {
    rules: [
      { http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: web }, ...more }] } },
    ],
  },
});
const host = (name: string) => ({ metadata, spec: { rules: [{ host: name }] } });
const tls = (...list: object[]) => ({
  metadata,
  spec: { defaultBackend: { service: web }, tls: list },
});
const slice = (more: object) => ({
  metadata,
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ...more,
});
const endpoint = (more: object) => slice({ endpoints: [{ addresses: ['10.0.0.1'], ...more }] });
const address = (name: string, parentRef: object) => ({ metadata: { name }, spec: { parentRef } });
const range = (...cidrs: string[]) => ({ metadata, spec: { cidrs } });
const controller = (name: string) => ({ metadata, spec: { controller: name } });
const subset = (more: object) => ({
  metadata,
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }], ...more }],
});
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe('valid', () => {
  test.each<[Kind, string, object]>([
    ['policy', 'nothing is allowed', policy({})],
    ['policy', 'all is allowed', policy({ ingress: [{}], egress: [{}] })],
    [
      'policy',
      'pods of other namespaces',
      from({ podSelector: { matchLabels: { a: 'b' } }, namespaceSelector: {} }),
    ],
    [
      'policy',
      'a block with holes',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.0.0/16'] } }),
    ],
    [
      'policy',
      'a block of IPv6',
      to({ ipBlock: { cidr: 'fd00:192:168::/48', except: ['fd00:192:168:3::/64'] } }),
    ],
    [
      'policy',
      'named ports and ranges',
      ports({ port: 'http' }, { port: 80, endPort: 90 }, { protocol: 'SCTP', port: 7 }, {}),
    ],
    ['policy', 'both directions, said', policy({ policyTypes: ['Egress', 'Ingress'] })],
    ['ingress', 'a named port', backend({ name: 'web', port: { name: 'http' } })],
    ['ingress', 'a wildcard', host('*.example.com')],
    [
      'ingress',
      'an implementation’s own path',
      path({ path: '', pathType: 'ImplementationSpecific' }),
    ],
    [
      'ingress',
      'a resource behind it',
      path({ backend: { resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'b' } } }),
    ],
    ['ingress', 'TLS for a wildcard', tls({ hosts: ['*.example.com'], secretName: 'cert' }, {})],
    ['slice', 'no endpoints', slice({ endpoints: [] })],
    [
      'slice',
      'names instead of addresses',
      slice({ addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }] }),
    ],
    ['slice', 'all ports', slice({ ports: [{}] })],
    ['slice', 'many addresses', endpoint({ addresses: many(100, (n) => `10.0.1.${n + 1}`) })],
    [
      'slice',
      'many endpoints',
      slice({ endpoints: many(1000, (n) => ({ addresses: [`10.0.${n >> 8}.${n & 255}`] })) }),
    ],
    [
      'slice',
      'application protocols',
      slice({
        ports: [
          { name: 'a', appProtocol: 'kubernetes.io/h2c' },
          { name: 'b', port: 1 },
        ],
      }),
    ],
    [
      'slice',
      'hints',
      endpoint({
        hints: { forZones: many(8, (n) => ({ name: `z${n}` })), forNodes: [{ name: 'n' }] },
      }),
    ],
    [
      'address',
      'of IPv6',
      address('2001:db8::1', { resource: 'services', name: 'web', namespace: 'x' }),
    ],
    [
      'address',
      'of another group',
      address('10.0.0.7', { group: 'example.com', resource: 'things', name: 'it' }),
    ],
    ['range', 'both families', range('10.9.0.0/24', 'fd00::/112')],
    ['range', 'both, the other first', range('fd00::/112', '10.9.0.0/24')],
    ['class', 'a controller with a path', controller('example.com/a/b')],
    ['endpoints', 'not ready', subset({ addresses: [], notReadyAddresses: [{ ip: '10.0.0.1' }] })],
    [
      'endpoints',
      'two ports with names',
      subset({
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 2, appProtocol: 'http' },
        ],
      }),
    ],
    ['endpoints', 'nothing', { metadata }],
  ])('%s: %s', async (kind, _, object) => {
    const { code, message } = await on(kind).create(object);
    expect({ code, message }).toEqual({ code: 201, message: '' });
  });
});

const INGRESS = 'spec.rules[0].http.paths[0]';
describe('invalid', () => {
  test.each<[Kind, string, object, readonly string[]]>([
    ['policy', 'an empty peer', to({}), ['spec.egress[0].to[0]']],
    [
      'policy',
      'a block and a selector',
      to({ ipBlock: { cidr: '10.0.0.0/8' }, namespaceSelector: {} }),
      ['spec.egress[0].to[0]'],
    ],
    [
      'policy',
      'a block without range',
      to({ ipBlock: { cidr: '' } }),
      ['spec.egress[0].to[0].ipBlock.cidr'],
    ],
    [
      'policy',
      'a hole outside',
      from({ ipBlock: { cidr: '10.1.0.0/16', except: ['10.0.0.0/8'] } }),
      ['spec.ingress[0].from[0].ipBlock.except[0]'],
    ],
    [
      'policy',
      'a hole of the other family',
      from({ ipBlock: { cidr: 'fd00::/48', except: ['10.0.0.0/8'] } }),
      ['spec.ingress[0].from[0].ipBlock.except[0]'],
    ],
    [
      'policy',
      'a selector',
      from({ namespaceSelector: { matchLabels: { '!': 'x' } } }),
      ['spec.ingress[0].from[0].namespaceSelector.matchLabels'],
    ],
    [
      'policy',
      'an operator',
      policy({
        podSelector: { matchExpressions: [{ key: 'a', operator: 'Like', values: ['b'] }] },
      }),
      ['spec.podSelector.matchExpressions[0].operator'],
    ],
    ['policy', 'a port too large', ports({ port: 65_536 }), ['spec.ingress[0].ports[0].port']],
    [
      'policy',
      'an end too large',
      ports({ port: 65_534, endPort: 65_537 }),
      ['spec.ingress[0].ports[0].endPort'],
    ],
    [
      'policy',
      'a port’s name too long',
      ports({ port: 'much-too-long-for-it' }),
      ['spec.ingress[0].ports[0].port'],
    ],
    ['policy', 'another direction', policy({ policyTypes: ['Sideways'] }), ['spec.policyTypes[0]']],
    [
      'ingress',
      'a service’s name',
      backend({ name: 'Web', port: { number: 80 } }),
      ['spec.defaultBackend.service.name'],
    ],
    [
      'ingress',
      'a port’s name',
      backend({ name: 'web', port: { name: 'Not_A_Port' } }),
      ['spec.defaultBackend.service.port.name'],
    ],
    ['ingress', 'no port', backend({ name: 'web', port: {} }), ['spec.defaultBackend']],
    ['ingress', 'an upper-case host', host('Example.com'), ['spec.rules[0].host']],
    ['ingress', 'a star in the middle', host('a.*.com'), ['spec.rules[0].host']],
    ['ingress', 'a host with a port', host('example.com:80'), ['spec.rules[0].host']],
    ['ingress', 'only a star', host('*'), ['spec.rules[0].host']],
    [
      'ingress',
      'no path where it must be',
      path({ path: '', pathType: 'Exact' }),
      [`${INGRESS}.path`],
    ],
    ['ingress', 'a path that goes up', path({ path: '/a/../b' }), [`${INGRESS}.path`]],
    ['ingress', 'a path that stays', path({ path: '/a/./b' }), [`${INGRESS}.path`]],
    ['ingress', 'a path that ends there', path({ path: '/a/.' }), [`${INGRESS}.path`]],
    [
      'ingress',
      'an encoded slash',
      path({ path: '/a%2Fb', pathType: 'Exact' }),
      [`${INGRESS}.path`],
    ],
    [
      'ingress',
      'an own path that is relative',
      path({ path: 'a', pathType: 'ImplementationSpecific' }),
      [`${INGRESS}.path`],
    ],
    [
      'ingress',
      'both behind it',
      path({ backend: { service: web, resource: { kind: 'K', name: 'n' } } }),
      [`${INGRESS}.backend`],
    ],
    [
      'ingress',
      'a group',
      path({ backend: { resource: { apiGroup: 'UP', kind: 'K', name: 'n' } } }),
      [`${INGRESS}.backend.resource.apiGroup`],
    ],
    ['ingress', 'TLS for two stars', tls({ hosts: ['*.*.com'] }), ['spec.tls[0].hosts[0]']],
    ['slice', 'no type', slice({ addressType: '' }), ['addressType']],
    [
      'slice',
      'the unspecified address',
      endpoint({ addresses: ['0.0.0.0'] }),
      ['endpoints[0].addresses[0]'],
    ],
    [
      'slice',
      'a link-local address',
      endpoint({ addresses: ['169.254.1.1'] }),
      ['endpoints[0].addresses[0]'],
    ],
    [
      'slice',
      'a multicast address',
      endpoint({ addresses: ['224.0.0.5'] }),
      ['endpoints[0].addresses[0]'],
    ],
    ['slice', 'IPv6 in IPv4', endpoint({ addresses: ['fd00::1'] }), ['endpoints[0].addresses']],
    [
      'slice',
      'IPv6 in another form',
      slice({ addressType: 'IPv6', endpoints: [{ addresses: ['FD00::1'] }] }),
      ['endpoints[0].addresses[0]'],
    ],
    [
      'slice',
      'an address for a name',
      slice({ addressType: 'FQDN', endpoints: [{ addresses: ['A_b'] }] }),
      ['endpoints[0].addresses[0]'],
    ],
    ['slice', 'a host’s name with a dot', endpoint({ hostname: 'a.b' }), ['endpoints[0].hostname']],
    [
      'slice',
      'a zone',
      endpoint({ hints: { forZones: [{ name: 'a/b' }] } }),
      ['endpoints[0].hints.forZones[0].name'],
    ],
    [
      'slice',
      'a node',
      endpoint({ hints: { forNodes: [{ name: 'A' }] } }),
      ['endpoints[0].hints.forNodes[0].name'],
    ],
    ['slice', 'a port’s name', slice({ ports: [{ name: 'a'.repeat(64) }] }), ['ports[0].name']],
    [
      'slice',
      'one name twice',
      slice({ ports: [{ name: 'a' }, { name: 'a' }] }),
      ['ports[1].name'],
    ],
    [
      'address',
      'a name with zeros',
      address('010.0.0.1', { resource: 'services', name: 'web' }),
      ['metadata.name'],
    ],
    [
      'address',
      'an upper-case name',
      address('FD00::1', { resource: 'services', name: 'web' }),
      ['metadata.name'],
    ],
    ['address', 'no name', address('10.0.0.1', { resource: 'services' }), ['spec.parentRef.name']],
    [
      'address',
      'a group',
      address('10.0.0.1', { group: 'UP', resource: 'services', name: 'web' }),
      ['spec.parentRef.group'],
    ],
    [
      'address',
      'a dotted namespace',
      address('10.0.0.1', { resource: 'services', name: 'web', namespace: '..' }),
      ['spec.parentRef.namespace'],
    ],
    ['range', 'three', range('10.9.0.0/24', 'fd00::/112', '10.8.0.0/24'), ['spec.cidrs']],
    ['range', 'two of one family', range('fd00::/112', 'fd01::/112'), ['spec.cidrs']],
    ['range', 'an address', range('10.9.0.1'), ['spec.cidrs[0]']],
    ['class', 'a controller without a domain', controller('example'), ['spec.controller']],
    ['class', 'a controller’s domain', controller('EX/a'), ['spec.controller']],
    [
      'class',
      'a controller too long',
      controller(`example.com/${'a'.repeat(250)}`),
      ['spec.controller'],
    ],
    [
      'endpoints',
      'a link-local address',
      subset({ addresses: [{ ip: '169.254.0.1' }] }),
      ['subsets[0].addresses[0].ip'],
    ],
    [
      'endpoints',
      'a multicast address',
      subset({ addresses: [{ ip: '224.0.0.1' }] }),
      ['subsets[0].addresses[0].ip'],
    ],
    [
      'endpoints',
      'a port too large',
      subset({ ports: [{ port: 66_000 }] }),
      ['subsets[0].ports[0].port'],
    ],
    [
      'endpoints',
      'a protocol',
      subset({ ports: [{ port: 80, protocol: 'ICMP' }] }),
      ['subsets[0].ports[0].protocol'],
    ],
    [
      'endpoints',
      'a port’s name',
      subset({ ports: [{ port: 80, name: 'a_b' }] }),
      ['subsets[0].ports[0].name'],
    ],
    [
      'endpoints',
      'a node’s name',
      subset({ addresses: [{ ip: '10.0.0.1', nodeName: 'A' }] }),
      ['subsets[0].addresses[0].nodeName'],
    ],
  ])('%s: %s', async (kind, _, object, causes) => {
    const answer = await on(kind).create(object);
    expect({ code: answer.code, causes: answer.causes }).toEqual({ code: 422, causes });
  });
});

describe('with warnings', () => {
  const oddly = 'should be in RFC 5952 canonical format ("fd00::1")';
  test.each<[Kind, object, string]>([
    [
      'policy',
      from({ ipBlock: { cidr: 'FD00:1::/64' } }),
      'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "FD00:1::/64" should be in RFC ' +
        '5952 canonical format ("fd00:1::/64")',
    ],
    [
      'endpoints',
      subset({ addresses: [{ ip: 'fd00:0::1' }] }),
      `subsets[0].addresses[0].ip: IPv6 address "fd00:0::1" ${oddly}`,
    ],
  ])('%s', async (kind, object, warning) => {
    expect((await on(kind).create(object)).warnings).toContain(warning);
  });
});

test('topology is not accepted any more', async () => {
  const created = await on('slice').create(
    endpoint({ deprecatedTopology: { 'example.com/rack': 'a' }, zone: 'z' }),
  );
  expect((created.object as unknown as { endpoints: unknown }).endpoints).toEqual([
    { addresses: ['10.0.0.1'], conditions: {}, zone: 'z' },
  ]);
});

test('labels change the generation of a slice', async () => {
  await on('slice').create(slice({}));
  expect(
    (await on('slice').patch('it', { metadata: { labels: { a: 'b' } } })).object.metadata
      .generation,
  ).toBe(2);
  expect(
    (await on('slice').patch('it', { metadata: { annotations: { a: 'b' } } })).object.metadata
      .generation,
  ).toBe(2);
});

test('the status of a range is written separately', async () => {
  const conditions = [
    {
      type: 'Ready',
      status: 'True',
      reason: 'R',
      message: 'm',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ];
  const created = await on('range').create({ ...range('10.9.0.0/24'), status: { conditions } });
  expect(created.object.status).toEqual({});
  expect((await on('range').patch('it', { status: { conditions } })).object.status).toEqual({});
  expect((await on('range').patch('it/status', { status: { conditions } })).object.status).toEqual({
    conditions,
  });
});
