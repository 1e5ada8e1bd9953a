// Signing in at an OpenID Connect provider, by requests as a browser sends them.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import type { RawResponse } from '#apiserver/testing/requests.ts';
import { jwtOfFlags } from '#apiserver/authentication/oidc/settings.ts';
import { systemClock, VirtualClock } from '#machinery/clock.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import { startTestIssuer, type TestIssuer } from '#machinery/net/oidc/testing/test-issuer.ts';
import { SeededRandom } from '#machinery/random.ts';
import {
  type ConsoleServer,
  cookieIn,
  HOST,
  startConsoleServer,
} from '../../testing/console-server.ts';
import { OIDC_COOKIE } from './oidc-paths.ts';
import { Sealer } from './sealed.ts';
import { OidcSignIn } from './sign-in.ts';

const CLIENT_ID = 'console';
const SECRET = 'a secret/with: signs';
const CALLBACK = `https://${HOST}/console/oidc/callback`;

let issuer: TestIssuer;
let running: ConsoleServer;
let failures: string[];
let ca: string;

const CLAIMS = { sub: 'jane', groups: ['developers'] };

beforeAll(async () => {
  const authority = await makeTestAuthority();
  const { cert, key } = await authority.server();
  ca = authority.cert;
  issuer = await startTestIssuer({
    cert,
    key,
    clientId: CLIENT_ID,
    now: () => running.clock.now(),
    claims: CLAIMS,
  });
});
afterAll(() => issuer.stop());

beforeEach(async () => {
  issuer.claims = CLAIMS;
  issuer.lifeSeconds = 3600;
  issuer.refreshTokens = 'none';
  issuer.requests.length = 0;
  failures = [];
  const provider = new OidcProvider({ issuer: issuer.url, ca, clock: systemClock });
  const jwt = [
    jwtOfFlags({
      issuer: issuer.url,
      ca,
      clientId: CLIENT_ID,
      usernamePrefix: '-',
      groupsClaim: 'groups',
    }),
  ];
  running = await startConsoleServer(
    {
      oidc: { provider, clientId: CLIENT_ID, scopes: ['openid', 'groups'] },
      onSignInFailure: (reason) => failures.push(reason),
    },
    { jwt: () => jwt },
  );
});
afterEach(() => running.stop());

/** Sends a request of a browser that follows a link or a redirect: without the page's header. */
const follow = (path: string, cookie?: string): Promise<RawResponse> =>
  running.page('GET', path, {
    headers: {
      'x-coxswain-console': undefined,
      origin: undefined,
      'sec-fetch-site': 'cross-site',
      ...(cookie !== undefined && { cookie: `${OIDC_COOKIE}=${cookie}` }),
    },
  });

function begunCookie(response: RawResponse): string {
  const header = String(response.headers['set-cookie']);
  return new RegExp(`^${OIDC_COOKIE}=([^;]+);`).exec(header)?.[1] ?? '';
}

/** Begins a sign-in. Returns the cookie, and the path with which the provider sends the browser back. */
async function begin(route = ''): Promise<{ readonly cookie: string; readonly back: string }> {
  const response = await follow(`/console/oidc/login?route=${encodeURIComponent(route)}`);
  expect(response.code).toBe(303);
  const back = new URL(issuer.approve(String(response.headers['location'])));
  return { cookie: begunCookie(response), back: `${back.pathname}${back.search}` };
}

test('the ways in are shown without a session', async () => {
  expect((await running.page('GET', '/console/sign-in')).json).toEqual({
    oidc: { issuer: issuer.url },
  });
});

test('a browser goes to the provider, and returns with a session', async () => {
  const response = await follow('/console/oidc/login?route=%2Flist%2Fpods');
  const location = new URL(String(response.headers['location']));
  expect(location.origin).toBe(issuer.url);
  expect(Object.fromEntries(location.searchParams)).toMatchObject({
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: CALLBACK,
    scope: 'openid groups',
    code_challenge_method: 'S256',
  });
  for (const secret of ['state', 'nonce', 'code_challenge'])
    expect(location.searchParams.get(secret)).toMatch(/^[\w-]{43}$/);
  expect(String(response.headers['set-cookie'])).toMatch(
    /; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
  );

  const back = new URL(issuer.approve(location.href));
  const returned = await follow(`${back.pathname}${back.search}`, begunCookie(response));
  expect(returned).toMatchObject({
    code: 303,
    headers: { location: '/console/#/list/pods', 'cache-control': 'no-store' },
  });
  expect(returned.headers['set-cookie']).toEqual([
    expect.stringMatching(/^__Host-coxswain-console=[\w-]{43};/),
    expect.stringMatching(/^__Host-coxswain-console-oidc=;.*; Max-Age=0$/),
  ]);
  const cookie = cookieIn(returned);
  expect((await running.page('GET', '/console/session', { cookie })).json).toMatchObject({
    user: 'jane',
    groups: ['developers', 'system:authenticated'],
    // The session ends with the token.
    expires: new Date(Math.floor(running.clock.now() / 1000) * 1000 + 3_600_000).toISOString(),
  });
  expect(failures).toEqual([]);
});

describe('no session', () => {
  const problemOf = async (path: string, cookie?: string): Promise<string> => {
    const { code, headers } = await follow(path, cookie);
    expect(code).toBe(303);
    expect(String(headers['set-cookie'])).not.toContain('__Host-coxswain-console=');
    return String(headers['location']);
  };

  test('for a sign-in that this browser has not begun', async () => {
    const { back, cookie } = await begin();
    const other = await begin();
    expect(await problemOf(back)).toBe('/console/#sign-in=not-begun');
    expect(await problemOf(back, other.cookie)).toBe('/console/#sign-in=not-begun');
    expect(await problemOf(back, `${cookie.slice(0, -4)}AAAA`)).toBe('/console/#sign-in=not-begun');
    expect(await problemOf('/console/oidc/callback', cookie)).toBe('/console/#sign-in=not-begun');
    expect(issuer.requests).not.toContain('/token');
  });

  test('for a sign-in that has taken too long', async () => {
    const { back, cookie } = await begin();
    await running.clock.advance(10 * 60_000);
    expect(await problemOf(back, cookie)).toBe('/console/#sign-in=not-begun');
  });

  test('for a code that is used again', async () => {
    const { back, cookie } = await begin();
    expect((await follow(back, cookie)).headers['location']).toBe('/console/');
    expect(await problemOf(back, cookie)).toBe('/console/#sign-in=provider-error');
    expect(failures.at(-1)).toContain('"invalid_grant"');
  });

  test('for a token with another nonce', async () => {
    const { back, cookie } = await begin();
    issuer.claims = { ...issuer.claims, nonce: 'of-another-sign-in' };
    expect(await problemOf(back, cookie)).toBe('/console/#sign-in=not-accepted');
  });

  test('for a token that the API server does not accept', async () => {
    issuer.claims = { ...issuer.claims, aud: 'another-client' };
    const { back, cookie } = await begin();
    expect(await problemOf(back, cookie)).toBe('/console/#sign-in=not-accepted');
  });

  test('for a response of another issuer, an error, or no code', async () => {
    const { back, cookie } = await begin();
    const changed = (name: string, value: string | undefined): string => {
      const url = new URL(back, 'https://x');
      if (value === undefined) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
      return `${url.pathname}${url.search}`;
    };
    const other = changed('iss', 'https://other.example');
    expect(await problemOf(other, cookie)).toBe('/console/#sign-in=provider-error');
    expect(await problemOf(changed('error', 'access_denied'), cookie)).toBe(
      '/console/#sign-in=denied',
    );
    // Texts of the provider do not reach the page.
    expect(await problemOf(changed('error', '<script>'), cookie)).toBe(
      '/console/#sign-in=provider-error',
    );
    expect(await problemOf(changed('code', undefined), cookie)).toBe(
      '/console/#sign-in=provider-error',
    );
    expect(issuer.requests).not.toContain('/token');
  });

  test('after many failures of an address', async () => {
    const { back, cookie } = await begin();
    for (let n = 0; n < 10; n++) await follow('/console/oidc/callback');
    expect(await problemOf(back, cookie)).toBe('/console/#sign-in=too-many');
    await running.clock.advance(6000);
    expect((await follow(back, cookie)).headers['location']).toBe('/console/');
  });
});

describe('a session with a refresh token', () => {
  const MINUTE_MS = 60_000;
  let cookie: string;
  const session = () => running.page('GET', '/console/session', { cookie });
  const refreshes = (): number => issuer.requests.filter((path) => path === '/token').length - 1;
  /** Advances the time, in which the page uses the session. */
  const advance = async (minutes: number): Promise<void> => {
    for (let left = minutes; left > 0; left -= 30) {
      await running.clock.advance(Math.min(left, 30) * MINUTE_MS);
      await running.page('GET', '/console/api/features', { cookie });
    }
  };

  beforeEach(async () => {
    issuer.refreshTokens = 'accepted';
    const begun = await begin();
    cookie = cookieIn(await follow(begun.back, begun.cookie));
  });

  test('goes on with the next ID token, and the groups of it', async () => {
    const end = new Date(running.clock.now() + 12 * 3_600_000).toISOString();
    expect((await session()).json).toMatchObject({ user: 'jane', expires: end });
    await advance(50);
    expect(refreshes()).toBe(0);
    issuer.claims = { ...CLAIMS, groups: ['operators'] };
    await advance(15);
    expect((await session()).json).toMatchObject({
      groups: ['operators', 'system:authenticated'],
      expires: end,
    });
    expect(refreshes()).toBe(1);
    // The refresh token of the last answer is used for the next one.
    await advance(60);
    expect((await session()).code).toBe(200);
    expect(refreshes()).toBe(2);
    expect(failures).toEqual([]);
  });

  test('renews ID tokens that last for seconds before they expire', async () => {
    issuer.lifeSeconds = 8;
    const begun = await begin();
    cookie = cookieIn(await follow(begun.back, begun.cookie));
    const before = refreshes();
    await running.clock.advance(MINUTE_MS);
    expect(refreshes() - before).toBeGreaterThan(MINUTE_MS / 8000);
    issuer.refreshTokens = 'refused';
    await running.clock.advance(10_000);
    expect((await session()).code).toBe(401);
  });

  test('ends after twelve hours in any case', async () => {
    await advance(12 * 60 - 1);
    expect((await session()).code).toBe(200);
    expect(refreshes()).toBe(12);
    await running.clock.advance(MINUTE_MS);
    expect((await session()).code).toBe(401);
  });

  test('ends without use, and its tokens are not renewed any more', async () => {
    await running.clock.advance(2 * 3_600_000 + MINUTE_MS);
    expect((await session()).code).toBe(401);
    await running.clock.advance(2 * 3_600_000);
    expect(refreshes()).toBeLessThanOrEqual(2);
  });

  test('ends with its ID token if the provider refuses another', async () => {
    issuer.refreshTokens = 'refused';
    const end = Math.floor(running.clock.now() / 1000) * 1000 + 3_600_000;
    await advance(59);
    expect((await session()).json).toMatchObject({ expires: new Date(end).toISOString() });
    await advance(2);
    expect((await session()).code).toBe(401);
    expect(refreshes()).toBe(1);
    expect(failures.at(-1)).toContain('"invalid_grant"');
  });

  test('asks again while the provider does not answer, and ends with its ID token', async () => {
    issuer.refreshTokens = 'unavailable';
    await advance(59);
    expect((await session()).code).toBe(200);
    expect(refreshes()).toBeGreaterThan(1);
    issuer.refreshTokens = 'accepted';
    await advance(5);
    expect((await session()).code).toBe(200);
    issuer.refreshTokens = 'unavailable';
    await advance(65);
    expect((await session()).code).toBe(401);
  });

  test('ends if the next ID token is of another user', async () => {
    issuer.claims = { ...CLAIMS, sub: 'mallory' };
    await advance(62);
    expect((await session()).code).toBe(401);
    expect(failures.at(-1)).toContain('another user');
  });
});

test('only routes of the page are returned to', async () => {
  for (const route of ['https://evil.example', '//evil.example', '/a b', "/<img src='x'>", 'x']) {
    const { back, cookie } = await begin(route);
    expect((await follow(back, cookie)).headers['location'], route).toBe('/console/');
  }
});

test('a provider that is away, and a server without one', async () => {
  const provider = new OidcProvider({ issuer: 'https://127.0.0.1:1', clock: new VirtualClock() });
  const signIn = new OidcSignIn({
    client: { provider, clientId: CLIENT_ID, scopes: ['openid'] },
    clock: new VirtualClock(),
    random: new SeededRandom(1),
  });
  await expect(signIn.begin(CALLBACK, '')).rejects.toMatchObject({
    problem: 'provider-unavailable',
  });
  const plain = await startConsoleServer();
  try {
    expect((await plain.page('GET', '/console/sign-in')).json).toEqual({});
    expect((await plain.page('GET', '/console/oidc/login')).code).toBe(404);
  } finally {
    await plain.stop();
  }
});

test('a confidential client sends its secret, encoded, to the token endpoint only', async () => {
  const sent: { readonly form: URLSearchParams; readonly headers: object }[] = [];
  const signInOf = (tokenAuthMethods: readonly string[]): OidcSignIn =>
    new OidcSignIn({
      client: {
        clientId: CLIENT_ID,
        clientSecret: SECRET,
        scopes: ['openid'],
        provider: {
          issuer: 'https://issuer.example',
          metadata: async () => ({
            jwksUri: 'https://issuer.example/keys',
            authorizationEndpoint: 'https://issuer.example/authorize?tenant=a',
            tokenEndpoint: 'https://issuer.example/token',
            tokenAuthMethods,
          }),
          post: async (_, form, headers = {}) => {
            sent.push({ form, headers });
            return { status: 401, text: '', json: { error: 'invalid_client' } };
          },
        },
      },
      clock: new VirtualClock(),
      random: new SeededRandom(1),
    });
  for (const method of ['client_secret_basic', 'client_secret_post']) {
    const signIn = signInOf([method]);
    const { location, cookie } = await signIn.begin(CALLBACK, '');
    expect(location).not.toContain('secret');
    const { searchParams } = new URL(location);
    expect(searchParams.get('tenant')).toBe('a');
    const query = new URLSearchParams({ state: searchParams.get('state') ?? '', code: 'c' });
    await expect(signIn.finish(cookie, query)).rejects.toMatchObject({ problem: 'provider-error' });
  }
  const basic = Buffer.from('console:a+secret%2Fwith%3A+signs').toString('base64');
  expect(sent[0]?.headers).toEqual({ authorization: `Basic ${basic}` });
  expect(sent[0]?.form.has('client_secret')).toBe(false);
  expect(sent[1]?.headers).toEqual({});
  expect(sent[1]?.form.get('client_secret')).toBe(SECRET);
});

test('a sealed value opens only where it was sealed, and unchanged', () => {
  const sealer = new Sealer(new SeededRandom(1));
  const sealed = sealer.seal('text');
  expect(sealer.open(sealed)).toBe('text');
  expect(sealed).not.toBe(sealer.seal('text'));
  expect(new Sealer(new SeededRandom(2)).open(sealed)).toBeUndefined();
  for (const changed of ['', 'AAAA', `${sealed}AAAA`, `B${sealed.slice(1)}`])
    expect(sealer.open(changed)).toBeUndefined();
});
