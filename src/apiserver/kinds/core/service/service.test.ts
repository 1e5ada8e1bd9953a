// Services through the API: families, addresses and ports, also when a service changes or is
// deleted.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { indent } from '#api/testing/manifest.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import type { RawResponse } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';

const PATH = '/api/v1/namespaces/default/services';
const INVALID = (name: string, problem: string): string =>
  `422 Invalid: Service "${name}" is invalid: ${problem}`;

let t: TestServer;
let api: Api;
async function start(config: Parameters<typeof startTestServer>[0] = {}): Promise<void> {
  t = await startTestServer({ serviceCidr: '10.0.0.0/24', ...config });
  api = new Api(t);
}
beforeEach(() => start());
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const manifest = (name: string, spec: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec:\n${indent(spec)}`;
const create = (name: string, spec: string, query = ''): Promise<RawResponse> =>
  api.post(`${PATH}${query}`, manifest(name, spec));
const specOf = (response: RawResponse): Readonly<Record<string, unknown>> => {
  expect(outcome(response)).toMatch(/^20[01]$/);
  return response.json.spec ?? {};
};
const nodePortsOf = (response: RawResponse): number[] =>
  (specOf(response)['ports'] as { nodePort?: number }[]).map(({ nodePort = 0 }) => nodePort);
/** Updates the service with changes to its spec. */
async function change(name: string, changes: object, query = ''): Promise<RawResponse> {
  const { json } = await api.get(`${PATH}/${name}`);
  return api.put(`${PATH}/${name}${query}`, { ...json, spec: { ...json.spec, ...changes } });
}

test('a name is a DNS label, which may begin with a digit', async () => {
  expect(outcome(await create('"1a"', 'ports: [{port: 80}]'))).toBe('201');
  expect(outcome(await create('a.b', 'ports: [{port: 80}]'))).toBe(
    INVALID('a.b', 'metadata.name: Invalid value: "a.b": must not contain dots'),
  );
});

test('an update does not check what names are generated from, as upstream', async () => {
  const { json } = await create('a', 'ports: [{port: 80}]');
  const metadata = { ...json.metadata, generateName: 'Always' };
  expect(outcome(await api.put(`${PATH}/a`, { ...json, metadata }))).toBe('200');
});

describe('the families of a new service', () => {
  test.each<[what: string, spec: string, expected: object]>([
    [
      'an ordinary one',
      'ports: [{port: 80}]',
      {
        clusterIP: expect.stringMatching(/^10\.0\.0\./),
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
    ],
    [
      'an address of its own',
      'clusterIP: 10.0.0.9\nports: [{port: 80}]',
      {
        clusterIP: '10.0.0.9',
        clusterIPs: ['10.0.0.9'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
    ],
    [
      'one that takes what it gets',
      'ipFamilyPolicy: PreferDualStack\nports: [{port: 80}]',
      {
        clusterIPs: [expect.stringMatching(/^10\.0\.0\./)],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'PreferDualStack',
      },
    ],
    [
      'a headless one',
      'clusterIP: None\nselector: {a: b}',
      {
        clusterIP: 'None',
        clusterIPs: ['None'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
    ],
    [
      'a headless one with endpoints of its own',
      'clusterIP: None',
      { clusterIPs: ['None'], ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
    ],
    [
      'such a one of one family',
      'clusterIP: None\nipFamilyPolicy: SingleStack\nipFamilies: [IPv6]',
      { clusterIPs: ['None'], ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'such a one with the other family first',
      'clusterIP: None\nipFamilies: [IPv6]',
      { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
    ],
  ])('%s', async (_, spec, expected) => {
    expect(specOf(await create('a', spec))).toMatchObject(expected);
  });

  test('a name elsewhere has none', async () => {
    expect(specOf(await create('a', 'type: ExternalName\nexternalName: example.com'))).toEqual({
      type: 'ExternalName',
      externalName: 'example.com',
      sessionAffinity: 'None',
    });
  });

  test.each<[what: string, spec: string, problem: string]>([
    [
      'two families',
      'ipFamilyPolicy: RequireDualStack\nports: [{port: 80}]',
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ],
    [
      'another family',
      'ipFamilies: [IPv6]\nports: [{port: 80}]',
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ],
    [
      'an address of another family',
      'clusterIP: "fd00::1"\nports: [{port: 80}]',
      'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ],
    [
      'two families and one',
      'ipFamilyPolicy: SingleStack\nipFamilies: [IPv4, IPv6]\nports: [{port: 80}]',
      `spec.ipFamilyPolicy: Invalid value: "SingleStack": must be 'RequireDualStack' or ` +
        `'PreferDualStack' when multiple IP families are specified`,
    ],
    [
      'an address that is none',
      'clusterIP: 1.2.3\nports: [{port: 80}]',
      'spec.clusterIPs[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ])('are rejected: %s', async (_, spec, problem) => {
    expect(outcome(await create('a', spec))).toBe(INVALID('a', problem));
  });
});

describe('cluster IPs', () => {
  test('are allocated once each', async () => {
    const created = await Promise.all(
      Array.from({ length: 40 }, (_, index) => create(`s${index}`, 'ports: [{port: 80}]')),
    );
    const addresses = created.map((response) => specOf(response)['clusterIP']);
    expect(new Set(addresses).size).toBe(40);
    // The lower part is used for requested addresses only.
    for (const address of addresses)
      expect(Number(String(address).split('.')[3])).toBeGreaterThan(16);
  });

  test('are rejected if they are allocated', async () => {
    specOf(await create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'));
    expect(outcome(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'))).toBe(
      INVALID(
        'b',
        'spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: ' +
          'provided IP is already allocated',
      ),
    );
  });

  test('are rejected outside of the range', async () => {
    const outside = 'clusterIP: 10.1.0.9\nports: [{port: 80}]';
    const problem =
      'spec.clusterIPs: Invalid value: ["10.1.0.9"]: failed to allocate IP 10.1.0.9: ';
    expect(outcome(await create('a', outside))).toBe(
      INVALID('a', `${problem}the provided network does not match the current range`),
    );
    expect(outcome(await create('a', outside, '?dryRun=All'))).toBe(
      INVALID(
        'a',
        `${problem}the provided IP (10.1.0.9) is not in the valid range. The range of valid IPs is 10.0.0.0/24`,
      ),
    );
    // The network and broadcast addresses cannot be allocated.
    for (const address of ['10.0.0.0', '10.0.0.255']) {
      expect(outcome(await create('a', `clusterIP: ${address}\nports: [{port: 80}]`))).toMatch(
        /^422 .*: the provided network/,
      );
    }
  });

  test('are exhausted, and free again when a service is deleted', async () => {
    await t.stop();
    await start({ serviceCidr: '10.0.0.0/29' });
    // One of the six addresses is the API server's own.
    for (let index = 0; index < 5; index++)
      specOf(await create(`s${index}`, 'ports: [{port: 80}]'));
    const full = 'Internal error occurred: failed to allocate a serviceIP: range is full';
    expect(outcome(await create('more', 'ports: [{port: 80}]'))).toBe(`500 InternalError: ${full}`);
    const { json } = await api.delete(`${PATH}/s3`);
    expect(specOf(await create('more', 'ports: [{port: 80}]'))['clusterIP']).toBe(
      json.spec?.['clusterIP'],
    );
  });

  test.each<[what: string, fail: () => Promise<RawResponse>]>([
    ['is invalid', () => create('b', 'clusterIP: 10.0.0.9\nports: [{port: 0}]')],
    ['exists already', () => create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]')],
    [
      'cannot have its ports',
      () => create('b', 'type: NodePort\nclusterIP: 10.0.0.9\nports: [{port: 80, nodePort: 80}]'),
    ],
    ['is only tried', () => create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]', '?dryRun=All')],
  ])('are free again if the new service %s', async (_, fail) => {
    specOf(await create('a', 'ports: [{port: 80}]'));
    await fail();
    expect(specOf(await create('c', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'))).toMatchObject({
      clusterIP: '10.0.0.9',
    });
  });

  test('stay allocated after a restart', async () => {
    specOf(
      await create(
        'a',
        'type: LoadBalancer\nclusterIP: 10.0.0.9\nports: [{port: 80, nodePort: 30010}]',
      ),
    );
    const { storage } = t;
    await t.server.stop();
    await start({ storage });
    expect(outcome(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'))).toContain(
      'already allocated',
    );
    expect(outcome(await create('b', 'type: NodePort\nports: [{port: 80, nodePort: 30010}]'))).toBe(
      INVALID(
        'b',
        'spec.ports[0].nodePort: Invalid value: 30010: provided port is already allocated',
      ),
    );
    await api.delete(`${PATH}/a`);
    specOf(
      await create(
        'b',
        'type: NodePort\nclusterIP: 10.0.0.9\nports: [{port: 80, nodePort: 30010}]',
      ),
    );
  });

  test('stay with a service that is sent again as it was created', async () => {
    const before = specOf(await create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'));
    expect(specOf(await api.put(`${PATH}/a`, manifest('a', 'ports: [{port: 80}]')))).toEqual(
      before,
    );
  });

  test('are immutable', async () => {
    await create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]');
    expect(outcome(await change('a', { clusterIP: '10.0.0.8' }))).toBe(
      INVALID('a', 'spec.clusterIPs[0]: Invalid value: ["10.0.0.8"]: may not change once set'),
    );
    specOf(await create('b', 'clusterIP: 10.0.0.8\nports: [{port: 80}]'));
  });

  test('are removed with a type that needs none, and allocated again with one that does', async () => {
    await create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]');
    expect(
      specOf(await change('a', { type: 'ExternalName', externalName: 'example.com' })),
    ).toEqual({
      type: 'ExternalName',
      externalName: 'example.com',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      sessionAffinity: 'None',
    });
    specOf(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'));
    expect(specOf(await change('a', { type: 'ClusterIP', externalName: '' }))).toMatchObject({
      clusterIPs: [expect.stringMatching(/^10\.0\.0\./)],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    });
  });

  test('stay if the change of type is rejected', async () => {
    await create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]');
    expect((await change('a', { type: 'ExternalName' })).code).toBe(422);
    expect(
      (await change('a', { type: 'ExternalName', externalName: 'example.com' }, '?dryRun=All'))
        .code,
    ).toBe(200);
    expect(outcome(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'))).toContain(
      'already allocated',
    );
  });

  test('are shown by a dry run', async () => {
    const { json } = await create('a', 'type: NodePort\nports: [{port: 80}]', '?dryRun=All');
    expect(json.spec).toMatchObject({
      clusterIP: expect.stringMatching(/^10\.0\.0\./),
      ports: [{ nodePort: expect.any(Number) as number }],
    });
    expect((await api.get(`${PATH}/a`)).code).toBe(404);
  });

  test('stay allocated until the finalizers are removed', async () => {
    const created = await create('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]');
    await api.patch(`${PATH}/a`, { metadata: { finalizers: ['example.com/hold'] } });
    expect((await api.delete(`${PATH}/a`)).json.metadata.uid).toBe(created.json.metadata.uid);
    expect(outcome(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'))).toContain(
      'already allocated',
    );
    await api.patch(`${PATH}/a`, { metadata: { finalizers: null } });
    specOf(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'));
  });
});

describe('node ports', () => {
  test('of a dry run may be outside of the range, as upstream: other mistakes are reported', async () => {
    const dryRun = (port: number): Promise<RawResponse> =>
      create(
        'a',
        `type: NodePort\nports: [{port: ${port}, targetPort: 80, nodePort: 80}]`,
        '?dryRun=All',
      );
    expect(nodePortsOf(await dryRun(80))).toEqual([80]);
    expect(outcome(await dryRun(0))).toBe(
      INVALID('a', 'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'),
    );
  });

  test('one for each port', async () => {
    const ports = nodePortsOf(
      await create('a', 'type: NodePort\nports: [{name: a, port: 80}, {name: b, port: 81}]'),
    );
    expect(new Set(ports).size).toBe(2);
    for (const port of ports) expect(port).toBeGreaterThanOrEqual(30_086);
  });

  test('are shared by two protocols of one port', async () => {
    const spec = 'type: NodePort\nports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}]';
    const [tcp, udp] = nodePortsOf(await create('a', spec));
    expect(udp).toBe(tcp);
  });

  test('a requested one is shared by both protocols', async () => {
    const spec =
      'type: NodePort\nports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP, nodePort: 30053}]';
    expect(nodePortsOf(await create('a', spec))).toEqual([30_053, 30_053]);
  });

  test.each<[what: string, spec: string, problem: string]>([
    [
      'out of range',
      'type: NodePort\nports: [{port: 80, nodePort: 8080}]',
      'spec.ports[0].nodePort: Invalid value: 8080: provided port is not in the valid range. ' +
        'The range of valid ports is 30000-32767',
    ],
    [
      'one for two numbers',
      'type: NodePort\nports: [{name: a, port: 80, nodePort: 30001}, {name: b, port: 81, ' +
        'protocol: UDP, nodePort: 30001}]',
      'spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated',
    ],
    [
      'for a type that has none',
      'ports: [{port: 80, nodePort: 30001}]',
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
  ])('are rejected: %s', async (_, spec, problem) => {
    expect(outcome(await create('a', spec))).toBe(INVALID('a', problem));
  });

  test('are not allocated for a balancer without node ports, unless requested', async () => {
    const none = 'type: LoadBalancer\nallocateLoadBalancerNodePorts: false\n';
    expect(nodePortsOf(await create('a', `${none}ports: [{port: 80}]`))).toEqual([0]);
    const some = await create(
      'b',
      `${none}ports: [{name: a, port: 80}, {name: b, port: 81, nodePort: 30001}]`,
    );
    expect(nodePortsOf(some)).toEqual([0, 30_001]);
    expect(
      outcome(await create('c', 'type: NodePort\nports: [{port: 80, nodePort: 30001}]')),
    ).toContain('already allocated');
  });

  test('are released when their allocation is turned off, unless they are requested', async () => {
    const ports = 'ports: [{name: a, port: 80}, {name: b, port: 81}]';
    const created = await create('a', `type: LoadBalancer\n${ports}`);
    const [first = 0, second] = nodePortsOf(created);
    expect(first).toBeGreaterThan(0);
    const changed = await change('a', {
      allocateLoadBalancerNodePorts: false,
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81, nodePort: second },
      ],
    });
    expect(nodePortsOf(changed)).toEqual([0, second]);
    specOf(await create('b', `type: NodePort\nports: [{port: 80, nodePort: ${first}}]`));
    const without = [{ name: 'b', port: 81 }];
    expect(nodePortsOf(await change('a', { ports: without }))).toEqual([0]);
    const again = await change('a', { allocateLoadBalancerNodePorts: true, ports: without });
    expect(nodePortsOf(again)).toEqual([expect.any(Number)]);
    expect(nodePortsOf(again)).not.toEqual([0]);
  });

  test('stay with the port of their name', async () => {
    await create(
      'a',
      'type: NodePort\nports: [{name: a, port: 80, nodePort: 30001}, {name: b, port: 81, nodePort: 30002}]',
    );
    const ports = 'ports: [{name: b, port: 8081}, {name: a, port: 80}, {name: c, port: 82}]';
    const after = nodePortsOf(
      await api.put(`${PATH}/a`, manifest('a', `type: NodePort\n${ports}`)),
    );
    expect(after.slice(0, 2)).toEqual([30_002, 30_001]);
    expect(after[2]).toBeGreaterThan(30_002);
  });

  test('may change, and the old ones are free again', async () => {
    await create('a', 'type: NodePort\nports: [{port: 80, nodePort: 30001}]');
    const changed = await change('a', { ports: [{ port: 80, nodePort: 30_002 }] });
    expect(nodePortsOf(changed)).toEqual([30_002]);
    specOf(await create('b', 'type: NodePort\nports: [{port: 80, nodePort: 30001}]'));
    expect(outcome(await change('b', { ports: [{ port: 80, nodePort: 30_002 }] }))).toBe(
      INVALID(
        'b',
        'spec.ports[0].nodePort: Invalid value: 30002: provided port is already allocated',
      ),
    );
    expect(nodePortsOf(await api.get(`${PATH}/b`))).toEqual([30_001]);
  });

  test('are removed with a type that has none', async () => {
    await create('a', 'type: NodePort\nports: [{port: 80, nodePort: 30001}]');
    const after = specOf(await change('a', { type: 'ClusterIP' }));
    expect(after['ports']).toEqual([{ port: 80, protocol: 'TCP', targetPort: 80 }]);
    expect(after['externalTrafficPolicy']).toBeUndefined();
    specOf(await create('b', 'type: NodePort\nports: [{port: 80, nodePort: 30001}]'));
  });

  test('that are new are not dropped silently with the type', async () => {
    await create('a', 'type: NodePort\nports: [{port: 80, nodePort: 30001}]');
    expect(
      outcome(await change('a', { type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_002 }] })),
    ).toBe(
      INVALID('a', "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"),
    );
  });

  test('are allocated once each, also concurrently', async () => {
    const responses = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        create(`s${index}`, 'type: NodePort\nports: [{port: 80, nodePort: 30001}]'),
      ),
    );
    expect(responses.filter(({ code }) => code === 201)).toHaveLength(1);
    expect(
      responses.filter((response) =>
        outcome(response).endsWith('provided port is already allocated'),
      ),
    ).toHaveLength(4);
  });
});

describe('ports for health checks', () => {
  const local =
    'type: LoadBalancer\nexternalTrafficPolicy: Local\nports: [{port: 80, nodePort: 30001}]';

  test('are allocated for balancers that use local endpoints only', async () => {
    const port = specOf(await create('a', local))['healthCheckNodePort'] as number;
    expect(port).toBeGreaterThanOrEqual(30_086);
    expect(
      outcome(await create('b', `type: NodePort\nports: [{port: 80, nodePort: ${port}}]`)),
    ).toContain('already allocated');
    const after = specOf(await change('a', { externalTrafficPolicy: 'Cluster' }));
    expect(after['healthCheckNodePort']).toBeUndefined();
    specOf(await create('b', `type: NodePort\nports: [{port: 80, nodePort: ${port}}]`));
  });

  test('are allocated when the policy changes', async () => {
    await create('a', 'type: LoadBalancer\nports: [{port: 80}]');
    expect(
      specOf(await change('a', { externalTrafficPolicy: 'Local' }))['healthCheckNodePort'],
    ).toBeGreaterThan(30_000);
  });

  test('may be requested, if they are free', async () => {
    expect(
      specOf(await create('a', `${local}\nhealthCheckNodePort: 30002`))['healthCheckNodePort'],
    ).toBe(30_002);
    expect(
      outcome(await create('b', `${local.replace('30001', '30003')}\nhealthCheckNodePort: 30002`)),
    ).toBe(
      INVALID(
        'b',
        'spec.healthCheckNodePort: Invalid value: 30002: provided port is already allocated',
      ),
    );
    // Ports that were allocated before the failure are free again.
    specOf(await create('c', 'type: NodePort\nports: [{port: 80, nodePort: 30003}]'));
  });

  test('are immutable, and stay if they are omitted', async () => {
    await create('a', `${local}\nhealthCheckNodePort: 30002`);
    expect(outcome(await change('a', { healthCheckNodePort: 30_004 }))).toBe(
      INVALID('a', 'spec.healthCheckNodePort: Forbidden: field is immutable'),
    );
    expect(specOf(await api.put(`${PATH}/a`, manifest('a', local)))['healthCheckNodePort']).toBe(
      30_002,
    );
  });

  test('are released with the service', async () => {
    await create('a', `${local}\nhealthCheckNodePort: 30002`);
    await api.delete(`${PATH}/a`);
    specOf(
      await create(
        'b',
        'type: NodePort\nports: [{name: a, port: 80, nodePort: 30001}, {name: b, port: 81, nodePort: 30002}]',
      ),
    );
  });
});

describe('changes of type', () => {
  test('fields of balancers are removed with the type', async () => {
    await create(
      'a',
      'type: LoadBalancer\nloadBalancerClass: example.com/x\nexternalTrafficPolicy: Local\nports: [{port: 80}]',
    );
    const { json } = await api.get(`${PATH}/a`);
    const status = { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } };
    expect((await api.put(`${PATH}/a/status`, { ...json, status })).json.status).toEqual({
      loadBalancer: { ingress: [{ ip: '1.2.3.4', ipMode: 'VIP' }] },
    });
    const after = await change('a', { type: 'ClusterIP' });
    expect(specOf(after)).toEqual({
      type: 'ClusterIP',
      clusterIP: json.spec?.['clusterIP'],
      clusterIPs: json.spec?.['clusterIPs'],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      sessionAffinity: 'None',
    });
    expect(after.json.status).toEqual({ loadBalancer: {} });
  });

  test('fields that the client also changes stay, and are rejected', async () => {
    await create('a', 'type: LoadBalancer\nloadBalancerClass: example.com/x\nports: [{port: 80}]');
    expect(
      outcome(await change('a', { type: 'ClusterIP', loadBalancerClass: 'example.com/y' })),
    ).toBe(
      INVALID(
        'a',
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      ),
    );
  });

  test('a balancer’s address is only allowed for balancers', async () => {
    await create('a', 'ports: [{port: 80}]');
    const { json } = await api.get(`${PATH}/a`);
    const answer = await api.put(`${PATH}/a/status`, {
      ...json,
      status: { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } },
    });
    expect(outcome(answer)).toBe(
      INVALID(
        'a',
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
      ),
    );
  });
});

test('PUT creates a missing service', async () => {
  const created = await api.put(
    `${PATH}/a`,
    manifest('a', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'),
  );
  expect(created.code).toBe(201);
  expect(outcome(await create('b', 'clusterIP: 10.0.0.9\nports: [{port: 80}]'))).toContain(
    'already allocated',
  );
});

test('a deletion returns the service', async () => {
  const { json } = await create('a', 'ports: [{port: 80}]');
  expect((await api.delete(`${PATH}/a`)).json).toMatchObject({
    kind: 'Service',
    metadata: { uid: json.metadata.uid },
  });
});

test.each<[spec: string, warning: string]>([
  [
    'clusterIP: None\nloadBalancerIP: 1.2.3.4',
    'spec.loadBalancerIP is ignored for headless services',
  ],
  ['clusterIP: None\nexternalIPs: [1.2.3.4]', 'spec.externalIPs is ignored for headless services'],
  [
    'clusterIP: None\nsessionAffinity: ClientIP',
    'spec.SessionAffinity is ignored for headless services',
  ],
  [
    'externalName: example.com\nports: [{port: 80}]',
    'spec.externalName is ignored when spec.type is not "ExternalName"',
  ],
  [
    'type: ExternalName\nexternalName: example.com\nexternalIPs: [1.2.3.4]',
    'spec.externalIPs is ignored when spec.type is "ExternalName"',
  ],
  [
    'trafficDistribution: PreferClose\nports: [{port: 80}]',
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
  ],
])('clients are warned of %s', async (spec, warning) => {
  const created = await create('a', spec);
  expect(created.code).toBe(201);
  expect(created.warnings).toEqual([warning]);
  expect((await change('a', { publishNotReadyAddresses: true })).warnings).toEqual([warning]);
});
