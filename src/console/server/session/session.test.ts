import { afterEach, beforeEach, expect, test } from 'vitest';
import { roles, roleBindings } from '#api/groups/rbac/v1/index.ts';
import { serviceAccounts } from '#api/groups/core/v1/index.ts';
import { RequestState } from '#apiserver/request-state.ts';
import { noBody } from '#apiserver/http/body-reader.ts';
import { rawRequest } from '#apiserver/testing/requests.ts';
import { systemRandom } from '#machinery/random.ts';
import { Console } from '../console.ts';
import { grantConsolePermissions } from '../permissions.ts';
import {
  type ConsoleServer,
  cookieIn,
  HOST,
  PAGE_HEADERS,
  startConsoleServer,
} from '../testing/console-server.ts';
import { COOKIE } from './cookie.ts';
import { OIDC_COOKIE } from './oidc/oidc-paths.ts';

const PODS = '/api/v1/namespaces/default/pods';
let running: ConsoleServer;

beforeEach(async () => {
  running = await startConsoleServer();
  await grantConsolePermissions(running.test.client);
});
afterEach(async () => running.stop());

test('a token signs in, and the cookie has the rights of its user only', async () => {
  const answer = await running.page('POST', '/console/session', { body: { token: 'jane-token' } });
  expect(answer.code).toBe(201);
  expect(answer.json).toMatchObject({
    user: 'jane',
    groups: ['developers', 'system:authenticated'],
    expires: new Date(running.clock.now() + 12 * 3_600_000).toISOString(),
  });
  expect(answer.headers['set-cookie']).toMatch(
    /^__Host-coxswain-console=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
  );
  expect(answer.headers['cache-control']).toBe('no-store');
  const cookie = cookieIn(answer);
  expect((await running.page('GET', '/console/session', { cookie })).json).toMatchObject({
    user: 'jane',
  });

  const refused = await running.page('GET', PODS, { cookie });
  expect(refused.code).toBe(403);
  expect(refused.json.message).toContain('User "jane" cannot list resource "pods"');
  await running.test.client
    .resource(roles)
    .namespace('default')
    .create({
      metadata: { name: 'see' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
    });
  await running.test.client
    .resource(roleBindings)
    .namespace('default')
    .create({
      metadata: { name: 'see' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'see' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    });
  await running.clock.advance(100);
  expect((await running.page('GET', PODS, { cookie })).code).toBe(200);
});

test('a request of another page is not authenticated by the cookie', async () => {
  const cookie = await running.signIn({ token: 'admin-token' });
  const attempts: Readonly<Record<string, string | undefined>>[] = [
    { 'x-coxswain-console': undefined },
    { 'x-coxswain-console': '0' },
    { origin: 'https://evil.example' },
    { origin: `http://${HOST}` },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of attempts) {
    expect(
      (await running.page('GET', PODS, { cookie, headers })).code,
      JSON.stringify(headers),
    ).toBe(401);
    expect(
      (await running.page('DELETE', '/console/session', { cookie, headers })).code,
      JSON.stringify(headers),
    ).toBe(403);
  }
  // Signing in is protected, too: another page cannot sign a user in as someone else.
  const signIn = await running.page('POST', '/console/session', {
    body: { token: 'admin-token' },
    headers: { 'x-coxswain-console': undefined },
  });
  expect(signIn.code).toBe(403);
  expect((await running.page('GET', PODS, { cookie })).code).toBe(200);
});

test('a WebSocket is authenticated by the cookie only from the own origin', async () => {
  const cookie = await running.signIn({ token: 'admin-token' });
  const codeOf = async (headers: Readonly<Record<string, string>>): Promise<number> => {
    const request = new RequestState({
      method: 'GET',
      path: PODS,
      query: 'watch=true&timeoutSeconds=1',
      headers: {
        host: HOST,
        connection: 'Upgrade',
        upgrade: 'websocket',
        cookie: `${COOKIE}=${cookie}`,
        ...headers,
      },
      body: noBody,
      remoteAddress: '127.0.0.1',
      upgrade: {
        take: () => {
          throw new Error('not taken');
        },
      },
    });
    const { code, body } = await running.test.server.handler(request);
    if (body.kind === 'watch') body.events.stop();
    return code;
  };
  expect(await codeOf({ origin: `https://${HOST}` })).toBe(200);
  expect(await codeOf({ origin: 'https://evil.example' })).toBe(401);
  expect(await codeOf({ origin: `https://${HOST}.evil.example` })).toBe(401);
  expect(await codeOf({ origin: 'https://cluster.example:444' })).toBe(401);
  expect(await codeOf({ 'x-coxswain-console': '1' })).toBe(401);
});

test('a session that was planted before sign-in is worth nothing after it', async () => {
  const planted = await running.signIn({ token: 'jane-token' });
  const answer = await running.page('POST', '/console/session', {
    body: { token: 'admin-token' },
    cookie: planted,
  });
  expect(cookieIn(answer)).not.toBe(planted);
  expect((await running.page('GET', '/console/session', { cookie: planted })).code).toBe(401);
  const invented = 'A'.repeat(43);
  const fixed = await running.page('POST', '/console/session', {
    body: { token: 'admin-token' },
    cookie: invented,
  });
  expect(cookieIn(fixed)).not.toBe(invented);
  expect((await running.page('GET', PODS, { cookie: invented })).code).toBe(401);
  // Two cookies of the name: one of them is not ours.
  const twice = { cookie: `${COOKIE}=${cookieIn(fixed)}; ${COOKIE}=x` };
  expect((await running.page('GET', PODS, { headers: twice })).code).toBe(401);
});

test('a code of a kubeconfig signs in once, within a minute, as its user', async () => {
  const create = async (): Promise<string> => {
    const answer = await running.page('POST', '/console/codes', {
      headers: {
        authorization: 'Bearer jane-token',
        'x-coxswain-console': undefined,
        origin: undefined,
      },
    });
    expect(answer.code).toBe(201);
    return (answer.json as unknown as { code: string }).code;
  };
  const code = await create();
  const cookie = await running.signIn({ code });
  expect((await running.page('GET', '/console/session', { cookie })).json).toMatchObject({
    user: 'jane',
  });
  expect((await running.page('POST', '/console/session', { body: { code } })).code).toBe(401);
  const late = await create();
  await running.clock.advance(60_001);
  expect((await running.page('POST', '/console/session', { body: { code: late } })).code).toBe(401);
  expect((await running.page('POST', '/console/codes')).code).toBe(401);
  // A session must not prolong itself.
  const again = await running.page('POST', '/console/codes', { cookie });
  expect(again.code).toBe(403);
  expect(again.json.message).toContain('cannot create login codes');
});

test('a code belongs to the impersonated user, and ends with the certificate', async () => {
  const {
    clock,
    test: { server },
  } = running;
  const notAfter = clock.now() + 3_600_000;
  const request = new RequestState({
    method: 'POST',
    path: '/console/codes',
    query: '',
    headers: { 'impersonate-user': 'jane' },
    body: noBody,
    remoteAddress: '127.0.0.1',
    peerCertificate: { commonName: 'root', organizations: ['system:masters'], notAfter },
  });
  const { body } = await server.handler(request);
  const { code } = JSON.parse(body.kind === 'text' ? body.text : '') as { code: string };
  const answer = await running.page('POST', '/console/session', { body: { code } });
  expect(answer.json).toMatchObject({ user: 'jane', expires: new Date(notAfter).toISOString() });
  const cookie = cookieIn(answer);
  await clock.advance(3_600_000 - 1000);
  expect((await running.page('GET', '/console/session', { cookie })).code).toBe(200);
  await clock.advance(1000);
  expect((await running.page('GET', '/console/session', { cookie })).code).toBe(401);
});

test('guesses are limited by address, and the limit passes', async () => {
  const guess = (token: string): Promise<{ code: number; headers: object }> =>
    running.page('POST', '/console/session', { body: { token } });
  for (let n = 0; n < 10; n++) expect((await guess(`wrong-${n}`)).code).toBe(401);
  const limited = await guess('admin-token');
  expect(limited.code).toBe(429);
  expect(limited.headers).toMatchObject({ 'retry-after': '6' });
  await running.clock.advance(6000);
  expect((await guess('admin-token')).code).toBe(201);
});

test('many guesses at once are limited, too', async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      running.page('POST', '/console/session', { body: { token: `wrong-${n}` } }),
    ),
  );
  expect(answers.filter(({ code }) => code === 401)).toHaveLength(10);
  expect(answers.filter(({ code }) => code === 429)).toHaveLength(40);
});

test.each([
  ['no body', ''],
  ['no JSON', '{"token": "admin-token"'],
  ['a list', '["admin-token"]'],
  ['both', { token: 'admin-token', code: 'x' }],
  ['another field', { token: 'admin-token', user: 'root' }],
  ['a number', { token: 1 }],
  ['nothing', {}],
])('sign-in with %s is rejected without repeating it', async (_name, body) => {
  const answer = await running.page('POST', '/console/session', { body });
  expect(answer.code).toBe(400);
  expect(answer.text).not.toContain('admin-token');
  expect(answer.headers['set-cookie']).toBeUndefined();
});

test('a token cannot add headers, and a form cannot sign in', async () => {
  for (const token of ['x\r\nX-Remote-User: root', 'a b', 'ü', '\0', '']) {
    const answer = await running.page('POST', '/console/session', { body: { token } });
    expect(answer.code).toBe(401);
  }
  const form = await running.page('POST', '/console/session', {
    body: '{"token":"admin-token"}',
    headers: { 'content-type': 'text/plain' },
  });
  expect(form.code).toBe(415);
});

test('signing out ends the session and its watches', async () => {
  const cookie = await running.signIn({ token: 'admin-token' });
  const request = new RequestState({
    method: 'GET',
    path: PODS,
    query: 'watch=true',
    headers: { ...PAGE_HEADERS, cookie: `${COOKIE}=${cookie}` },
    body: noBody,
    remoteAddress: '127.0.0.1',
  });
  const { code, body } = await running.test.server.handler(request);
  expect(code).toBe(200);
  expect(request.signal.aborted).toBe(false);
  const out = await running.page('DELETE', '/console/session', { cookie });
  expect(out.headers['set-cookie']).toContain('Max-Age=0');
  expect(request.signal.aborted).toBe(true);
  expect((await running.page('GET', PODS, { cookie })).code).toBe(401);
  if (body.kind === 'watch') body.events.stop();
});

test('an idle session ends, one with an open watch does not', async () => {
  const idle = await running.signIn({ token: 'jane-token' });
  const busy = await running.signIn({ token: 'admin-token' });
  const request = new RequestState({
    method: 'GET',
    path: PODS,
    query: 'watch=true',
    headers: { ...PAGE_HEADERS, cookie: `${COOKIE}=${busy}` },
    body: noBody,
    remoteAddress: '127.0.0.1',
  });
  const { body } = await running.test.server.handler(request);
  if (body.kind !== 'watch') throw new Error(body.kind);
  await running.clock.advance(2 * 3_600_000);
  expect((await running.page('GET', '/console/session', { cookie: idle })).code).toBe(401);
  expect((await running.page('GET', '/console/session', { cookie: busy })).code).toBe(200);
  // As the listener does when the client has gone.
  request.abort(new Error('gone'));
  body.events.stop();
  await running.clock.advance(2 * 3_600_000);
  expect((await running.page('GET', '/console/session', { cookie: busy })).code).toBe(401);
});

test('a user has a bounded number of sessions: the oldest one ends', async () => {
  const first = await running.signIn({ token: 'jane-token' });
  const others = [];
  for (let n = 0; n < 20; n++) others.push(await running.signIn({ token: 'jane-token' }));
  expect((await running.page('GET', '/console/session', { cookie: first })).code).toBe(401);
  expect((await running.page('GET', '/console/session', { cookie: others[0]! })).code).toBe(200);
});

test('the cookie is not passed on, and other cookies are', async () => {
  const cookie = await running.signIn({ token: 'admin-token' });
  const request = new RequestState({
    method: 'GET',
    path: PODS,
    query: '',
    headers: { ...PAGE_HEADERS, cookie: `a=1; ${COOKIE}=${cookie}; b=2` },
    rawHeaders: ['Host', HOST, 'Cookie', `a=1; ${COOKIE}=${cookie}`, 'Cookie', 'b=2'],
    body: noBody,
    remoteAddress: '127.0.0.1',
  });
  expect((await running.test.server.handler(request)).code).toBe(200);
  expect(request.headers['cookie']).toBe('a=1; b=2');
  expect(request.rawHeaders).toEqual(['Host', HOST, 'Cookie', 'a=1', 'Cookie', 'b=2']);
});

test('a server behind this one cannot set a cookie of the console', async () => {
  const console = new Console(
    { clock: running.clock, random: systemRandom, folder: running.folder, version: '' },
    {
      signal: new AbortController().signal,
      authenticate: () => Promise.resolve(undefined),
      clientOf: () => running.test.client,
    },
  );
  const setCookies = async (sent: string | readonly string[]): Promise<unknown> => {
    const request = rawRequest({ path: PODS, user: null });
    const response = { code: 200, headers: { 'set-cookie': sent }, body: { kind: 'none' } };
    return (await console.handle(request, () => Promise.resolve(response))).headers;
  };
  expect(await setCookies(['a=1', `${COOKIE}=x; Path=/; Secure`, `${OIDC_COOKIE}=x`])).toEqual({
    'set-cookie': ['a=1'],
  });
  expect(await setCookies(`${COOKIE}=x`)).toEqual({});
});

test('explicit credentials count more than the cookie', async () => {
  const cookie = await running.signIn({ token: 'admin-token' });
  const answer = await running.page('GET', PODS, {
    cookie,
    headers: { authorization: 'Bearer jane-token' },
  });
  expect(answer.json.message).toContain('User "jane"');
  const wrong = await running.page('GET', PODS, { cookie, headers: { authorization: 'Bearer x' } });
  expect(wrong.code).toBe(401);
});

test('the session of a ServiceAccount ends with its token, or with the account', async () => {
  await running.stop();
  const { generateKeyPairSync } = await import('node:crypto');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  running = await startConsoleServer({}, { serviceAccounts: { signingKey } });
  const accounts = running.test.client.resource(serviceAccounts).namespace('default');
  const tokenOf = async (name: string, expirationSeconds: number): Promise<string> => {
    await accounts.create({ metadata: { name } });
    const { status } = await accounts.subresource<{ status: { token: string } }>(name, 'token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [], expirationSeconds },
    });
    return status.token;
  };
  const short = await running.page('POST', '/console/session', {
    body: { token: await tokenOf('short', 600) },
  });
  const expires = Math.floor(running.clock.now() / 1000) * 1000 + 600_000;
  expect(short.json).toMatchObject({
    user: 'system:serviceaccount:default:short',
    expires: new Date(expires).toISOString(),
  });
  const deleted = await running.signIn({ token: await tokenOf('deleted', 3600) });
  expect((await running.page('GET', '/console/session', { cookie: deleted })).code).toBe(200);
  await accounts.delete('deleted');
  await running.clock.advance(100);
  expect((await running.page('GET', '/console/session', { cookie: deleted })).code).toBe(401);
  await running.clock.advance(600_000);
  expect((await running.page('GET', '/console/session', { cookie: cookieIn(short) })).code).toBe(
    401,
  );
});
