// Front proxies over a real port: which headers the server trusts.

import { request as httpsRequest } from 'node:https';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { configMaps } from '#api/groups/core/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import {
  type Credentials,
  makeTestAuthority,
  type TestAuthority,
} from '../testing/certificates.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

let clients: TestAuthority;
let frontProxies: TestAuthority;
let t: TestServer;
let port: number;

beforeAll(async () => {
  [clients, frontProxies] = await Promise.all([
    makeTestAuthority(),
    makeTestAuthority('front-proxy-ca'),
  ]);
  t = await startTestServer({
    clock: systemClock,
    tls: await clients.server(),
    anonymous: 'all',
    requestHeader: {
      ca: frontProxies.cert,
      allowedNames: ['front-proxy-client'],
      usernameHeaders: ['X-Remote-User', 'X-Other-User'],
      uidHeaders: ['X-Remote-Uid'],
      groupHeaders: ['X-Remote-Group'],
      extraHeaderPrefixes: ['X-Remote-Extra-'],
    },
    shutdownTimeoutMs: 2000,
  });
  ({ port } = await t.server.listen());
});
afterEach(() => {
  expect(t.logger.errors).toEqual([]);
});
afterAll(() => t.stop());

/** Asks the server for the user of the request. */
function whoAmI(
  as: Credentials | undefined,
  headers: Record<string, string | string[]>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        host: '127.0.0.1',
        port,
        ca: clients.cert,
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        agent: false,
        ...as,
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
        response.on('end', () => {
          const { status, message } = JSON.parse(text) as {
            status?: { userInfo?: unknown };
            message?: string;
          };
          resolve(status?.userInfo ?? message);
        });
      },
    );
    request.on('error', reject);
    // The body is a buffer, because Node would encode the headers together with a text in the
    // text's encoding.
    request.end(
      Buffer.from('{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}'),
    );
  });
}

const ANONYMOUS = expect.stringContaining('User "system:anonymous" cannot create');

describe('a front proxy', () => {
  test('names the user', async () => {
    const proxy = await frontProxies.client('front-proxy-client');
    const headers = {
      'X-Remote-User': Buffer.from('jürgen', 'utf8').toString('latin1'),
      'X-Remote-Uid': 'u1',
      'X-Remote-Group': ['dev', 'a, b'],
      'X-Remote-Extra-Example.com%2FScopes': ['x', 'y'],
    };
    expect(await whoAmI(proxy, headers)).toEqual({
      username: 'jürgen',
      uid: 'u1',
      groups: ['dev', 'a, b', 'system:authenticated'],
      extra: { 'example.com/scopes': ['x', 'y'] },
    });
    expect(await whoAmI(proxy, { 'X-Remote-User': '', 'X-Other-User': 'jane' })).toMatchObject({
      username: 'jane',
    });
  });

  test('without a user in its headers is not authenticated by its certificate', async () => {
    const proxy = await frontProxies.client('front-proxy-client', ['system:masters']);
    expect(await whoAmI(proxy, {})).toEqual(ANONYMOUS);
  });

  test('must have an allowed name', async () => {
    const other = await frontProxies.client('other');
    expect(await whoAmI(other, { 'X-Remote-User': 'root' })).toEqual(ANONYMOUS);
  });
});

describe('other clients cannot name a user', () => {
  test('a client with a certificate of the clients’ authority', async () => {
    const client = await clients.client('front-proxy-client');
    expect(
      await whoAmI(client, { 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' }),
    ).toMatchObject({
      username: 'front-proxy-client',
      groups: ['system:authenticated'],
    });
  });

  test('a client without a certificate', async () => {
    expect(await whoAmI(undefined, { 'X-Remote-User': 'root' })).toEqual(ANONYMOUS);
  });

  test('a certificate that an unknown authority has signed', async () => {
    const stranger = await (await makeTestAuthority('unknown')).client('front-proxy-client');
    expect(await whoAmI(stranger, { 'X-Remote-User': 'root' })).toEqual(ANONYMOUS);
  });
});

test('extension API servers get the authorities and headers', async () => {
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
  const { data } = await t.client.transport.request<{
    readonly data: Readonly<Record<string, string>>;
  }>({
    method: 'GET',
    path,
  });
  expect(data).toEqual({
    'client-ca-file': clients.cert.trim() + '\n',
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-client-ca-file': frontProxies.cert.trim() + '\n',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-username-headers': '["X-Remote-User","X-Other-User"]',
  });
});

test('other entries of the ConfigMap stay, and this server’s entries are restored', async () => {
  const maps = t.client.resource(configMaps).namespace('kube-system');
  const name = 'extension-apiserver-authentication';
  const others = (await makeTestAuthority('another server')).cert;
  const { data } = await maps.get(name);
  const own = data?.['requestheader-client-ca-file'];
  await maps.patch(name, 'application/merge-patch+json', {
    data: {
      'requestheader-client-ca-file': others,
      'requestheader-allowed-names': '["other"]',
      'requestheader-group-headers': 'no JSON',
    },
  });
  await vi.waitFor(
    async () => {
      expect((await maps.get(name)).data).toMatchObject({
        'requestheader-client-ca-file': `${others.trim()}\n${own}`,
        'requestheader-allowed-names': '["other","front-proxy-client"]',
        'requestheader-group-headers': '["X-Remote-Group"]',
      });
    },
    { timeout: 60_000 },
  );
  await maps.delete(name);
  await vi.waitFor(async () => expect((await maps.get(name)).data).toEqual(data), 20_000);
});
