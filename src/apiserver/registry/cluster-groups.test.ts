// The kinds of the groups rbac, networking, discovery, policy, scheduling and node, through the
// server: defaults, validation, immutability, and tables.

import { describe, expect, test } from 'vitest';
import { requestsOf, type ResourceRequests } from '../testing/workloads.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const t = serverPerTest();

const RBAC = 'rbac.authorization.k8s.io';
const PATHS = {
  role: `/apis/${RBAC}/v1/namespaces/default/roles`,
  clusterRole: `/apis/${RBAC}/v1/clusterroles`,
  roleBinding: `/apis/${RBAC}/v1/namespaces/default/rolebindings`,
  clusterRoleBinding: `/apis/${RBAC}/v1/clusterrolebindings`,
  networkPolicy: '/apis/networking.k8s.io/v1/namespaces/default/networkpolicies',
  ingress: '/apis/networking.k8s.io/v1/namespaces/default/ingresses',
  ingressClass: '/apis/networking.k8s.io/v1/ingressclasses',
  ipAddress: '/apis/networking.k8s.io/v1/ipaddresses',
  serviceCidr: '/apis/networking.k8s.io/v1/servicecidrs',
  endpointSlice: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
  endpoints: '/api/v1/namespaces/default/endpoints',
  budget: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
  priorityClass: '/apis/scheduling.k8s.io/v1/priorityclasses',
  runtimeClass: '/apis/node.k8s.io/v1/runtimeclasses',
} as const;
type Kind = keyof typeof PATHS;
const on = (kind: Kind): ResourceRequests => requestsOf(t, PATHS[kind]);

const metadata = { name: 'it' };
const subjects = [
  { kind: 'User', name: 'jane' },
  { kind: 'Group', name: 'devs' },
  { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
];
const path = {
  path: '/',
  pathType: 'Prefix',
  backend: { service: { name: 'web', port: { number: 80 } } },
};
const good: Readonly<Record<Kind, Readonly<Record<string, unknown>>>> = {
  role: { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
  clusterRole: { rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }] },
  roleBinding: { roleRef: { kind: 'Role', name: 'it' }, subjects },
  clusterRoleBinding: { roleRef: { kind: 'ClusterRole', name: 'it' }, subjects },
  networkPolicy: {
    spec: {
      podSelector: {},
      ingress: [
        {
          ports: [{ port: 80 }],
          from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } }],
        },
      ],
    },
  },
  ingress: { spec: { rules: [{ host: 'example.com', http: { paths: [path] } }] } },
  ingressClass: {
    spec: { controller: 'example.com/it', parameters: { kind: 'Settings', name: 'x' } },
  },
  ipAddress: {
    metadata: { name: '10.96.0.9' },
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
  },
  serviceCidr: { spec: { cidrs: ['10.200.0.0/24'] } },
  endpointSlice: {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'] }],
    ports: [{ port: 80 }],
  },
  endpoints: { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }] },
  budget: { spec: { minAvailable: '50%', selector: { matchLabels: { app: 'web' } } } },
  priorityClass: { value: 1000 },
  runtimeClass: { handler: 'runc' },
};
const make = (kind: Kind, more: object = {}) => ({ metadata, ...good[kind], ...more });

describe('valid objects', () => {
  test.each(Object.keys(good) as Kind[])(
    'a %s is made, found, listed, changed and deleted',
    async (kind) => {
      const { metadata: { name } = metadata } = make(kind) as { metadata?: { name: string } };
      const created = await on(kind).create(make(kind));
      expect([created.code, created.message]).toEqual([201, '']);
      expect((await on(kind).get(name)).code).toBe(200);
      expect(await on(kind).list('')).toContain(name);
      expect(
        (await on(kind).patch(name, { metadata: { labels: { a: 'b' } } })).object.metadata.labels,
      ).toEqual({
        a: 'b',
      });
      expect((await on(kind).put(name, (await on(kind).get(name)).object)).code).toBe(200);
      expect((await on(kind).delete(name)).code).toBe(200);
      expect((await on(kind).get(name)).code).toBe(404);
    },
  );
});

describe('defaults', () => {
  test.each<[Kind, object]>([
    [
      'roleBinding',
      { roleRef: { apiGroup: RBAC }, subjects: [{ apiGroup: RBAC }, { apiGroup: RBAC }, {}] },
    ],
    [
      'networkPolicy',
      { spec: { policyTypes: ['Ingress'], ingress: [{ ports: [{ protocol: 'TCP' }] }] } },
    ],
    ['ingress', { status: { loadBalancer: {} } }],
    ['ingressClass', { spec: { parameters: { scope: 'Cluster' } } }],
    ['endpointSlice', { ports: [{ name: '', protocol: 'TCP' }] }],
    ['endpoints', { subsets: [{ ports: [{ protocol: 'TCP' }] }] }],
    ['priorityClass', { preemptionPolicy: 'PreemptLowerPriority' }],
    ['budget', { status: { disruptionsAllowed: 0, currentHealthy: 0 } }],
  ])('%s', async (kind, expected) => {
    expect((await on(kind).create(make(kind))).object).toMatchObject(expected);
  });

  test('both directions of a policy with rules for both', async () => {
    const { object } = await on('networkPolicy').create(
      make('networkPolicy', { spec: { podSelector: {}, egress: [{}] } }),
    );
    expect(object.spec['policyTypes']).toEqual(['Ingress', 'Egress']);
  });

  test('endpoints are stored as written', async () => {
    const address = (ip: string) => ({ ip });
    const ports = [{ port: 80 }];
    const { object } = await on('endpoints').create({
      metadata,
      subsets: [
        { addresses: [address('10.0.0.2')], ports },
        {
          addresses: [address('10.0.0.1'), address('10.0.0.2')],
          notReadyAddresses: [address('10.0.0.3')],
          ports,
        },
      ],
    });
    expect((object as unknown as { subsets: unknown }).subsets).toEqual([
      { addresses: [address('10.0.0.2')], ports: [{ port: 80, protocol: 'TCP' }] },
      {
        addresses: [address('10.0.0.1'), address('10.0.0.2')],
        notReadyAddresses: [address('10.0.0.3')],
        ports: [{ port: 80, protocol: 'TCP' }],
      },
    ]);
  });
});

const rule = (more: object) => ({ rules: [more] });
const policy = (from: object) => ({ spec: { podSelector: {}, ingress: [{ from: [from] }] } });
const policyPort = (port: object) => ({ spec: { podSelector: {}, ingress: [{ ports: [port] }] } });
const route = (more: object, host?: string) => ({
  spec: { rules: [{ ...(host && { host }), http: { paths: [{ ...path, ...more }] } }] },
});
const endpoint = (more: object) => ({ endpoints: [{ addresses: ['10.0.0.1'], ...more }] });
const many = (count: number, item: object) => Array.from({ length: count }, () => item);

describe('invalid objects', () => {
  test.each<[Kind, object, readonly string[]]>([
    ['role', rule({ verbs: [] }), ['rules[0].verbs', 'rules[0].apiGroups', 'rules[0].resources']],
    ['role', rule({ verbs: ['get'], nonResourceURLs: ['/x'] }), ['rules[0].nonResourceURLs']],
    ['role', { metadata: { name: 'a/b' }, ...good.role }, ['metadata.name']],
    [
      'clusterRole',
      rule({ verbs: ['get'], nonResourceURLs: ['/x'], resources: ['pods'] }),
      ['rules[0].nonResourceURLs'],
    ],
    ['clusterRole', { aggregationRule: {} }, ['aggregationRule.clusterRoleSelectors']],
    [
      'clusterRole',
      { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { '!': '' } }] } },
      [
        'aggregationRule.clusterRoleSelectors[0].matchLabels',
        'aggregationRule.clusterRoleSelectors[0]',
      ],
    ],
    ['roleBinding', { roleRef: { kind: 'Rule', name: '' } }, ['roleRef.kind', 'roleRef.name']],
    [
      'roleBinding',
      { roleRef: { kind: 'Role', name: 'a/b', apiGroup: 'x' } },
      ['roleRef.apiGroup', 'roleRef.name'],
    ],
    [
      'roleBinding',
      { subjects: [{ kind: 'User', name: '', apiGroup: 'x' }] },
      ['subjects[0].name', 'subjects[0].apiGroup'],
    ],
    ['roleBinding', { subjects: [{ kind: 'Robot', name: 'x' }] }, ['subjects[0].kind']],
    ['clusterRoleBinding', { roleRef: { kind: 'Role', name: 'it' } }, ['roleRef.kind']],
    [
      'clusterRoleBinding',
      { subjects: [{ kind: 'ServiceAccount', name: 'A', apiGroup: 'x' }] },
      ['subjects[0].name', 'subjects[0].apiGroup', 'subjects[0].namespace'],
    ],
    ['networkPolicy', policy({}), ['spec.ingress[0].from[0]']],
    [
      'networkPolicy',
      policy({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
      ['spec.ingress[0].from[0]'],
    ],
    [
      'networkPolicy',
      policy({ ipBlock: { cidr: '10.0.0.0' } }),
      ['spec.ingress[0].from[0].ipBlock.cidr'],
    ],
    ['networkPolicy', policy({ ipBlock: { cidr: '' } }), ['spec.ingress[0].from[0].ipBlock.cidr']],
    [
      'networkPolicy',
      policy({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8', '11.0.0.0/16', 'x'] } }),
      [0, 1, 2].map((i) => `spec.ingress[0].from[0].ipBlock.except[${i}]`),
    ],
    ['networkPolicy', policyPort({ port: 0 }), ['spec.ingress[0].ports[0].port']],
    ['networkPolicy', policyPort({ port: 'a_b' }), ['spec.ingress[0].ports[0].port']],
    ['networkPolicy', policyPort({ protocol: 'ICMP' }), ['spec.ingress[0].ports[0].protocol']],
    ['networkPolicy', policyPort({ port: 90, endPort: 80 }), ['spec.ingress[0].ports[0].endPort']],
    ['networkPolicy', policyPort({ endPort: 80 }), ['spec.ingress[0].ports[0].endPort']],
    [
      'networkPolicy',
      policyPort({ port: 'web', endPort: 80 }),
      ['spec.ingress[0].ports[0].endPort'],
    ],
    [
      'networkPolicy',
      { spec: { podSelector: { matchLabels: { '!': '' } }, policyTypes: ['Both'] } },
      ['spec.podSelector.matchLabels', 'spec.policyTypes[0]'],
    ],
    [
      'networkPolicy',
      { spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress', 'Ingress'] } },
      ['spec.policyTypes'],
    ],
    ['ingress', { spec: {} }, ['spec']],
    ['ingress', route({}, '10.0.0.1'), ['spec.rules[0].host']],
    ['ingress', route({}, '*.*.com'), ['spec.rules[0].host']],
    ['ingress', { spec: { rules: [{ http: { paths: [] } }] } }, ['spec.rules[0].http.paths']],
    ['ingress', route({ pathType: '' }), ['spec.rules[0].http.paths[0].pathType']],
    ['ingress', route({ pathType: 'Regex' }), ['spec.rules[0].http.paths[0].pathType']],
    ['ingress', route({ path: 'x' }), ['spec.rules[0].http.paths[0].path']],
    [
      'ingress',
      route({ path: '/a//b/..' }),
      many(2, {}).map(() => 'spec.rules[0].http.paths[0].path'),
    ],
    ['ingress', route({ path: '/%2fa' }), ['spec.rules[0].http.paths[0].path']],
    ['ingress', route({ backend: {} }), ['spec.rules[0].http.paths[0].backend']],
    [
      'ingress',
      route({ backend: { service: { name: '', port: {} } } }),
      ['spec.rules[0].http.paths[0].backend.service.name', 'spec.rules[0].http.paths[0].backend'],
    ],
    [
      'ingress',
      route({ backend: { service: { name: 'web', port: { name: 'http', number: 80 } } } }),
      ['spec.rules[0].http.paths[0].backend'],
    ],
    [
      'ingress',
      route({ backend: { service: { name: 'web', port: { number: 99999 } } } }),
      ['spec.rules[0].http.paths[0].backend.service.port.number'],
    ],
    [
      'ingress',
      route({ backend: { resource: { kind: '', name: '' } } }),
      [
        'spec.rules[0].http.paths[0].backend.resource.kind',
        'spec.rules[0].http.paths[0].backend.resource.name',
      ],
    ],
    [
      'ingress',
      {
        spec: {
          defaultBackend: path.backend,
          ingressClassName: 'A',
          tls: [{ hosts: ['UP'], secretName: 'Up' }],
        },
      },
      ['spec.tls[0].hosts[0]', 'spec.tls[0].secretName', 'spec.ingressClassName'],
    ],
    [
      'ingress',
      {
        metadata: { name: 'it', annotations: { 'kubernetes.io/ingress.class': 'a' } },
        spec: { defaultBackend: path.backend, ingressClassName: 'b' },
      },
      ['annotations.kubernetes.io/ingress.class'],
    ],
    ['ingressClass', { spec: { controller: '' } }, ['spec.controller']],
    ['ingressClass', { spec: { controller: 'nginx' } }, ['spec.controller']],
    [
      'ingressClass',
      { spec: { controller: 'a.io/b', parameters: { kind: '', name: '', scope: 'Galaxy' } } },
      ['spec.parameters.kind', 'spec.parameters.name', 'spec.parameters.scope'],
    ],
    [
      'ingressClass',
      { spec: { controller: 'a.io/b', parameters: { kind: 'K', name: 'n', scope: 'Namespace' } } },
      ['spec.parameters.namespace'],
    ],
    [
      'ingressClass',
      { spec: { controller: 'a.io/b', parameters: { kind: 'K', name: 'n', namespace: 'x' } } },
      ['spec.parameters.namespace'],
    ],
    ['ipAddress', { metadata: { name: '::01' } }, ['metadata.name']],
    ['ipAddress', { metadata: { name: 'one' } }, ['metadata.name']],
    ['ipAddress', { metadata: { name: '10.0.0.1' }, spec: {} }, ['spec.parentRef']],
    [
      'ipAddress',
      { metadata: { name: '10.0.0.1' }, spec: { parentRef: { name: 'a/b' } } },
      ['spec.parentRef.resource', 'spec.parentRef.name'],
    ],
    ['serviceCidr', { spec: {} }, ['spec.cidrs']],
    ['serviceCidr', { spec: { cidrs: ['10.0.0.0/8', '11.0.0.0/8'] } }, ['spec.cidrs']],
    ['serviceCidr', { spec: { cidrs: ['ten'] } }, ['spec.cidrs[0]']],
    ['endpointSlice', { addressType: 'IPX' }, ['addressType']],
    ['endpointSlice', { addressType: 'IPv6' }, ['endpoints[0].addresses']],
    ['endpointSlice', endpoint({ addresses: [] }), ['endpoints[0].addresses']],
    [
      'endpointSlice',
      endpoint({ addresses: ['127.0.0.1', 'x'] }),
      ['endpoints[0].addresses[0]', 'endpoints[0].addresses[1]'],
    ],
    [
      'endpointSlice',
      endpoint({ addresses: Array.from({ length: 101 }, (_, i) => `10.0.0.${i}`) }),
      ['endpoints[0].addresses'],
    ],
    ['endpointSlice', { endpoints: many(1001, { addresses: ['10.0.0.1'] }) }, ['endpoints']],
    [
      'endpointSlice',
      endpoint({ hostname: 'A', nodeName: 'B!' }),
      ['endpoints[0].nodeName', 'endpoints[0].hostname'],
    ],
    [
      'endpointSlice',
      endpoint({ hints: { forZones: [{ name: 'a' }, { name: 'a' }] } }),
      ['endpoints[0].hints.forZones[1].name'],
    ],
    [
      'endpointSlice',
      endpoint({ hints: { forZones: many(9, { name: 'a' }) } }),
      ['endpoints[0].hints.forZones'],
    ],
    [
      'endpointSlice',
      {
        ports: [
          { port: 0, name: 'UP' },
          { port: 80, protocol: 'X', appProtocol: '!' },
        ],
      },
      ['ports[0].name', 'ports[1].protocol', 'ports[1].appProtocol'],
    ],
    ['endpointSlice', { ports: [{ port: 80 }, { port: 81 }] }, ['ports[1].name']],
    ['endpoints', { subsets: [{}] }, ['subsets[0]']],
    [
      'endpoints',
      { subsets: [{ addresses: [{ ip: 'x' }], ports: [{ port: 0 }] }] },
      ['subsets[0].addresses[0].ip', 'subsets[0].addresses[0].ip', 'subsets[0].ports[0].port'],
    ],
    [
      'endpoints',
      {
        subsets: [
          {
            addresses: [{ ip: '127.0.0.1', hostname: 'UP' }],
            ports: [{ port: 80 }, { port: 81, name: 'b', protocol: 'X' }],
          },
        ],
      },
      [
        'subsets[0].addresses[0].hostname',
        'subsets[0].addresses[0].ip',
        'subsets[0].ports[0].name',
        'subsets[0].ports[1].protocol',
      ],
    ],
    ['budget', { spec: { minAvailable: 1, maxUnavailable: 1 } }, ['spec']],
    ['budget', { spec: { minAvailable: -1 } }, ['spec.minAvailable']],
    ['budget', { spec: { maxUnavailable: '101%' } }, ['spec.maxUnavailable']],
    ['budget', { spec: { maxUnavailable: 'all' } }, ['spec.maxUnavailable']],
    [
      'budget',
      { spec: { selector: { matchLabels: { '!': '' } }, unhealthyPodEvictionPolicy: 'Maybe' } },
      ['spec.selector.matchLabels', 'spec.unhealthyPodEvictionPolicy'],
    ],
    ['priorityClass', { value: 1_000_000_001 }, ['value']],
    ['priorityClass', { metadata: { name: 'system-mine' } }, ['metadata.name']],
    ['priorityClass', { metadata: { name: 'system-node-critical' } }, ['metadata.name']],
    ['priorityClass', { preemptionPolicy: 'Maybe' }, ['preemptionPolicy']],
    ['runtimeClass', { handler: 'Up' }, ['handler']],
    ['runtimeClass', { overhead: { podFixed: { cpu: '-1' } } }, ['overhead.limits[cpu]']],
    [
      'runtimeClass',
      {
        scheduling: {
          nodeSelector: { '!': '' },
          tolerations: [
            { key: 'a', operator: 'Exists' },
            { key: 'a', operator: 'Exists' },
          ],
        },
      },
      ['scheduling.nodeSelector', 'scheduling.tolerations[1]'],
    ],
  ])('%s %j', async (kind, more, causes) => {
    const answer = await on(kind).create(make(kind, more));
    expect({ code: answer.code, causes: answer.causes }).toEqual({ code: 422, causes });
  });
});

describe('immutable fields', () => {
  test.each<[Kind, object, readonly string[]]>([
    ['roleBinding', { roleRef: { name: 'other' } }, ['roleRef']],
    ['clusterRoleBinding', { roleRef: { name: 'other' } }, ['roleRef']],
    ['ingressClass', { spec: { controller: 'example.com/other' } }, ['spec.controller']],
    ['ipAddress', { spec: { parentRef: { name: 'other' } } }, ['spec.parentRef']],
    ['serviceCidr', { spec: { cidrs: ['10.201.0.0/24'] } }, ['spec.cidrs[0]']],
    [
      'endpointSlice',
      { addressType: 'FQDN', endpoints: [{ addresses: ['a.b'] }] },
      ['addressType'],
    ],
    ['priorityClass', { value: 5, preemptionPolicy: 'Never' }, ['value', 'preemptionPolicy']],
    ['runtimeClass', { handler: 'other' }, ['handler']],
  ])('%s %j', async (kind, patch, causes) => {
    const { metadata: made = metadata } = make(kind) as { metadata?: { name: string } };
    await on(kind).create(make(kind));
    const answer = await on(kind).patch(made.name, patch);
    expect({ code: answer.code, causes: answer.causes }).toEqual({ code: 422, causes });
  });
});

describe('tables', () => {
  test.each<[Kind, readonly unknown[]]>([
    ['role', ['it', expect.stringMatching(/^\d{4}-/)]],
    ['roleBinding', ['it', 'Role/it', '0s', 'jane', 'devs', 'default/robot']],
    ['clusterRoleBinding', ['it', 'ClusterRole/it', '0s', 'jane', 'devs', 'default/robot']],
    ['networkPolicy', ['it', '<none>', '0s']],
    ['ingress', ['it', '<none>', 'example.com', '', '80', '0s']],
    ['ingressClass', ['it', 'example.com/it', 'Settings/x', '0s']],
    ['ipAddress', ['10.96.0.9', 'services/default/web']],
    ['serviceCidr', ['it', '10.200.0.0/24', '0s']],
    ['endpointSlice', ['it', 'IPv4', '80', '10.0.0.1', '0s']],
    ['endpoints', ['it', '10.0.0.1:80', '0s']],
    ['budget', ['it', '50%', 'N/A', 0, '0s']],
    ['priorityClass', ['it', 1000, false, '0s', 'PreemptLowerPriority']],
    ['runtimeClass', ['it', 'runc', '0s']],
  ])('%s', async (kind, cells) => {
    await on(kind).create(make(kind));
    expect((await on(kind).table()).rows).toContainEqual(cells);
  });
});

describe('warnings and statuses', () => {
  test('endpoints are deprecated for every verb', async () => {
    const deprecated =
      'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice';
    expect((await on('endpoints').create(make('endpoints'))).warnings).toEqual([deprecated]);
    expect((await on('endpoints').get('it')).warnings).toEqual([deprecated]);
  });

  test('a slice of names causes a warning when it is created', async () => {
    const addressed = { addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }] };
    const { warnings, object } = await on('endpointSlice').create(make('endpointSlice', addressed));
    expect(warnings).toEqual(['spec.addressType: FQDN endpoints are deprecated']);
    expect((await on('endpointSlice').put('it', object)).warnings).toEqual([]);
  });

  test('an ingress with the class annotation causes a warning', async () => {
    const annotations = { 'kubernetes.io/ingress.class': 'a' };
    const { warnings } = await on('ingress').create(
      make('ingress', { metadata: { name: 'it', annotations } }),
    );
    expect(warnings).toEqual([
      `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
    ]);
  });

  test('statuses are written separately', async () => {
    await on('ingress').create(make('ingress'));
    const wrong = await on('ingress').patch('it/status', {
      status: { loadBalancer: { ingress: [{ ip: 'x', hostname: '10.0.0.1' }] } },
    });
    expect(wrong.causes).toEqual(
      ['ip', 'hostname'].map((name) => `status.loadBalancer.ingress[0].${name}`),
    );
    const { object } = await on('ingress').patch('it/status', {
      spec: {},
      status: { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
    });
    expect([object.status, object.metadata.generation]).toEqual([
      { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } },
      1,
    ]);
    await on('budget').create(make('budget'));
    const negative = await on('budget').patch('it/status', { status: { currentHealthy: -1 } });
    expect(negative.causes).toEqual(['status.currentHealthy']);
  });

  test('ranges and addresses can be selected and widened', async () => {
    await on('ipAddress').create(make('ipAddress'));
    expect(await on('ipAddress').list('fieldSelector=metadata.name%3D10.96.0.9')).toEqual([
      '10.96.0.9',
    ]);
    await on('serviceCidr').create(make('serviceCidr'));
    const widened = await on('serviceCidr').patch('it', {
      spec: { cidrs: ['10.200.0.0/24', 'fd00::/112'] },
    });
    expect(widened.code).toBe(200);
  });
});
