// The documents by which other services verify tokens of ServiceAccounts.

import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { isDiscoverable } from './openid-routes.ts';
import { send } from './testing/requests.ts';
import { startTestServer, type TestServer } from './testing/server.ts';

const CONFIGURATION = '/.well-known/openid-configuration';
const JWKS = '/openid/v1/jwks';

const [current, old] = [1, 2].map(
  () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
);
const pem = (key = current): string => key!.export({ type: 'pkcs8', format: 'pem' }).toString();

let t: TestServer;
beforeAll(async () => {
  t = await startTestServer({
    advertiseAddress: '192.0.2.1',
    port: 6443,
    serviceAccounts: {
      signingKey: pem(),
      publicKeys: [
        pem(),
        createPublicKey(pem(old)).export({ type: 'spki', format: 'pem' }).toString(),
      ],
    },
  });
});
afterAll(() => t.stop());

test('the configuration has the issuer and the URL of its keys', async () => {
  const { code, headers, text } = await send(t.server, { path: CONFIGURATION });
  expect([code, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'application/json',
    'public, max-age=3600',
  ]);
  expect(text).toBe(
    '{"issuer":"https://kubernetes.default.svc.cluster.local","jwks_uri":"https://192.0.2.1:6443/openid/v1/jwks",' +
      '"response_types_supported":["id_token"],"subject_types_supported":["public"],' +
      '"id_token_signing_alg_values_supported":["ES256"]}',
  );
});

test('the key set verifies tokens', async () => {
  const { code, headers, text } = await send(t.server, { path: JWKS });
  expect([code, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'application/jwk-set+json',
    'public, max-age=3600',
  ]);
  const keySet = JSON.parse(text) as Parameters<typeof createLocalJWKSet>[0];
  expect(keySet.keys.map((key) => Object.keys(key))).toEqual(
    [1, 2].map(() => ['use', 'kty', 'kid', 'crv', 'alg', 'x', 'y']),
  );
  const request = {
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/default/token',
    body: {},
  };
  await send(t.server, {
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts',
    headers: { 'content-type': 'application/json' },
    body: { metadata: { name: 'default' } },
  });
  const created = await send(t.server, {
    ...request,
    headers: { 'content-type': 'application/json' },
    body: { spec: { audiences: ['vault'] } },
  });
  const { token } = (created.json as unknown as { status: { token: string } }).status;
  // The server has a virtual clock.
  const currentDate = new Date(t.clock.now());
  const verified = await jwtVerify(token, createLocalJWKSet(keySet), {
    audience: 'vault',
    currentDate,
  });
  expect(verified.payload.sub).toBe('system:serviceaccount:default:default');
});

test.each([
  ['POST', CONFIGURATION, '', 405],
  ['GET', CONFIGURATION, 'text/html', 406],
  ['GET', JWKS, 'application/json', 406],
  ['GET', JWKS, '*/*', 200],
])('%s %s as %j is %d', async (method, path, accept, code) => {
  expect((await send(t.server, { method, path, headers: { accept } })).code).toBe(code);
});

test('only ServiceAccounts may read both documents, by their role', async () => {
  const groups = ['system:serviceaccounts', 'system:authenticated'];
  for (const path of [CONFIGURATION, JWKS]) {
    const account = { name: 'system:serviceaccount:default:default', groups };
    expect((await send(t.server, { path, user: account })).code).toBe(200);
    expect(
      (await send(t.server, { path, user: { name: 'joe', groups: ['system:authenticated'] } }))
        .code,
    ).toBe(403);
  }
});

test.each([
  ['https://issuer.example/path', true],
  ['http://issuer.example', false],
  ['https://issuer.example?a=b', false],
  ['https://issuer.example#a', false],
  ['kubernetes/serviceaccount', false],
])('an issuer %s can be discovered: %s', (issuer, expected) => {
  expect(isDiscoverable(issuer)).toBe(expected);
});
