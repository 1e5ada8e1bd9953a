import { afterEach, beforeEach, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import { RequestState } from '#apiserver/request-state.ts';
import { noBody } from '#apiserver/http/body-reader.ts';
import { grantConsolePermissions } from '../permissions.ts';
import { type ConsoleServer, PAGE_HEADERS, startConsoleServer } from '../testing/console-server.ts';
import { COOKIE } from '../session/cookie.ts';

let running: ConsoleServer;

beforeEach(async () => {
  running = await startConsoleServer();
  await grantConsolePermissions(running.test.client);
});
afterEach(async () => running.stop());

test('why explains an object as the signed-in user, and hides what the user may not read', async () => {
  await running.test.client
    .resource(pods)
    .namespace('default')
    .create({
      metadata: { name: 'web-0' },
      spec: { containers: [{ name: 'web', image: 'web' }] },
    });
  const query = '/console/api/why?kind=pods&name=web-0&namespace=default';
  const admin = await running.signIn({ token: 'admin-token' });
  const answer = await running.page('GET', query, { cookie: admin });
  expect(answer.code).toBe(200);
  expect(answer.json).toMatchObject({
    object: { kind: 'Pod', name: 'web-0' },
    because: expect.any(Array),
  });
  const jane = await running.signIn({ token: 'jane-token' });
  const hidden = await running.page('GET', query, { cookie: jane });
  expect(hidden.code).toBe(403);
  expect(hidden.json.message).toContain('User "jane" cannot get resource "pods"');
});

test.each([
  ['', 400],
  ['?kind=pods', 400],
  ['?kind=pods&name=a&name=b', 400],
  [`?kind=pods&name=${'a'.repeat(600)}`, 400],
  ['?kind=unicorns&name=a', 400],
  ['?kind=pods&name=missing&namespace=default', 404],
])('why%s is rejected', async (query, code) => {
  const cookie = await running.signIn({ token: 'admin-token' });
  expect((await running.page('GET', `/console/api/why${query}`, { cookie })).code).toBe(code);
});

test('traffic and scheduler need permission, and what is not there is not found', async () => {
  const jane = await running.signIn({ token: 'jane-token' });
  const admin = await running.signIn({ token: 'admin-token' });
  const codeOf = async (path: string, cookie: string): Promise<number> =>
    (await running.page('GET', `/console/api/${path}`, { cookie })).code;
  expect(await codeOf('traffic', jane)).toBe(403);
  expect(await codeOf('scheduler', jane)).toBe(403);
  expect(await codeOf('scheduler', admin)).toBe(404);
  expect(await codeOf('clock', admin)).toBe(404);
  expect(await codeOf('forks', admin)).toBe(404);
  expect(await codeOf('constructor', admin)).toBe(404);
  const features = await running.page('GET', '/console/api/features', { cookie: jane });
  expect(features.json).toMatchObject({ features: ['why', 'timeline', 'traffic'] });
});

test('traffic counts requests, open watches and events of each client', async () => {
  const cookie = await running.signIn({ token: 'admin-token' });
  const inProcess = running.test.client.resource(pods).namespace('default');
  const watch = await inProcess.watch();
  const events = watch[Symbol.asyncIterator]();
  const request = new RequestState({
    method: 'GET',
    path: '/console/api/traffic',
    query: '',
    headers: { ...PAGE_HEADERS, 'user-agent': 'browser/1 (x)', cookie: `${COOKIE}=${cookie}` },
    body: noBody,
    remoteAddress: '127.0.0.1',
  });
  const { code, body } = await running.test.server.handler(request);
  expect(code).toBe(200);
  if (body.kind !== 'stream') throw new Error(body.kind);
  const chunks = body.stream[Symbol.asyncIterator]();
  const line = async (): Promise<Record<string, Record<string, unknown>>> => {
    const { value } = (await chunks.next()) as { value: Uint8Array };
    const { clients } = JSON.parse(Buffer.from(value).toString()) as {
      clients: (Record<string, unknown> & { user: string; userAgent: string })[];
    };
    return Object.fromEntries(clients.map((each) => [`${each.user} ${each.userAgent}`, each]));
  };
  const before = (await line())['admin coxswain']!;
  expect(before).toMatchObject({ openWatches: 1, events: 0 });
  await inProcess.create({
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  });
  await events.next();
  const second = events.next();
  const next = line();
  await running.clock.advance(1000);
  const after = (await next)['admin coxswain']!;
  expect(after).toMatchObject({ openWatches: 1, events: 1, writes: Number(before['writes']) + 1 });
  watch.stop();
  await second;
  const last = line();
  await running.clock.advance(1000);
  expect((await last)['admin coxswain']).toMatchObject({ openWatches: 0 });
  request.abort(new Error('the page was closed'));
  const end = chunks.next();
  await running.clock.advance(1000);
  expect((await end).done).toBe(true);
});

test('the clock of a test cluster is advanced, one request at a time', async () => {
  await running.stop();
  const calls: string[] = [];
  let release: () => void = () => undefined;
  let now = Date.UTC(2030, 0, 1);
  running = await startConsoleServer({
    features: {
      controls: {
        now: () => now,
        advance: (ms) => {
          calls.push(`advance ${ms}`);
          return new Promise((resolve) => {
            release = () => {
              now += ms;
              resolve();
            };
          });
        },
        settle: async () => void calls.push('settle'),
      },
    },
  });
  const cookie = await running.signIn({ token: 'admin-token' });
  const clock = (body: object): ReturnType<ConsoleServer['page']> =>
    running.page('POST', '/console/api/clock', { cookie, body });
  expect((await running.page('GET', '/console/api/clock', { cookie })).json).toEqual({
    time: '2030-01-01T00:00:00.000Z',
  });
  const first = clock({ advanceMs: 60_000 });
  while (calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect((await clock({ settle: true })).code).toBe(429);
  release();
  expect((await first).json).toEqual({ time: '2030-01-01T00:01:00.000Z' });
  expect((await clock({ settle: true })).code).toBe(200);
  for (const body of [
    {},
    { advanceMs: 0 },
    { advanceMs: 1.5 },
    { advanceMs: 1e15 },
    { advanceMs: 1, settle: true },
  ])
    expect((await clock(body)).code).toBe(400);
  expect(calls).toEqual(['advance 60000', 'settle']);
  const features = await running.page('GET', '/console/api/features', { cookie });
  expect(features.json).toMatchObject({ features: ['why', 'timeline', 'traffic', 'clock'] });
});

test('the timeline has the changes between two revisions that the user may watch', async () => {
  const inDefault = running.test.client.resource(pods).namespace('default');
  const make = async (name: string): Promise<string> => {
    const created = await inDefault.create({
      metadata: { name },
      spec: { containers: [{ name: 'a', image: 'a' }] },
    });
    return created.metadata.resourceVersion;
  };
  const first = await make('a');
  const second = await make('b');
  await inDefault.delete('a', { gracePeriodSeconds: 0 });
  await make('c');
  const admin = await running.signIn({ token: 'admin-token' });
  const read = async (query: string, cookie = admin): ReturnType<ConsoleServer['page']> => {
    const answer = running.page('GET', `/console/api/timeline?${query}`, { cookie });
    // The end of the history is noticed by the clock.
    for (let n = 0; n < 5; n++) await running.clock.advance(250);
    return answer;
  };
  const changesIn = async (query: string): Promise<readonly string[]> => {
    const { json } = await read(query);
    const { changes } = json as unknown as { changes: { type: string; name: string }[] };
    return changes.map(({ type, name }) => `${type} ${name}`);
  };
  expect(await changesIn('resource=pods&namespace=default')).toEqual([
    'ADDED a',
    'ADDED b',
    'DELETED a',
    'ADDED c',
  ]);
  expect(await changesIn(`resource=po&resource=namespaces&from=${first}&to=${second}`)).toEqual([
    'ADDED b',
  ]);
  const jane = await running.signIn({ token: 'jane-token' });
  expect((await read('resource=pods', jane)).code).toBe(403);
  for (const query of [
    '',
    'resource=unicorns',
    'resource=pods&from=x',
    `resource=pods&from=9&to=2`,
  ])
    expect((await read(query)).code).toBe(400);
});
