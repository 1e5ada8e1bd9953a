import { get } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterRoleBindings } from '../../api/rbac/v1/index.ts';
import { startTestServer, type TestServer } from '../../apiserver/testing/server.ts';
import { systemClock } from '../../machinery/clock.ts';
import { systemRandom } from '../../machinery/random.ts';
import { Pki } from '../pki.ts';
import { type ComponentServer, startComponentServer } from './component-server.ts';
import { refusalOf } from './delegated-access.ts';

let api: TestServer;
let server: ComponentServer;
let ca: string;

/** `token`: as whom. */
function ask(path: string, token?: string): Promise<{ code: number | undefined; text: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: server.port, path, ca, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      response.on('end', () => resolve({ code: response.statusCode, text }));
    }).on('error', reject);
  });
}

beforeAll(async () => {
  const users = ['prometheus', 'joe'].map((name) => [`token-of-${name}`, { name, groups: ['system:authenticated'] }] as const);
  api = await startTestServer({ tokens: new Map(users) });
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'prometheus' }];
  const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: 'system:monitoring' };
  await api.client.resource(clusterRoleBindings).create({ metadata: { name: 'prometheus' }, subjects, roleRef });
  const component = api.clientOf({ name: 'system:kube-controller-manager', groups: ['system:authenticated'] });
  const pki = await Pki.open({ clock: systemClock, random: systemRandom });
  ca = pki.caCertificate;
  server = await startComponentServer({
    bindAddress: '127.0.0.1',
    port: 0,
    tls: await pki.sign({ commonName: 'test', usage: 'server', hosts: ['127.0.0.1'] }),
    metrics: {
      text: () => Promise.resolve('answers 42\n'),
      access: (authorization) => refusalOf(component, authorization, '/metrics'),
    },
  });
});
afterAll(async () => {
  await server.close();
  await api.stop();
});

test('whether it is well is for everybody', async () => {
  for (const path of ['/healthz', '/livez', '/readyz?verbose']) expect(await ask(path)).toEqual({ code: 200, text: 'ok' });
});

test('how it does is for those who may see it, as the API server says', async () => {
  expect(await ask('/metrics', 'token-of-prometheus')).toEqual({ code: 200, text: 'answers 42\n' });
  expect((await ask('/metrics', 'token-of-joe')).code).toBe(403);
  expect((await ask('/metrics', 'nonsense')).code).toBe(401);
  expect((await ask('/metrics')).code).toBe(401);
});

test('there is nothing else', async () => {
  expect((await ask('/', 'token-of-prometheus')).code).toBe(404);
});
