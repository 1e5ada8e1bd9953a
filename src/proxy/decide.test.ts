import { isIPv4 } from 'node:net';
import { describe, expect, test } from 'vitest';
import { usableIPv4 } from '#client/endpoints/index.ts';
import { isGlobalUnicast } from '#machinery/net/ip.ts';
import { decide, decideService } from './decide.ts';
import type { PortRules, Service, ServiceRules } from './model.ts';
import { NODE, service, slice } from './testing/objects.ts';

const decided = (given: Service, endpoints: readonly string[] = []): ServiceRules => {
  const rules = decideService(given, endpoints.length === 0 ? [] : [slice(endpoints)], NODE);
  if (rules === undefined) throw new Error('no rules');
  return rules;
};
const portOf = (given: Service, endpoints: readonly string[] = []): PortRules =>
  decided(given, endpoints).ports[0]!;
const ips = (targets: PortRules['cluster']): string =>
  targets.map(({ ip }) => ip.replace('10.0.0.', '')).join(' ');
/** Returns 'internal external: cluster targets | local targets'. */
const summary = (rules: PortRules): string =>
  `${rules.internal} ${rules.external}: ${ips(rules.cluster)} | ${ips(rules.local)}`;

const nodePort = (spec: Partial<Service['spec']> = {}): Service =>
  service({ type: 'NodePort', ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }], ...spec });
const LOCAL = { externalTrafficPolicy: 'Local' } as const;
const INTERNAL_LOCAL = { internalTrafficPolicy: 'Local' } as const;

test.each<[string, Service, string[], string]>([
  [
    'ready ones',
    service(),
    ['10.0.0.1', '10.0.0.2 unready', '10.0.0.3 here'],
    'cluster cluster: 1 3 | ',
  ],
  ['none at all', service(), [], 'reject reject:  | '],
  ['none ready', service(), ['10.0.0.1 unready'], 'reject reject:  | '],
  [
    'terminating ones as the last resort',
    service(),
    ['10.0.0.1 going', '10.0.0.2 gone'],
    'cluster cluster: 1 | ',
  ],
  ['but not beside ready ones', service(), ['10.0.0.1 going', '10.0.0.2'], 'cluster cluster: 2 | '],
  [
    'internal policy',
    service(INTERNAL_LOCAL),
    ['10.0.0.1 here', '10.0.0.2'],
    'local cluster:  | 1',
  ],
  ['internal policy, none here', service(INTERNAL_LOCAL), ['10.0.0.2'], 'drop cluster:  | '],
  ['external policy', nodePort(LOCAL), ['10.0.0.1 here', '10.0.0.2'], 'cluster local: 1 2 | 1'],
  ['external policy, none here', nodePort(LOCAL), ['10.0.0.2'], 'cluster drop: 2 | '],
  [
    'external policy, the last one here goes',
    nodePort(LOCAL),
    ['10.0.0.1 here going', '10.0.0.2'],
    'cluster local: 2 | 1',
  ],
  [
    'external policy without anything external',
    service(LOCAL),
    ['10.0.0.2'],
    'cluster cluster: 2 | ',
  ],
  [
    'both policies',
    nodePort({ ...LOCAL, ...INTERNAL_LOCAL }),
    ['10.0.0.1 here', '10.0.0.2'],
    'local local: 1 2 | 1',
  ],
  [
    'hints for a zone',
    service(),
    ['10.0.0.1 zone=east', '10.0.0.2 zone=west'],
    'cluster cluster: 1 | ',
  ],
  ['hints, one missing', service(), ['10.0.0.1 zone=east', '10.0.0.2'], 'cluster cluster: 1 2 | '],
  [
    'hints, none for here',
    service(),
    ['10.0.0.1 zone=west', '10.0.0.2 zone=south'],
    'cluster cluster: 1 2 | ',
  ],
  [
    'hints of those that are not ready',
    service(),
    ['10.0.0.1 zone=east', '10.0.0.2 unready'],
    'cluster cluster: 1 | ',
  ],
  [
    'hints for a node go first',
    service(),
    ['10.0.0.1 zone=east node=there', '10.0.0.2 zone=west node=here'],
    'cluster cluster: 2 | ',
  ],
  [
    'hints for other nodes leave those for the zone',
    service(),
    ['10.0.0.1 zone=east node=there', '10.0.0.2 zone=west node=there'],
    'cluster cluster: 1 | ',
  ],
  [
    'hints do not count for the Local policy',
    nodePort(LOCAL),
    ['10.0.0.1 here zone=west', '10.0.0.2 zone=east'],
    'cluster local: 2 | 1',
  ],
])('endpoints: %s', (_, given, endpoints, expected) => {
  expect(summary(portOf(given, endpoints))).toBe(expected);
});

test('a dual-stack service has rules in both families, with the endpoints of each', () => {
  const dual = service({ clusterIPs: ['10.96.0.10', 'fd00:10:96::A'] });
  const slices = [
    slice(['10.0.0.1']),
    slice(['fd00::0:8'], { name: 'six' }),
    slice(['fd00::9'], { name: 'other', of: 'other' }),
  ];
  const rules = decide([dual], slices, NODE).get('default/web');
  expect(rules?.ports.map(({ id, clusterIP, cluster }) => [id, clusterIP, cluster[0]?.ip])).toEqual(
    [
      ['default/web//tcp/IPv4', '10.96.0.10', '10.0.0.1'],
      ['default/web//tcp/IPv6', 'fd00:10:96::a', 'fd00::8'],
    ],
  );
});

test('an endpoint in two slices counts once, in its non-terminating form', () => {
  const rules = decideService(
    service(),
    [slice(['10.0.0.1']), slice(['10.0.0.1 going'], { name: 'b' })],
    NODE,
  );
  expect(rules?.ports[0]?.cluster).toEqual([{ ip: '10.0.0.1', port: 8080, local: false }]);
});

test('ports are matched by name and protocol', () => {
  const spec = {
    ports: ['TCP', 'UDP', 'SCTP'].map((protocol) => ({
      name: 'dns',
      protocol,
      port: 53,
      targetPort: 53,
    })),
  };
  const ports = [
    { name: 'dns', protocol: 'UDP', port: 5353 },
    { name: 'dns', protocol: 'SCTP', port: 5454 },
    { name: 'web', protocol: 'TCP', port: 80 },
  ] as const;
  const rules = decideService(service(spec as never), [slice(['10.0.0.1'], { ports })], NODE);
  expect(rules?.ports.map(({ protocol, cluster }) => [protocol, cluster[0]?.port])).toEqual([
    ['tcp', undefined],
    ['udp', 5353],
    ['sctp', 5454],
  ]);
});

test.each<[string, Partial<Service['spec']>]>([
  ['headless', { clusterIP: 'None', clusterIPs: ['None'] }],
  ['ExternalName', { type: 'ExternalName' }],
  ['no cluster IP yet', { clusterIP: '', clusterIPs: [] }],
])('no rules for a service that is %s', (_, spec) => {
  expect(decideService(service(spec), [], NODE)).toBeUndefined();
});

test('a service for another proxy has no rules', () => {
  const given = service();
  const labels = { 'service.kubernetes.io/service-proxy-name': 'other' };
  expect(
    decideService({ ...given, metadata: { ...given.metadata, labels } }, [], NODE),
  ).toBeUndefined();
});

test('addresses of load balancers, source ranges, affinity and health checks', () => {
  const spec = {
    type: 'LoadBalancer',
    ...LOCAL,
    healthCheckNodePort: 32000,
    loadBalancerSourceRanges: ['203.0.113.7/24 ', '192.168.0.0/16', 'fd00::/8'],
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
  } as const;
  const rules = decided(service(spec, 'web', ['198.51.100.9', 'fd00::77']), [
    '10.0.0.1 here',
    '10.0.0.2 here',
    '10.0.0.3',
  ]);
  expect([rules.healthCheckNodePort, rules.localReady]).toEqual([32000, 2]);
  expect(rules.ports[0]).toMatchObject({
    loadBalancerIPs: ['198.51.100.9'],
    // The node's address is in one of the ranges, and the node reaches the address with that
    // address as its source.
    sourceRanges: ['192.168.0.0/16', '198.51.100.9/32', '203.0.113.0/24'],
    affinitySeconds: 10,
  });
  const open = service(
    { ...spec, loadBalancerSourceRanges: ['203.0.113.0/24', '0.0.0.0/0'] },
    'web',
    ['198.51.100.9'],
  );
  expect(portOf(open).sourceRanges).toEqual([]);
});

describe('bad input', () => {
  test('endpoints with addresses of the node itself are left out', () => {
    const { ports, problems } = decided(service(), [
      '127.0.0.1',
      '169.254.169.254',
      '224.0.0.1',
      '0.0.0.0',
      '10.0.0.1',
      'x',
    ]);
    expect(ports[0]?.cluster.map(({ ip }) => ip)).toEqual(['10.0.0.1']);
    expect(problems).toHaveLength(5);
    expect(problems[1]).toBe(
      'endpoint "127.0.0.1" in EndpointSlice web-1 is no address that a service may lead to',
    );
  });

  test('IPv6 addresses that embed such addresses are left out, too', () => {
    const v6 = service({ clusterIP: 'fd00:10:96::a', clusterIPs: ['fd00:10:96::a'] });
    const list = ['fe80::1', '::1', '::ffff:127.0.0.1', '64:ff9b::a9fe:a9fe', 'fd00::8'];
    expect(portOf(v6, list).cluster.map(({ ip }) => ip)).toEqual(['fd00::8']);
  });

  test.each([
    '10.0.0.1',
    '0.1.2.3',
    '127.1.2.3',
    '169.254.1.1',
    '169.25.4.1',
    '224.0.0.1',
    '239.1.1.1',
    '240.0.0.1',
    '255.255.255.255',
    '255.0.0.1',
    '1.2.3',
    '::1',
    '01.2.3.4',
  ])('the quick check of %s agrees with the general one', (text) => {
    expect(usableIPv4(text)).toBe(isIPv4(text) && isGlobalUnicast(text) ? text : undefined);
  });

  test('external addresses that other programs trust, or that the node uses, are left out', () => {
    const spec = {
      externalIPs: ['127.0.0.1', '169.254.169.254', '192.168.0.1', '203.0.113.9', 'x', 'fd00::1'],
      ports: [80, 10250].map((port) => ({ name: `p${port}`, port, targetPort: 8080 })),
    };
    const { ports, problems } = decided(service(spec));
    expect(ports.map(({ externalIPs }) => externalIPs)).toEqual([
      ['192.168.0.1', '203.0.113.9'],
      ['203.0.113.9'],
    ]);
    expect(problems).toContain(
      "port tcp/10250 at the node's address 192.168.0.1 belongs to the node itself",
    );
    expect(problems).toHaveLength(4);
  });

  test('ports without a usable number, and invalid source ranges', () => {
    const ports = [
      { name: '', protocol: 'TCP' },
      { name: '', port: 70000, protocol: 'TCP' },
      { name: 'x', port: 1, protocol: 'ICMP' },
    ];
    const rules = decideService(
      service({ loadBalancerSourceRanges: ['10.0.0.0/33'] }),
      [slice(['10.0.0.1'], { ports: ports as never })],
      NODE,
    );
    expect(rules?.ports[0]?.cluster).toEqual([]);
    expect(rules?.problems).toEqual([
      'port "" in EndpointSlice web-1 has no usable number',
      'port "x" in EndpointSlice web-1 has no usable number',
      'source range "10.0.0.0/33" is no range',
    ]);
  });

  test('a service with too many endpoints uses a bounded number of them', () => {
    const slices = Array.from({ length: 11 }, (_, s) =>
      slice(
        Array.from({ length: 1000 }, (_unused, i) => `10.${s}.${i >> 8}.${i & 255}`),
        { name: `web-${s}` },
      ),
    );
    const rules = decideService(service(), slices, NODE);
    // The addresses 10.0.0.0 to 10.10.3.231, all of them usable.
    expect(rules?.ports[0]?.cluster).toHaveLength(10_000);
    expect(rules?.problems).toEqual(['port "" has more than 10000 endpoints']);
  });
});
