import { X509Certificate } from 'node:crypto';
import { get } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterRoleBindings } from '#api/groups/rbac/v1/index.ts';
import { pingCheck } from '#machinery/serving/health.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import { type KeyPair, Pki } from '../credentials/pki.ts';
import { type ComponentServer, startComponentServer } from './component-server.ts';
import { RequestHeaderAuthenticator } from '#apiserver/authentication/request-header.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { checkAccess } from './delegated-access.ts';

let api: TestServer;
let server: ComponentServer;
let ca: string;
let pki: Pki;
let stops = false;

/** Sends a request with the token. */
function ask(
  path: string,
  token?: string,
  accept?: string,
): Promise<{ code: number | undefined; type: string; text: string }> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(accept !== undefined && { accept }),
  };
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: server.port, path, ca, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      response.on('end', () =>
        resolve({ code: response.statusCode, type: response.headers['content-type'] ?? '', text }),
      );
    }).on('error', reject);
  });
}

const headers = new RequestHeaderAuthenticator({
  ca: '',
  allowedNames: ['proxy', 'prometheus'],
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: [],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: [],
});

beforeAll(async () => {
  const users = ['prometheus', 'joe'].map(
    (name) => [`token-of-${name}`, { name, groups: ['system:authenticated'] }] as const,
  );
  api = await startTestServer({ tokens: new Map(users) });
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'prometheus' }];
  const roleRef = {
    kind: 'ClusterRole',
    apiGroup: 'rbac.authorization.k8s.io',
    name: 'system:monitoring',
  };
  await api.client
    .resource(clusterRoleBindings)
    .create({ metadata: { name: 'prometheus' }, subjects, roleRef });
  const component = api.clientOf({
    name: 'system:kube-controller-manager',
    groups: ['system:authenticated'],
  });
  pki = await Pki.open({ clock: systemClock, random: systemRandom });
  ca = pki.caCertificate;
  server = await startComponentServer({
    bindAddress: '127.0.0.1',
    port: 0,
    tls: await pki.sign({ commonName: 'test', usage: 'server', hosts: ['127.0.0.1'] }),
    component: 'kube-scheduler',
    version: versionInfo('v1.36.3'),
    clock: systemClock,
    flags: { v: '2' },
    health: {
      '/healthz': () => [pingCheck],
      '/readyz': () => [
        pingCheck,
        {
          name: 'shutdown',
          check: () => {
            if (stops) throw new Error('process is shutting down');
          },
        },
      ],
    },
    metrics: { '/metrics': () => 'answers 42\n' },
    checkAccess: (credentials, path) => checkAccess(component, credentials, path, headers),
  });
});
afterAll(async () => {
  await server.close();
  await api.stop();
});

const AS_OBJECT = 'application/json;as=Statusz;g=config.k8s.io;v=v1beta1';

test('health is public, in all its forms', async () => {
  expect(await ask('/healthz')).toMatchObject({ code: 200, text: 'ok' });
  expect(await ask('/readyz?verbose')).toMatchObject({
    code: 200,
    text: '[+]ping ok\n[+]shutdown ok\nreadyz check passed\n',
  });
  stops = true;
  expect(await ask('/readyz')).toMatchObject({
    code: 500,
    text: '[+]ping ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n',
  });
  expect((await ask('/readyz?exclude=shutdown')).code).toBe(200);
  expect((await ask('/readyz/shutdown')).code).toBe(403);
  expect(await ask('/readyz/shutdown', 'token-of-prometheus')).toMatchObject({
    code: 500,
    text: 'internal server error: process is shutting down\n',
  });
  stops = false;
  expect(await ask('/readyz/shutdown', 'token-of-prometheus')).toMatchObject({
    code: 200,
    text: 'ok',
  });
});

test.each<[path: string, begin: string]>([
  ['/metrics', 'answers 42\n'],
  ['/metrics/slis', '# HELP kubernetes_healthcheck [STABLE] '],
  ['/statusz', '\nkube-scheduler statusz\nWarning: '],
  ['/flagz', '\nkube-scheduler flagz\nWarning: '],
])('%s is for system:monitoring', async (path, begin) => {
  await ask('/healthz');
  const { code, text } = await ask(path, 'token-of-prometheus');
  expect([code, text.slice(0, begin.length)]).toEqual([200, begin]);
  const reasonOf = async (token?: string) => {
    const refused = await ask(path, token);
    const { code, message } = JSON.parse(refused.text) as { code: number; message: string };
    expect([refused.code, refused.type]).toEqual([code, 'application/json']);
    return `${code} ${message}`;
  };
  expect(await reasonOf('token-of-joe')).toBe(
    `403 forbidden: User "joe" cannot get path "${path}"`,
  );
  expect(await reasonOf('nonsense')).toBe('401 Unauthorized');
  expect(await reasonOf()).toBe(`403 forbidden: User "system:anonymous" cannot get path "${path}"`);
});

test('a client certificate is known once its authority is', async () => {
  const clients = await Pki.open({ clock: systemClock, random: systemRandom });
  const certificateOf = (commonName: string, of = clients) =>
    of.sign({ commonName, organizations: ['monitors'], usage: 'client' });
  const answerTo = (client: KeyPair): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: server.port, path: '/metrics', ca, agent: false };
      get({ ...options, ...client }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  const prometheus = await certificateOf('prometheus');
  expect(await answerTo(prometheus)).toBe(403);
  server.setAuthorities({ clientCa: clients.caCertificate });
  expect(await answerTo(prometheus)).toBe(200);
  expect(await answerTo(await certificateOf('joe'))).toBe(403);
  expect(await answerTo(await certificateOf('prometheus', pki))).toBe(403);
  expect(() => server.setAuthorities({ clientCa: 'nonsense' })).toThrow(/no certificate/);
  expect(await answerTo(prometheus)).toBe(200);
});

test('a front proxy names users in headers, which of others are ignored', async () => {
  const clients = await makeTestAuthority('clients');
  const proxies = await makeTestAuthority('proxies');
  server.setAuthorities({ clientCa: clients.cert, requestHeaderCa: proxies.cert });
  const answerTo = (client: KeyPair, named: object): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: server.port, path: '/metrics', ca, agent: false };
      get({ ...options, ...client, headers: { ...named } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });
  const proxy = await proxies.client('proxy');
  const monitor = { 'x-remote-user': 'prometheus', 'x-remote-group': 'monitors' };
  expect(await answerTo(proxy, monitor)).toBe(200);
  expect(await answerTo(proxy, { 'x-remote-user': 'joe' })).toBe(403);
  // Its certificate makes it no user itself.
  expect(await answerTo(await proxies.client('prometheus'), {})).toBe(403);
  expect(await answerTo(await proxies.client('other'), monitor)).toBe(403);
  expect(await answerTo(await clients.client('proxy'), monitor)).toBe(403);
  expect(() => server.setAuthorities({ requestHeaderCa: 'nonsense' })).toThrow(/no certificate/);
});

test('statusz as an object, and in no form that there is not', async () => {
  const { code, type, text } = await ask('/statusz', 'token-of-prometheus', AS_OBJECT);
  expect([code, type]).toEqual([200, 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz']);
  expect(JSON.parse(text)).toMatchObject({
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'kube-scheduler' },
    binaryVersion: '1.36.3',
    emulationVersion: '1.36',
    paths: ['/flagz', '/healthz', '/metrics', '/readyz', '/statusz'],
  });
  const refused = await ask('/statusz', 'token-of-prometheus', 'application/json');
  expect([refused.code, JSON.parse(refused.text)]).toMatchObject([
    406,
    { kind: 'Status', reason: 'NotAcceptable' },
  ]);
});

test('there is nothing else', async () => {
  expect((await ask('/', 'token-of-prometheus')).code).toBe(403);
  expect((await ask('/livez', 'token-of-prometheus')).code).toBe(404);
});

test('another certificate is used for new connections, and one without its key is not', async () => {
  const request = { commonName: 'renewed', usage: 'server', hosts: ['127.0.0.1'] } as const;
  const [renewed, other] = [await pki.sign(request), await pki.sign(request)];
  const served = (): Promise<string> =>
    new Promise((resolve, reject) => {
      get(
        { host: '127.0.0.1', port: server.port, path: '/healthz', ca, agent: false },
        (response) => {
          resolve((response.socket as TLSSocket).getPeerCertificate().serialNumber);
          response.resume();
        },
      ).on('error', reject);
    });
  const { serialNumber } = new X509Certificate(renewed.cert);
  expect(await served()).not.toBe(serialNumber);
  server.setCertificate(renewed);
  expect(await served()).toBe(serialNumber);
  expect(() => server.setCertificate({ cert: other.cert, key: renewed.key })).toThrow(/mismatch/);
  expect(await served()).toBe(serialNumber);
});
