import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { fetchedKey, newKey, TestSigner } from './testing/test-signer.ts';

const TOKENS = '/api/v1/namespaces/default/serviceaccounts/robot/token';
const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews';

let dir: string;
let signer: TestSigner;
let clock: VirtualClock;
let t: TestServer;
let api: Api;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-signer-'));
  const signingEndpoint = join(dir, 'signer.sock');
  signer = new TestSigner();
  await signer.listen(signingEndpoint);
  clock = new VirtualClock();
  const serviceAccounts = { signingEndpoint, maxExpirationSeconds: 7200 };
  t = await startTestServer({ clock, serviceAccounts });
  api = new Api(t);
  await api.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } });
});
afterEach(async () => {
  await t.stop();
  signer.close();
  rmSync(dir, { recursive: true });
});

const newToken = async (): Promise<string> => {
  const { json } = await api.post(TOKENS, { spec: { expirationSeconds: 3600 } });
  return (json as { readonly status: { readonly token: string } }).status.token;
};
const isAccepted = async (token: string): Promise<boolean> => {
  const { json } = await api.post(REVIEWS, { spec: { token } });
  return (json as { status: { authenticated?: boolean } }).status.authenticated === true;
};

describe('tokens', () => {
  test('are signed by the program, and accepted with its keys', async () => {
    const token = await newToken();
    const [header] = token.split('.');
    expect(JSON.parse(Buffer.from(header!, 'base64url').toString())).toEqual(signer.header);
    expect(await isAccepted(token)).toBe(true);
  });

  test('of another key with the same ID are rejected', async () => {
    signer.key = newKey();
    expect(await isAccepted(await newToken())).toBe(false);
  });

  test('of a key that is not known yet make the server read the keys', async () => {
    signer.key = newKey();
    signer.header = { ...signer.header, kid: 'two' };
    signer.keys = [...signer.keys, fetchedKey('two', signer.key)];
    expect(await isAccepted(await newToken())).toBe(true);
  });

  test('of a key that is gone are rejected once the keys are read again', async () => {
    const token = await newToken();
    signer.keys = [fetchedKey('two', newKey())];
    expect(await isAccepted(token)).toBe(true);
    await clock.advance('31s');
    expect(await isAccepted(token)).toBe(false);
  });

  test.each<[string, object, string]>([
    ['type', { typ: 'x' }, 'while validating header: bad type'],
    ['algorithm', { alg: 'none' }, 'while validating header: bad signing algorithm "none"'],
    ['key ID', { kid: '' }, 'while validating header: key id missing'],
    ['field', { jku: 'x' }, 'while parsing header JSON: json: unknown field "jku"'],
  ])('with another %s are not issued', async (_, header, problem) => {
    signer.header = { ...signer.header, ...header };
    const text = outcome(await api.post(TOKENS, {}));
    expect(text).toContain('500 InternalError');
    expect(text).toContain(`failed to generate token: `);
    expect(text).toContain(problem);
  });

  test('of a hidden key are accepted, but not issued', async () => {
    const token = await newToken();
    signer.keys = [fetchedKey('one', signer.key, { excludeFromOidcDiscovery: true })];
    await clock.advance('31s');
    expect(await isAccepted(token)).toBe(true);
    expect(outcome(await api.post(TOKENS, {}))).toContain(
      'key used for signing JWT (kid: one) is excluded from OIDC discovery docs',
    );
  });
});

test('the key set has the keys that are not hidden, for as long as they are valid', async () => {
  signer.keys = [
    fetchedKey('one', signer.key),
    fetchedKey('hidden', newKey(), { excludeFromOidcDiscovery: true }),
  ];
  await clock.advance('31s');
  const { headers, json } = await send(t.server, { path: '/openid/v1/jwks' });
  expect(json).toMatchObject({ keys: [{ kid: 'one' }] });
  expect(headers['cache-control']).toMatch(/^public, max-age=(?:30|29)$/);
});

test('keys that cannot be used are left out, and the metrics say so', async () => {
  signer.refreshHintSeconds = 0;
  await clock.advance('31s');
  expect(await isAccepted(await newToken())).toBe(true);
  expect(t.logger.errors).toHaveLength(1);
  signer.fails = true;
  expect(outcome(await api.post(TOKENS, {}))).toContain('the vault is closed');
  const { text } = await send(t.server, { path: '/metrics' });
  const of = (name: string): readonly string[] =>
    text.split('\n').filter((line) => line.startsWith(`apiserver_externaljwt_${name}`));
  expect(of('fetch_keys_request_total')).toEqual([
    'apiserver_externaljwt_fetch_keys_request_total{code="OK"} 1',
    'apiserver_externaljwt_fetch_keys_request_total{code="unknown-non-grpc"} 1',
  ]);
  expect(of('sign_request_total')).toEqual([
    'apiserver_externaljwt_sign_request_total{code="OK"} 1',
    'apiserver_externaljwt_sign_request_total{code="Unavailable"} 1',
  ]);
  expect(of('fetch_keys_data_timestamp')).toEqual([
    'apiserver_externaljwt_fetch_keys_data_timestamp 1700000000.5',
  ]);
});
