// Tokens of ServiceAccounts that were changed, forged, or outlived their objects.

import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { type AnswerBody, type SecuredCluster, startSecuredCluster } from './cluster.ts';

let cluster: SecuredCluster;
let token: string;
beforeAll(async () => {
  cluster = await startSecuredCluster();
  token = await cluster.account('team', 'robot', ['view']);
});
afterAll(() => cluster.stop());

type Claims = Readonly<Record<string, unknown>>;

const encode = (value: string | Buffer | object): string =>
  Buffer.from(
    typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value),
  ).toString('base64url');
const parts = (): { header: Claims; payload: Claims; signature: string } => {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const decode = (text: string): Claims =>
    JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  return { header: decode(header), payload: decode(payload), signature };
};
const status = async (bearer: string): Promise<number> =>
  (await cluster.request({ path: '/api/v1/namespaces/team/pods', token: bearer })).code;

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Returns a token with these changes, signed by another key of the same kind. */
function forged(header: Claims, payload: Claims): string {
  const text = `${encode({ ...parts().header, ...header })}.${encode({ ...parts().payload, ...payload })}`;
  const { alg } = { ...parts().header, ...header };
  if (alg === 'RS256')
    return `${text}.${encode(sign('sha256', Buffer.from(text), rsa.privateKey))}`;
  return `${text}.${encode(sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }))}`;
}

test('the token itself is accepted', async () => {
  expect(await status(token)).toBe(200);
});

describe('is refused', () => {
  const unsigned = (header: Claims): string =>
    `${encode({ ...parts().header, ...header })}.${encode(parts().payload)}.`;
  const hmac = (secret: string): string => {
    const text = `${encode({ ...parts().header, alg: 'HS256' })}.${encode(parts().payload)}`;
    return `${text}.${encode(createHmac('sha256', secret).update(text).digest())}`;
  };
  const jwk = publicKey.export({ format: 'jwk' }) as Claims;

  test.each<[string, () => string]>([
    ['alg none', () => unsigned({ alg: 'none' })],
    ['alg None', () => unsigned({ alg: 'None' })],
    ['an empty signature', () => unsigned({})],
    ['a cut signature', () => token.slice(0, -4)],
    ['a changed signature', () => `${token.slice(0, -6)}AAAAAA`],
    [
      'another payload with the same signature',
      () =>
        `${encode(parts().header)}.` +
        encode({ ...parts().payload, sub: 'system:serviceaccount:kube-system:default' }) +
        `.${parts().signature}`,
    ],
    [
      'another header with the same signature',
      () =>
        `${encode({ ...parts().header, typ: 'at+jwt' })}.${encode(parts().payload)}.${parts().signature}`,
    ],
    ['HS256 with an empty secret', () => hmac('')],
    ['HS256 with the certificate authority as its secret', () => hmac(cluster.caCertificate)],
    ['another key', () => forged({}, {})],
    ['an embedded key', () => forged({ jwk }, {})],
    [
      'a key by its address',
      () => forged({ jku: 'https://127.0.0.1:1/keys', x5u: 'https://127.0.0.1:1/certificate' }, {}),
    ],
    ['a critical extension', () => forged({ crit: ['b64'], b64: false }, {})],
    ['RS256 with another key', () => forged({ alg: 'RS256' }, {})],
    ['another subject', () => forged({}, { sub: 'system:serviceaccount:kube-system:default' })],
    ['four parts', () => `${token}.x`],
    ['two parts', () => token.split('.').slice(0, 2).join('.')],
    ['five parts (encrypted)', () => `${token}.x.y`],
    ['no base64', () => 'a.b.c'],
    ['a long text', () => 'a'.repeat(12_000)],
    [
      'an array as the payload',
      () => `${encode(parts().header)}.${encode('[]')}.${parts().signature}`,
    ],
    [
      'null as the header',
      () => `${encode('null')}.${encode(parts().payload)}.${parts().signature}`,
    ],
  ])('%s', async (_, make) => {
    expect(await status(make())).toBe(401);
  });
});

describe('a token that the server issued is refused', () => {
  const create = (path: string, body: object): Promise<AnswerBody> =>
    cluster.expect(201, { method: 'POST', path, body }).then(({ json }) => json);
  const tokenOf = async (name: string, spec: object): Promise<string> =>
    (await create(`/api/v1/namespaces/team/serviceaccounts/${name}/token`, { spec })).status.token;
  const until = (bearer: string, code: number): Promise<void> =>
    wait.pollImmediately(
      { clock: systemClock, intervalMs: 20, timeoutMs: 60_000 },
      async () => (await status(bearer)) === code,
    );
  const whoami = async (bearer: string): Promise<number> =>
    (
      await cluster.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
        token: bearer,
      })
    ).code;

  test('for another audience', async () => {
    expect(await whoami(await tokenOf('robot', { audiences: ['other-audience'] }))).toBe(401);
  });

  test('after its pod is gone', async () => {
    const { metadata } = await create('/api/v1/namespaces/team/secrets', {
      metadata: { name: 'bound' },
    });
    const bound = await tokenOf('robot', {
      boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'bound', uid: metadata.uid },
    });
    expect(await status(bound)).toBe(200);
    await cluster.expect(200, { method: 'DELETE', path: '/api/v1/namespaces/team/secrets/bound' });
    await until(bound, 401);
  });

  test('after its account is recreated under the same name', async () => {
    const old = await cluster.account('team', 'short-lived', ['view']);
    expect(await status(old)).toBe(200);
    const path = '/api/v1/namespaces/team/serviceaccounts';
    await cluster.expect(200, { method: 'DELETE', path: `${path}/short-lived` });
    await create(path, { metadata: { name: 'short-lived' } });
    await until(old, 401);
    expect(await status(await tokenOf('short-lived', {}))).toBe(200);
  });

  test.each([
    [599, 422],
    [600, 201],
    [2 ** 32 + 1, 422],
    [-1, 422],
  ])('an expiration of %i s is answered with %i', async (expirationSeconds, code) => {
    const path = '/api/v1/namespaces/team/serviceaccounts/robot/token';
    expect(
      (await cluster.request({ method: 'POST', path, body: { spec: { expirationSeconds } } })).code,
    ).toBe(code);
  });

  test('as a TokenReview of another audience', async () => {
    const path = '/apis/authentication.k8s.io/v1/tokenreviews';
    const { status: review } = await create(path, {
      spec: { token, audiences: ['other-audience'] },
    });
    expect(review.authenticated ?? false).toBe(false);
  });
});
