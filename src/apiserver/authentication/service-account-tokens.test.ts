import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { tokenKeysOf } from '#machinery/token-keys.ts';
import type { Find } from '../catalog/internal-client.ts';
import { ServiceAccountTokens, type TokenWish } from './service-account-tokens.ts';
import { LocalKeyring } from './token-keyring.ts';

const account = { metadata: { name: 'builder', namespace: 'web', uid: 'account-uid' } };
const pod = { kind: 'Pod', name: 'builder-0', uid: 'pod-uid' } as const;

function newTokens(
  objects: Readonly<Record<string, { readonly uid: string }>>,
  extendExpiration = false,
) {
  const clock = new VirtualClock();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const find = ((_group: string, resource: string, namespace: string, name: string) => {
    const object = objects[`${resource}/${namespace}/${name}`];
    return Promise.resolve(object && { metadata: { name, namespace, ...object } });
  }) as Find;
  return {
    clock,
    privateKey,
    tokens: new ServiceAccountTokens({
      clock,
      random: new SeededRandom(1),
      find,
      keyring: new LocalKeyring(signingKey),
      extendExpiration,
    }),
  };
}

const wish = (more: Partial<TokenWish> = {}): TokenWish => ({
  serviceAccount: account as TokenWish['serviceAccount'],
  audiences: [],
  expirationSeconds: 600,
  ...more,
});

const everything = {
  'serviceaccounts/web/builder': { uid: 'account-uid' },
  'pods/web/builder-0': { uid: 'pod-uid' },
};

describe('tokens of ServiceAccounts', () => {
  test('identify their ServiceAccount for their audiences', async () => {
    const { tokens } = newTokens(everything);
    const { token } = await tokens.sign(wish({ bound: pod }));
    expect(decodeProtectedHeader(token)).toEqual({
      alg: 'ES256',
      kid: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    expect(await tokens.authenticateToken(token, [])).toMatchObject({
      user: {
        name: 'system:serviceaccount:web:builder',
        uid: 'account-uid',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:web'],
        extra: { 'authentication.kubernetes.io/pod-name': ['builder-0'] },
      },
    });
    const vault = (await tokens.sign(wish({ audiences: ['vault'] }))).token;
    expect(await tokens.authenticateToken(vault, [])).toBeUndefined();
    expect(await tokens.authenticateToken(vault, ['vault', 'other'])).toMatchObject({
      audiences: ['vault'],
    });
  });

  test('are valid for their lifetime', async () => {
    const { tokens, clock } = newTokens(everything);
    const { token, expirationMs } = await tokens.sign(wish());
    expect(expirationMs).toBe(Math.floor(clock.now() / 1000) * 1000 + 600_000);
    await clock.advance('9m');
    expect(await tokens.authenticateToken(token, [])).toBeDefined();
    await clock.advance('2m');
    expect(await tokens.authenticateToken(token, [])).toBeUndefined();
  });

  test('that every pod gets live for a year if they are extended, and become stale', async () => {
    const { tokens, clock } = newTokens(everything, true);
    const mounted = wish({ bound: pod, expirationSeconds: 3607 });
    const { token, expirationMs } = await tokens.sign(mounted);
    const issued = Math.floor(clock.now() / 1000);
    expect(expirationMs).toBe((issued + 3607) * 1000);
    const lifeOf = (text: string): number => (decodeJwt(text).exp as number) - issued;
    expect(lifeOf(token)).toBe(365 * 24 * 3600);
    expect(decodeJwt(token)['kubernetes.io']).toMatchObject({ warnafter: issued + 3607 });
    for (const other of [
      wish({ expirationSeconds: 3607 }),
      { ...mounted, expirationSeconds: 3600 },
      { ...mounted, audiences: ['vault'] },
    ])
      expect(lifeOf((await tokens.sign(other)).token)).toBe(other.expirationSeconds);
    expect((await tokens.authenticateToken(token, []))?.notes).toBeUndefined();
    await clock.advance('1h');
    await clock.advance('12s');
    expect((await tokens.authenticateToken(token, []))?.notes).toEqual({
      'authentication.k8s.io/stale-token':
        'subject: system:serviceaccount:web:builder, seconds after warning threshold: 5',
    });
    expect(tokens.metrics()).toContain('serviceaccount_stale_tokens_total 1\n');
    expect(tokens.metrics()).toContain('serviceaccount_valid_tokens_total 1\n');
  });

  test('of a pod may name a node that was gone', async () => {
    const { tokens } = newTokens(everything);
    const { token } = await tokens.sign(wish({ bound: pod, node: { name: 'worker-1' } }));
    const { extra } = (await tokens.authenticateToken(token, []))?.user ?? {};
    expect(extra).toMatchObject({ 'authentication.kubernetes.io/node-name': ['worker-1'] });
    expect(extra).not.toHaveProperty('authentication.kubernetes.io/node-uid');
  });

  test('are valid a minute before and after their lifetime, since clocks differ', async () => {
    const { tokens, clock, privateKey } = newTokens(everything);
    const signed = async (claims: object): Promise<string> => {
      const [, payload = ''] = (await tokens.sign(wish())).token.split('.');
      const own = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload;
      return new SignJWT({ ...own, ...claims })
        .setProtectedHeader({ alg: 'ES256' })
        .sign(privateKey);
    };
    const now = Math.floor(clock.now() / 1000);
    expect(await tokens.authenticateToken(await signed({ nbf: now + 50 }), [])).toBeDefined();
    expect(await tokens.authenticateToken(await signed({ nbf: now + 70 }), [])).toBeUndefined();
    const token = await signed({ exp: now - 50 });
    expect(await tokens.authenticateToken(token, [])).toBeDefined();
    // The signature of this token is cached.
    await clock.advance('20s');
    expect(await tokens.authenticateToken(token, [])).toBeUndefined();
  });

  test.each([
    { 'kubernetes.io': null },
    { 'kubernetes.io': 'x' },
    { 'kubernetes.io': { namespace: 'web', serviceaccount: null } },
    { 'kubernetes.io': { namespace: 'web', serviceaccount: { name: 5, uid: 'account-uid' } } },
    { 'kubernetes.io': { namespace: 5, serviceaccount: { name: 'builder', uid: 'account-uid' } } },
    {
      'kubernetes.io': {
        namespace: 'web',
        serviceaccount: { name: 'builder', uid: 'account-uid' },
        pod: null,
      },
    },
    { aud: 5 },
  ])('are rejected with claims of wrong types: %j', async (claims) => {
    const { tokens, privateKey } = newTokens(everything);
    const [, payload = ''] = (await tokens.sign(wish())).token.split('.');
    const own = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JWTPayload;
    const token = await new SignJWT({ ...own, ...(claims as JWTPayload) })
      .setProtectedHeader({ alg: 'ES256' })
      .sign(privateKey);
    expect(await tokens.authenticateToken(token, [])).toBeUndefined();
  });

  test('are not read if they are longer than any valid token', async () => {
    const { tokens } = newTokens(everything);
    expect(await tokens.authenticateToken('.'.repeat(1_000_000), [])).toBeUndefined();
    expect(await tokens.authenticateToken(`${'a'.repeat(100_000)}.b.c`, [])).toBeUndefined();
  });

  test('are valid as long as the objects that they are bound to', async () => {
    const { tokens } = newTokens({ ...everything, 'pods/web/builder-0': { uid: 'another' } });
    expect(await tokens.authenticateToken((await tokens.sign(wish())).token, [])).toBeDefined();
    expect(
      await tokens.authenticateToken((await tokens.sign(wish({ bound: pod }))).token, []),
    ).toBeUndefined();
  });

  test('must be of this cluster, and unchanged', async () => {
    const { tokens } = newTokens(everything);
    const { token } = await tokens.sign(wish());
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...claims, exp: 9_999_999_999 })).toString(
      'base64url',
    );
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const other of [
      `${header}.${forged}.${signature}`,
      `${unsigned}.${payload}.`,
      (await newTokens(everything).tokens.sign(wish())).token,
      'a.b.c',
      'x',
    ]) {
      expect(await tokens.authenticateToken(other, [])).toBeUndefined();
    }
    expect(await tokens.authenticateToken(token, [])).toBeDefined();
  });
});

test('a token that is not valid has a reason', async () => {
  const { tokens, clock, privateKey } = newTokens({
    ...everything,
    'pods/web/builder-0': { uid: 'another' },
  });
  const reasonsOf = async (token: string, audiences: readonly string[] = []): Promise<string[]> => {
    const reasons: string[] = [];
    const refuse = (reason: string): undefined => void reasons.push(reason);
    expect(await tokens.authenticateToken(token, audiences, refuse)).toBeUndefined();
    return reasons;
  };
  const { token } = await tokens.sign(wish());
  const [header, payload] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString()) as JWTPayload;
  const signed = (more: object): Promise<string> =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
  const now = Math.floor(clock.now() / 1000);
  expect(await reasonsOf('opaque')).toEqual([]);
  expect(await reasonsOf(await signed({ iss: 'https://other' }))).toEqual([]);
  expect(await reasonsOf((await newTokens(everything).tokens.sign(wish())).token)).toEqual([
    'invalid signature, no keys found',
  ]);
  expect(await reasonsOf(`${header}.${payload}.AAAA`)).toEqual([
    'go-jose/go-jose: error in cryptographic primitive',
  ]);
  expect(await reasonsOf(await signed({ iat: now + 70 }))).toEqual([
    'service account token is issued in the future',
  ]);
  expect(await reasonsOf((await tokens.sign(wish({ bound: pod }))).token)).toEqual([
    'pod UID (another) does not match service account pod ref claim (pod-uid)',
  ]);
  await clock.advance('1h');
  expect(await reasonsOf(token)).toEqual(['service account token has expired']);
});

describe('keys of tokens', () => {
  const pem = (key: KeyObject): string =>
    key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString();
  const find = (() =>
    Promise.resolve({
      metadata: { name: 'builder', namespace: 'web', uid: 'account-uid' },
    })) as unknown as Find;
  const make = (
    signingKey: string,
    publicKeys?: readonly string[],
    more: object = {},
  ): ServiceAccountTokens =>
    new ServiceAccountTokens({
      clock: new VirtualClock(),
      random: new SeededRandom(1),
      find,
      keyring: new LocalKeyring(signingKey, publicKeys),
      ...more,
    });

  test.each([
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
    ['ES512', generateKeyPairSync('ec', { namedCurve: 'P-521' })],
  ])('%s signs, and its public key verifies', async (algorithm, { privateKey, publicKey }) => {
    const tokens = make(pem(privateKey), [pem(publicKey)]);
    const { token } = await tokens.sign(wish());
    const [key] = tokens.published().keys;
    expect(decodeProtectedHeader(token)).toEqual({ alg: algorithm, kid: key?.keyId });
    expect(await tokens.authenticateToken(token, [])).toBeDefined();
  });

  test('may be several during a rotation; a token of another key is rejected', async () => {
    const [old, current, foreign] = [1, 2, 3].map(() =>
      generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ) as [KeyPairKeyObjectResult, KeyPairKeyObjectResult, KeyPairKeyObjectResult];
    const tokens = make(pem(current.privateKey), [pem(current.publicKey) + pem(old.publicKey)]);
    expect(tokens.published().keys).toHaveLength(2);
    expect(
      await tokens.authenticateToken((await make(pem(old.privateKey)).sign(wish())).token, []),
    ).toBeDefined();
    expect(
      await tokens.authenticateToken((await make(pem(foreign.privateKey)).sign(wish())).token, []),
    ).toBeUndefined();
  });

  test('of another issuer are accepted if the issuer is configured', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const before = make(pem(privateKey), undefined, { issuer: 'https://before' });
    const { token } = await before.sign(wish({ audiences: ['https://now'] }));
    const now = { issuer: 'https://now' };
    expect(
      await make(pem(privateKey), undefined, now).authenticateToken(token, []),
    ).toBeUndefined();
    const accepting = make(pem(privateKey), undefined, {
      ...now,
      acceptedIssuers: ['https://before'],
    });
    expect(await accepting.authenticateToken(token, [])).toBeDefined();
  });

  test('must be of a supported type', () => {
    expect(() => make(pem(generateKeyPairSync('ed25519').privateKey))).toThrow(
      'the key must be RSA, or EC',
    );
    expect(() => tokenKeysOf('nothing')).toThrow('no PEM-encoded key');
  });
});
