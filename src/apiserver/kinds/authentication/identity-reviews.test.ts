import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_ISSUER } from '#apiserver/authentication/service-account-tokens.ts';
import { send, type RawResponse } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';

let t: TestServer;
beforeEach(async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  t = await startTestServer({
    serviceAccounts: { signingKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
  });
});
afterEach(() => t.stop());

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts';
const post = (path: string, body: object): Promise<RawResponse> =>
  send(t.server, { method: 'POST', path, body, headers: { 'content-type': 'application/json' } });
const tokenOf = async (spec: object): Promise<RawResponse> => post(`${ACCOUNTS}/a/token`, { spec });
const reviewed = async (token: string, audiences?: readonly string[]): Promise<unknown> =>
  (await post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } })).json
    .status;

test('a token is reviewed for the audiences of the API server by default', async () => {
  await post(ACCOUNTS, { metadata: { name: 'a' } });
  const { token } = (await tokenOf({})).json.status as { token: string };
  expect(await reviewed(token)).toMatchObject({ authenticated: true, audiences: [DEFAULT_ISSUER] });
  expect(await reviewed(token, ['x', DEFAULT_ISSUER])).toMatchObject({
    audiences: [DEFAULT_ISSUER],
  });
  const refusal = (reason: string): object => ({
    user: {},
    error: `[invalid bearer token, ${reason}]`,
  });
  const own = JSON.stringify([DEFAULT_ISSUER]);
  expect(await reviewed(token, ['x'])).toEqual(
    refusal(`token audiences ${own} is invalid for the target audiences ["x"]`),
  );
  const other = (await tokenOf({ audiences: ['x'] })).json.status as { token: string };
  expect(await reviewed(other.token)).toEqual(
    refusal(`token audiences ["x"] is invalid for the target audiences ${own}`),
  );
  await send(t.server, { method: 'DELETE', path: `${ACCOUNTS}/a` });
  expect(await reviewed(token)).toEqual(refusal('serviceaccounts "a" not found'));
  expect(await reviewed('opaque')).toEqual({ user: {}, error: 'invalid bearer token' });
});

test('the client owns the default lifetime of a token', async () => {
  await post(ACCOUNTS, { metadata: { name: 'a' } });
  const { metadata, spec } = (await tokenOf({})).json;
  expect(spec).toMatchObject({ expirationSeconds: 3600 });
  expect(metadata.managedFields).toMatchObject([
    { subresource: 'token', fieldsV1: { 'f:spec': { 'f:expirationSeconds': {} } } },
  ]);
});

test('a token is bound to an object in any version, whose kind errors name', async () => {
  await post(ACCOUNTS, { metadata: { name: 'a' } });
  await post('/api/v1/namespaces/default/secrets', { metadata: { name: 's' } });
  const bound = (more: object): Promise<RawResponse> =>
    tokenOf({ boundObjectRef: { kind: 'Secret', name: 's', ...more } });
  expect((await bound({ apiVersion: 'v2' })).code).toBe(201);
  expect((await bound({})).code).toBe(201);
  expect((await bound({ apiVersion: 'apps/v1' })).json.message).toBe(
    'cannot bind token to object of type apps/v1, Kind=Secret',
  );
  for (const kind of ['constructor', '__proto__', 'toString'])
    expect((await bound({ apiVersion: 'v1', kind })).json.message).toBe(
      `cannot bind token to object of type /v1, Kind=${kind}`,
    );
  const { code, json } = await bound({ uid: 'x' });
  expect(code).toBe(409);
  expect(json.details?.kind).toBe('Secret');
});
