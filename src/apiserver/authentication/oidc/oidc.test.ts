import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { startTestIssuer, type TestIssuer } from '#machinery/net/oidc/testing/test-issuer.ts';
import { makeTestAuthority } from '../../testing/certificates.ts';
import type { UserInfo } from '../../request.ts';
import { ClaimError, type Claims, checkToken } from './claims.ts';
import { OidcAuthenticator } from './oidc-authenticator.ts';
import { type FlagRules, jwtOfFlags, type JwtSettings } from './settings.ts';
import { UserMapping } from './user-mapping.ts';

const CLIENT = 'kubernetes';
const NOW = Date.parse('2026-01-01T00:00:00Z');

const userOfClaims = (claims: Claims, rules: FlagRules): Promise<UserInfo> =>
  new UserMapping(jwtOfFlags(rules)).userOf(claims);

describe('claims', () => {
  const rules = { issuer: 'https://issuer.example', clientId: CLIENT };
  const seconds = NOW / 1000;
  const good = { iss: rules.issuer, aud: CLIENT, exp: seconds + 60, sub: 'jane' };

  test.each<[string, object, string | undefined]>([
    ['of this issuer, for this client', {}, undefined],
    ['for several clients', { aud: ['other', CLIENT] }, undefined],
    ['of another issuer', { iss: 'https://other.example' }, 'different provider'],
    ['for another client', { aud: 'other' }, 'expected audience in ["kubernetes"]'],
    ['without an audience', { aud: undefined }, 'expected audience'],
    ['that has expired', { exp: seconds - 1 }, 'token is expired'],
    ['without an end', { exp: undefined }, 'token is expired'],
    ['whose end is no number', { exp: '9999999999' }, 'token is expired'],
    ['that is not valid yet, by less than five minutes', { nbf: seconds + 299 }, undefined],
    ['that is not valid yet', { nbf: seconds + 301 }, 'not before'],
  ])('a token %s', (_, change, problem) => {
    const check = (): void => checkToken({ ...good, ...change }, jwtOfFlags(rules), NOW);
    if (problem === undefined) check();
    else expect(check).toThrow(problem);
  });

  test('names have the prefix of the issuer, except for e-mail addresses', async () => {
    const name = (claims: object, more: object = {}): Promise<string> =>
      userOfClaims({ ...good, ...claims }, { ...rules, ...more }).then((user) => user.name);
    expect(await name({})).toBe('https://issuer.example#jane');
    expect(await name({}, { usernamePrefix: 'oidc:' })).toBe('oidc:jane');
    expect(await name({}, { usernamePrefix: '-' })).toBe('jane');
    const email = { usernameClaim: 'email' };
    expect(await name({ email: 'jane@example.com' }, email)).toBe('jane@example.com');
    expect(await name({ email: 'jane@example.com', email_verified: true }, email)).toBe(
      'jane@example.com',
    );
    await expect(name({ email: 'a@b', email_verified: false }, email)).rejects.toThrow(
      'oidc: email not verified',
    );
    await expect(name({ email: 'a@b', email_verified: 'true' }, email)).rejects.toThrow(ClaimError);
    await expect(name({}, email)).rejects.toThrow('oidc: parse username claims "email"');
    await expect(name({ sub: 7 })).rejects.toThrow(ClaimError);
    await expect(name({}, { usernameClaim: 'constructor' })).rejects.toThrow(ClaimError);
  });

  test('groups are one string or several, with a prefix', async () => {
    const groups = (value: unknown): Promise<readonly string[]> =>
      userOfClaims(
        { ...good, groups: value },
        { ...rules, groupsClaim: 'groups', groupsPrefix: 'oidc:' },
      ).then((user) => user.groups);
    expect(await groups('admins')).toEqual(['oidc:admins']);
    expect(await groups(['a', 'b'])).toEqual(['oidc:a', 'oidc:b']);
    expect(await groups(undefined)).toEqual([]);
    await expect(groups([1])).rejects.toThrow('oidc: parse groups claim "groups"');
    expect((await userOfClaims({ ...good, groups: ['admins'] }, rules)).groups).toEqual([]);
  });

  test('required claims, and the ID of the token', async () => {
    const required = { ...rules, requiredClaims: { hd: 'example.com' } };
    expect(
      (await userOfClaims({ ...good, hd: 'example.com', jti: 'j-1' }, required)).extra,
    ).toEqual({
      'authentication.kubernetes.io/credential-id': ['JTI=j-1'],
    });
    await expect(userOfClaims(good, required)).rejects.toThrow(
      'oidc: required claim hd not present in ID token',
    );
    await expect(userOfClaims({ ...good, hd: 'other' }, required)).rejects.toThrow(
      'oidc: required claim hd value does not match. Got = other, want = example.com',
    );
  });
});

describe('tokens of an issuer', () => {
  let clock: VirtualClock;
  let issuer: TestIssuer;
  let ca: string;
  let claimServerPair: { readonly cert: string; readonly key: string };
  beforeEach(async () => {
    clock = new VirtualClock({ start: NOW });
    const authority = await makeTestAuthority();
    const { cert, key } = await authority.server();
    ca = authority.cert;
    claimServerPair = { cert, key };
    issuer = await startTestIssuer({
      cert,
      key,
      clientId: CLIENT,
      now: () => clock.now(),
      claims: { sub: 'jane' },
    });
  });
  afterEach(async () => issuer?.stop());

  const create = (more: Partial<JwtSettings> = {}): OidcAuthenticator =>
    new OidcAuthenticator(
      {
        ...jwtOfFlags({ issuer: issuer.url, ca, clientId: CLIENT, usernamePrefix: '-' }),
        ...more,
      },
      { clock, logger: recordingLogger(), audiences: ['api'] },
    );
  const userOf = async (oidc: OidcAuthenticator, token: string) =>
    (await oidc.authenticateToken(token, []))?.user;

  test('a token is accepted until it expires', async () => {
    const oidc = create();
    const token = await issuer.token();
    expect(await userOf(oidc, token)).toEqual({ name: 'jane', groups: [] });
    expect(await oidc.authenticateToken(token, ['api', 'x'])).toMatchObject({ audiences: ['api'] });
    expect(await oidc.authenticateToken(token, ['x'])).toBeUndefined();
    const { length } = issuer.requests;
    await clock.advance(3_599_000);
    expect(await userOf(oidc, token)).toMatchObject({ name: 'jane' });
    await clock.advance(2000);
    expect(await userOf(oidc, token)).toBeUndefined();
    expect(issuer.requests).toHaveLength(length);
  });

  test('a key that is new is fetched; forged tokens do not lead to many requests', async () => {
    const oidc = create();
    const first = await issuer.token();
    expect(await userOf(oidc, first)).toBeDefined();
    await issuer.rotateKey();
    const second = await issuer.token();
    await clock.advance(10_000);
    expect(await userOf(oidc, second)).toBeDefined();
    const { length } = issuer.requests;
    const [head, body] = second.split('.');
    for (let n = 0; n < 20; n++)
      expect(await userOf(oidc, `${head}.${body}.${'A'.repeat(342)}${n}`)).toBe(undefined);
    expect(issuer.requests).toHaveLength(length);
  });

  test('tokens without a signature, of other algorithms and issuers are rejected', async () => {
    const token = await issuer.token();
    const [, body = ''] = token.split('.');
    const encode = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const oidc = create();
    for (const alg of ['none', 'HS256', 'RS512'])
      expect(await userOf(oidc, `${encode({ alg })}.${body}.AAAA`)).toBeUndefined();
    expect(await userOf(oidc, 'a.b.c')).toBeUndefined();
    expect(await userOf(oidc, 'opaque')).toBeUndefined();
    expect(await userOf(create({ signingAlgorithms: ['ES256'] }), token)).toBe(undefined);
    const other = await issuer.token({ iss: 'https://other.example' });
    expect(await userOf(oidc, other)).toBeUndefined();
  });

  test('a provider of an unknown authority, or of another issuer, is not trusted', async () => {
    const token = await issuer.token();
    const { ca: _, ...untrusted } = jwtOfFlags({ issuer: issuer.url, ca, clientId: CLIENT });
    const services = { clock, logger: recordingLogger(), audiences: ['api'] };
    expect(await userOf(new OidcAuthenticator(untrusted, services), token)).toBeUndefined();
    // The configuration at this address names another issuer.
    const provider = new OidcProvider({ issuer: `${issuer.url}/`, ca, clock });
    await expect(provider.metadata()).rejects.toThrow('another issuer');
  });

  test('a provider that was away is asked again after ten seconds', async () => {
    const oidc = create();
    const token = await issuer.token();
    const { url } = issuer;
    await issuer.stop();
    expect(await userOf(oidc, token)).toBeUndefined();
    const away = new OidcProvider({ issuer: url, ca, clock });
    const failure = away.metadata();
    await expect(failure).rejects.toThrow();
    expect(away.metadata()).toBe(failure);
    await clock.advance(10_000);
    const next = away.metadata();
    expect(next).not.toBe(failure);
    await expect(next).rejects.toThrow();
  });

  describe('with groups at another address', () => {
    let answer: (authorization: string | undefined) => Promise<readonly [number, string]>;
    let asked: (string | undefined)[];
    let claimServer: Server;
    let endpoint: string;
    beforeEach(async () => {
      asked = [];
      claimServer = createServer(claimServerPair, (request, response) => {
        const { authorization } = request.headers;
        asked.push(authorization);
        void answer(authorization).then(([status, text]) => response.writeHead(status).end(text));
      });
      await new Promise<void>((resolve) => claimServer.listen(0, '127.0.0.1', resolve));
      endpoint = `https://127.0.0.1:${(claimServer.address() as AddressInfo).port}/groups`;
    });
    afterEach(() => {
      claimServer.closeAllConnections();
      claimServer.close();
    });

    const distributed = (more: object = {}) =>
      issuer.token({ _claim_names: { groups: 'a' }, _claim_sources: { a: { endpoint, ...more } } });
    const mapped = () => create({ groups: { claim: 'groups', prefix: 'x:' } });

    test('they are requested, with the access token, and kept for ten seconds', async () => {
      answer = async () => [200, `${await issuer.token({ groups: ['dev', 'ops'] })}\n`];
      const oidc = mapped();
      const token = await distributed({ access_token: 'secret' });
      const groups = ['x:dev', 'x:ops'];
      expect(await Promise.all([userOf(oidc, token), userOf(oidc, token)])).toMatchObject([
        { name: 'jane', groups },
        { groups },
      ]);
      expect(asked).toEqual(['Bearer secret']);
      await clock.advance(9000);
      expect(await userOf(oidc, token)).toMatchObject({ groups });
      expect(asked).toHaveLength(1);
      await clock.advance(1000);
      expect(await userOf(oidc, token)).toMatchObject({ groups });
      expect(asked).toHaveLength(2);
    });

    test('a token without them elsewhere, or with its own, is as before', async () => {
      const oidc = mapped();
      const names = { _claim_names: { groups: 'a' } };
      for (const [claims, groups] of [
        [{ ...names, groups: 'own' }, ['x:own']],
        [{ _claim_names: { other: 'a' }, _claim_sources: {} }, []],
        // A claim in a token within the token, as upstream.
        [{ ...names, _claim_sources: { a: { JWT: 'x.y.z' } } }, []],
      ] as const)
        expect(await userOf(oidc, await issuer.token(claims))).toMatchObject({ groups });
      expect(await userOf(create(), await distributed())).toMatchObject({ groups: [] });
      expect(asked).toEqual([]);
    });

    test('without a valid answer the token is rejected, with the reason', async () => {
      const oidc = mapped();
      const reasonOf = async (token: string): Promise<string> => {
        const reasons: string[] = [];
        const refuse = (reason: string): undefined => void reasons.push(reason);
        expect(await oidc.authenticateToken(token, [], refuse)).toBeUndefined();
        return reasons.join();
      };
      const [head, body] = (await issuer.token({ groups: ['root'] })).split('.');
      for (const [text, reason] of [
        [await issuer.token({}), 'did not contain claim: groups'],
        [await issuer.token({ groups: ['dev'], aud: 'other' }), 'expected audience'],
        [await issuer.token({ groups: ['dev'], exp: 1 }), 'token is expired'],
        [`${head}.${body}.${'A'.repeat(342)}`, 'failed to verify signature'],
        ['no token', 'getting untrusted issuer from endpoint'],
      ] as const) {
        answer = () => Promise.resolve([200, text]);
        expect(await reasonOf(await distributed())).toContain(reason);
      }
      answer = () => Promise.resolve([403, 'no']);
      expect(await reasonOf(await distributed())).toMatch(
        /^oidc: could not expand distributed claims: while getting distributed claim "groups": .*403/,
      );
      const names = { _claim_names: { groups: 'a' } };
      for (const [claims, reason] of [
        [names, 'no claim sources'],
        [{ ...names, _claim_sources: {} }, 'contained a source a missing'],
        [{ ...names, _claim_sources: { a: { endpoint: 5 } } }, 'could not parse claim sources'],
        [{ _claim_names: 'a' }, 'error parsing distributed claim names'],
        [{ ...names, _claim_sources: { a: { endpoint: 'http://127.0.0.1' } } }, 'not an https'],
      ] as const)
        expect(await reasonOf(await issuer.token(claims))).toContain(reason);
    });
  });
});
