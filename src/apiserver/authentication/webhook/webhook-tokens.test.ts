// Tokens that a webhook knows: it listens on loopback, the time is virtual.

import { afterEach, beforeEach, expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WebhookClients } from '../../webhooks/client/index.ts';
import {
  respondJson,
  startWebhookServer,
  type WebhookServer,
} from '../../webhooks/testing/webhook-server.ts';
import { type TokenWebhookSettings, WebhookTokens } from './webhook-tokens.ts';

const JANE = { username: 'jane', uid: '7', groups: ['dev'], extra: { scope: ['a'] } };

let webhook: WebhookServer;
let clock: VirtualClock;
let clients: WebhookClients;
let status: object;

beforeEach(async () => {
  status = { authenticated: true, user: JANE };
  webhook = await startWebhookServer({
    handler: (_, response) => respondJson(response, { status }),
  });
  clock = new VirtualClock();
  clients = new WebhookClients({
    find: () => Promise.resolve(undefined),
    findAll: () => Promise.resolve([]),
    clock,
    random: new SeededRandom('test'),
  });
});

afterEach(async () => {
  clients.close();
  await webhook.stop();
});

const tokensWith = (settings: Partial<TokenWebhookSettings> = {}): WebhookTokens =>
  new WebhookTokens(
    { kubeConfigFile: '', reviewVersion: 'v1', cacheTtlMs: 10_000, ...settings },
    {
      clock,
      random: new SeededRandom('test'),
      logger: silentLogger,
      clients,
      audiences: ['api', 'other'],
      access: () =>
        Promise.resolve({
          server: `${webhook.url}/tokens`,
          ca: Buffer.from(webhook.caBundle, 'base64').toString(),
        }),
    },
  );

test('the review has the token and the audiences of the server', async () => {
  const answer = await tokensWith({ reviewVersion: 'v1beta1' }).authenticateToken('opaque', []);
  expect(answer).toEqual({
    user: { name: 'jane', uid: '7', groups: ['dev'], extra: { scope: ['a'] } },
    audiences: ['api', 'other'],
  });
  const [request] = webhook.received;
  expect(request!.url).toBe('/tokens?timeout=30s');
  expect(JSON.parse(request!.body)).toEqual({
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1beta1',
    metadata: {},
    spec: { token: 'opaque', audiences: ['api', 'other'] },
    status: { user: {} },
  });
});

test.each([
  [{ authenticated: true, user: JANE }, ['api', 'x'], ['api']],
  [{ authenticated: true, user: JANE }, ['x'], undefined],
  [{ authenticated: true, user: JANE, audiences: ['x'] }, ['x', 'y'], ['x']],
  [{ authenticated: true, user: JANE, audiences: ['x'] }, [], undefined],
  [{ authenticated: false, error: 'expired' }, [], undefined],
])('the answer %j for the audiences %j', async (answered, audiences, expected) => {
  status = answered;
  const answer = await tokensWith().authenticateToken('opaque', audiences);
  expect(answer?.audiences).toEqual(expected);
});

test('answers are kept for their time, also those to unknown tokens', async () => {
  const tokens = tokensWith();
  const known = async (): Promise<boolean> =>
    (await tokens.authenticateToken('opaque', [])) !== undefined;
  status = { authenticated: false };
  expect(await known()).toBe(false);
  status = { authenticated: true, user: JANE };
  await clock.advance(9_999);
  expect(await known()).toBe(false);
  await clock.advance(1);
  expect(await Promise.all([known(), known(), known()])).toEqual([true, true, true]);
  expect(webhook.received).toHaveLength(2);
});

test('a webhook that fails knows no token, and is asked again', async () => {
  const tokens = tokensWith();
  webhook.handler = (_, response) => respondJson(response, {}, 403);
  expect(await tokens.authenticateToken('opaque', [])).toBeUndefined();
  webhook.handler = (_, response) => respondJson(response, { status });
  expect(await tokens.authenticateToken('opaque', [])).toBeDefined();
  expect(await tokens.authenticateToken('x'.repeat(70_000), [])).toBeUndefined();
  expect(webhook.received).toHaveLength(2);
});
