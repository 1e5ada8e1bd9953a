// Attack: a client's token for the API server is sent to another service, which sends a TokenReview
// to check whether the token is for itself. Each kind of token is valid for the audiences that it
// was issued for, and for no others.

import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const API_SERVER = 'https://kubernetes.default.svc.cluster.local';
const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

const t = serverPerTest({
  tokens: new Map([['static', { name: 'admin', groups: ['system:masters'] }]]),
  serviceAccounts: { signingKey, maxExpirationSeconds: 7200 },
});
beforeEach(async () => {
  await post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'builder' } });
});

const post = (path: string, body: object) => send(t.server, { method: 'POST', path, body });
const request = async (spec: object) =>
  await post('/api/v1/namespaces/default/serviceaccounts/builder/token', { spec });
const tokenFor = async (audiences: readonly string[]): Promise<string> => {
  const { status } = (await request({ audiences })).json as unknown as {
    status: { token: string };
  };
  return status.token;
};
const review = async (token: string, audiences: readonly string[]) =>
  (await post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } })).json[
    'status'
  ];

const tokens: Readonly<Record<string, () => Promise<string>>> = {
  static: () => Promise.resolve('static'),
  'of a ServiceAccount for the API server': () => tokenFor([]),
  'of a ServiceAccount for vault': () => tokenFor(['vault']),
  'of a ServiceAccount for both': () => tokenFor([API_SERVER, 'vault']),
};
const issuedFor: Readonly<Record<string, readonly string[]>> = {
  static: [API_SERVER],
  'of a ServiceAccount for the API server': [API_SERVER],
  'of a ServiceAccount for vault': ['vault'],
  'of a ServiceAccount for both': [API_SERVER, 'vault'],
};
const asked = [
  [],
  [API_SERVER],
  ['vault'],
  ['other'],
  [API_SERVER, 'other'],
  ['vault', API_SERVER],
];

/** A token that names its audiences is refused for them. */
const REFUSED =
  /^(invalid bearer token|\[invalid bearer token, token audiences .* is invalid for the target audiences .*\])$/;

test.each(
  Object.keys(tokens).flatMap((kind) => asked.map((audiences) => [kind, audiences] as const)),
)('a token %s, for audiences %j', async (kind, audiences) => {
  const token = (await tokens[kind]?.()) ?? '';
  const wanted = audiences.length === 0 ? [API_SERVER] : audiences;
  const common = wanted.filter((audience) => issuedFor[kind]?.includes(audience));
  const status = await review(token, audiences);
  if (common.length === 0) {
    expect(status).toEqual({ user: {}, error: expect.stringMatching(REFUSED) as string });
    return;
  }
  expect(status).toMatchObject({ authenticated: true });
  expect((status as { audiences?: unknown }).audiences).toEqual(common);
});

test('the lifetime of a token has a limit, and a request for more gets a warning', async () => {
  const granted = async (expirationSeconds: number) => {
    const { json, warnings } = await request({ expirationSeconds });
    const { spec, status } = json as unknown as {
      spec: { expirationSeconds: number };
      status: { token: string; expirationTimestamp: string };
    };
    const claims = JSON.parse(
      Buffer.from(status.token.split('.')[1] ?? '', 'base64url').toString(),
    ) as {
      exp: number;
      iat: number;
    };
    expect(claims.exp - claims.iat).toBe(spec.expirationSeconds);
    expect(Date.parse(status.expirationTimestamp)).toBe(claims.exp * 1000);
    return [spec.expirationSeconds, warnings];
  };
  expect(await granted(600)).toEqual([600, []]);
  expect(await granted(7200)).toEqual([7200, []]);
  expect(await granted(2 ** 32)).toEqual([
    7200,
    ['requested expiration of 4294967296 seconds shortened to 7200 seconds'],
  ]);
});
