// Access to the kubelet's API: every route with every kind of identity. Nothing is served without
// an identity, and a right to one subresource of nodes grants the routes of that subresource only.

import { request } from 'node:https';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodes, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { Cluster } from '#cluster/composition/cluster.ts';
import { makeKubeletPorts } from '#cluster/nodes/kubelet-ports.ts';
import { Pki } from '#cluster/credentials/pki.ts';
import { simulatedNode } from '#cluster/nodes/simulated-machine.ts';
import { isOwnAddress, TlsListeners } from '#kubelet/server/listeners.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';

/** Routes by method and path, with the subresources of nodes that each grant access. */
const ROUTES: readonly (readonly [
  method: string,
  path: string,
  subresources: readonly string[],
])[] = [
  ['GET', '/', ['proxy']],
  ['GET', '/healthz', ['healthz', 'proxy']],
  ['GET', '/healthz/ping', ['healthz', 'proxy']],
  ['GET', '/pods', ['pods', 'proxy']],
  ['GET', '/pods/', ['pods', 'proxy']],
  ['GET', '/runningpods/', ['pods', 'proxy']],
  ['GET', '/configz', ['configz', 'proxy']],
  ['GET', '/stats/summary', ['stats']],
  ['GET', '/metrics', ['metrics']],
  ['GET', '/metrics/resource', ['metrics']],
  ['GET', '/metrics/cadvisor', ['metrics']],
  ['GET', '/metrics/probes', ['metrics']],
  ['GET', '/metrics/slis', ['metrics']],
  ['GET', '/logs/', ['log']],
  ['GET', '/containerLogs/kube-system/x/y', ['proxy']],
  ['GET', '/exec/kube-system/x/y?command=id', ['proxy']],
  ['GET', '/attach/kube-system/x/y', ['proxy']],
  ['GET', '/portForward/kube-system/x', ['proxy']],
  ['GET', '/run/kube-system/x/y?cmd=id', ['proxy']],
  ['GET', '/checkpoint/kube-system/x/y', ['checkpoint']],
  ['POST', '/checkpoint/kube-system/x/y', ['checkpoint']],
  ['GET', '/debug/pprof/heap', ['proxy']],
  ['GET', '/statusz', ['statusz']],
  ['GET', '/flagz', ['configz']],
  // Attempts to evade the table above.
  ['GET', '/metrics/../exec/kube-system/x/y', ['proxy']],
  ['GET', '/metrics%2f..%2fexec/kube-system/x/y', ['metrics']],
  ['GET', '/%65xec/kube-system/x/y', ['proxy']],
  ['GET', '/metricsx', ['proxy']],
  ['GET', '/healthz/../pods', ['pods', 'proxy']],
];
const SUBRESOURCES = [
  'proxy',
  'pods',
  'healthz',
  'configz',
  'stats',
  'metrics',
  'log',
  'checkpoint',
  'statusz',
];

interface Credentials {
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

let cluster: Cluster;
let pki: Pki;
let port: number;

beforeAll(async () => {
  pki = await Pki.open({ clock: systemClock, random: systemRandom });
  cluster = await Cluster.make({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    storage: createMemoryStorage({ clock: systemClock, logger: silentLogger }),
    pki,
    listen: { bindAddress: '127.0.0.1', port: 0 },
    kubeletPorts: { ...(await makeKubeletPorts(pki, '127.0.0.1', [])), host: '127.0.0.1' },
    nodes: ['n1', 'n2'].map((name, i) =>
      simulatedNode(
        { name, podCidrs: [`10.244.${i}.0/24`] },
        { clock: systemClock, random: systemRandom, journal: undefined },
      ),
    ),
    podCidrs: ['10.244.0.0/16'],
    serviceCidr: '10.96.0.0/16',
  });
  await cluster.begin();
  port = await portOf('n1');
});
afterAll(() => cluster.stop());

async function portOf(node: string): Promise<number> {
  return (
    (await cluster.client.resource(nodes).get(node)).status.daemonEndpoints?.kubeletEndpoint
      ?.Port ?? 0
  );
}

interface Answer {
  readonly code: number;
  readonly body: string;
}

function ask(
  { cert, key, token }: Credentials,
  path: string,
  method = 'GET',
  headers = {},
  toPort = port,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: toPort,
        path,
        method,
        ca: pki.caCertificate,
        cert,
        key,
        agent: false,
        headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      },
      (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => resolve({ code: response.statusCode ?? 0, body }));
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

/** Returns a token of a ServiceAccount with rights to the subresources of nodes. */
async function tokenWith(name: string, ...subresources: readonly string[]): Promise<Credentials> {
  const { client } = cluster;
  const subject = { kind: 'ServiceAccount', name, namespace: 'default' };
  await client.resource(serviceAccounts).namespace('default').create({ metadata: { name } });
  if (subresources.length > 0) {
    const resources = subresources.map((subresource) => `nodes/${subresource}`);
    await client.resource(clusterRoles).create({
      metadata: { name },
      rules: [{ apiGroups: [''], resources, verbs: ['get', 'create'] }],
    });
    await client.resource(clusterRoleBindings).create({
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [subject],
    });
  }
  const { status } = await client.transport.request<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  return { token: status.token };
}

describe('the kubelet API', () => {
  test('serves no route without a valid identity', async () => {
    const foreign = await Pki.open({ clock: systemClock, random: systemRandom });
    const masters = { commonName: 'admin', organizations: ['system:masters'] };
    const serving = await pki.sign({ ...masters, usage: 'server' });
    const identities: readonly Credentials[] = [
      {},
      { token: 'nonsense' },
      { token: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.' },
      await foreign.sign({ ...masters, usage: 'client' }),
      serving,
    ];
    for (const identity of identities) {
      for (const [method, path] of ROUTES) {
        expect(await ask(identity, path, method), path).toEqual({
          code: 401,
          body: 'Unauthorized',
        });
      }
    }
  });

  test('forbids every route to users without rights, nodes included', async () => {
    const node = await pki.sign({
      commonName: 'system:node:n2',
      organizations: ['system:nodes'],
      usage: 'client',
    });
    for (const identity of [await tokenWith('nobody'), node]) {
      for (const [method, path] of ROUTES)
        expect((await ask(identity, path, method)).code, path).toBe(403);
    }
  });

  test.each(SUBRESOURCES)('nodes/%s grants its own routes', async (subresource) => {
    const identity = await tokenWith(`only-${subresource}`, subresource);
    for (const [method, path, granting] of ROUTES) {
      const { code } = await ask(identity, path, method);
      expect([path, code === 403]).toEqual([path, !granting.includes(subresource)]);
    }
  });

  test('a right to read grants no right to run commands', async () => {
    const { client } = cluster;
    const identity = await tokenWith('reader');
    await client.resource(clusterRoles).create({
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['nodes/proxy'], verbs: ['get'] }],
    });
    await client.resource(clusterRoleBindings).create({
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'default' }],
    });
    expect((await ask(identity, '/pods')).code).toBe(200);
    expect((await ask(identity, '/run/default/x/y?cmd=id', 'POST')).code).toBe(403);
    expect((await ask(identity, '/localVolumes/x', 'DELETE')).code).toBe(403);
  });

  test('refuses upgrades without rights, and closes the connection', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
    };
    expect(await ask({}, '/exec/default/x/y?command=id', 'POST', headers)).toEqual({
      code: 401,
      body: 'Unauthorized',
    });
    expect(
      (await ask(await tokenWith('upgrader'), '/exec/default/x/y?command=id', 'POST', headers))
        .code,
    ).toBe(403);
  });

  test('pages of other origins do not act with the certificate of a browser', async () => {
    const admin = await pki.sign({
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const codeFor = async (headers: object): Promise<number> =>
      (await ask(admin, '/pods', 'GET', headers)).code;
    expect(await codeFor({ origin: 'https://evil.example' })).toBe(401);
    expect(await codeFor({ origin: 'null' })).toBe(401);
    expect(await codeFor({ origin: `https://127.0.0.1:${port}` })).toBe(200);
    // Through the API server.
    expect(await codeFor({ origin: 'https://api', 'x-forwarded-for': '192.0.2.7' })).toBe(200);
  });

  test('each node answers at its own port', async () => {
    const admin = await pki.sign({
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    for (const name of ['n1', 'n2']) {
      const { body } = await ask(admin, '/stats/summary', 'GET', {}, await portOf(name));
      expect((JSON.parse(body) as { node: { nodeName: string } }).node.nodeName).toBe(name);
    }
  });
});

test('a kubelet of a cluster for this machine serves only clients on this machine', async () => {
  expect(isOwnAddress('127.0.0.1')).toBe(true);
  expect(isOwnAddress('::ffff:127.0.0.1')).toBe(true);
  expect(isOwnAddress('192.0.2.250')).toBe(false);
  expect(isOwnAddress(undefined)).toBe(false);
  for (const bindAddress of ['127.0.0.1', '::1', 'localhost']) {
    expect((await makeKubeletPorts(pki, bindAddress, [])).thisMachineOnly).toBe(true);
  }
  const open = await makeKubeletPorts(pki, '0.0.0.0', []);
  expect([open.host, open.thisMachineOnly]).toEqual(['0.0.0.0', false]);
});

test('a renewed certificate is served on all ports', async () => {
  const ports = await makeKubeletPorts(pki, '127.0.0.1', []);
  const listeners = new TlsListeners({ ...ports, host: '127.0.0.1', logger: silentLogger });
  const open = await listeners.open(0, {
    accepted: () => undefined,
    secured: (socket) => socket.destroy(),
  });
  const served = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = tlsConnect(
        { host: '127.0.0.1', port: open.port, ca: pki.caCertificate },
        () => {
          resolve(socket.getPeerCertificate().fingerprint256);
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
  const before = await served();
  const renewed = await pki.sign({ commonName: 'kubelet', usage: 'server', hosts: ['127.0.0.1'] });
  listeners.setServingCertificate(renewed);
  expect(await served()).not.toBe(before);
  expect(() => listeners.setServingCertificate({ ...renewed, key: ports.tls.key })).toThrow(
    /mismatch/,
  );
  await open.close();
});

test('a port that is taken is replaced by a free one, or is an error', async () => {
  const listeners = new TlsListeners({
    ...(await makeKubeletPorts(pki, '127.0.0.1', [])),
    host: '127.0.0.1',
    logger: silentLogger,
  });
  const serve = { accepted: () => undefined, secured: () => undefined };
  const first = await listeners.open(0, serve);
  const second = await listeners.open(first.port, serve, true);
  expect(second.port).not.toBe(first.port);
  await expect(listeners.open(first.port, serve)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await Promise.all([first.close(), second.close()]);
  await new Promise((resolve) => {
    connect(first.port, '127.0.0.1').on('error', resolve);
  });
});
