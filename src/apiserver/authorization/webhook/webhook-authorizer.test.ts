// A server that asks a webhook who may do what: the webhook listens on loopback, the time is virtual.

import { afterEach, beforeEach, expect, test } from 'vitest';

import type { ServerAccess } from '#client/http/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WebhookClients } from '../../webhooks/client/index.ts';
import {
  respondJson,
  startWebhookServer,
  type WebhookServer,
} from '../../webhooks/testing/webhook-server.ts';
import type { Attributes } from '../authorizer.ts';
import { AuthorizationMetrics } from '../metrics.ts';
import type { WebhookAuthorizerSettings } from '../settings.ts';
import { WebhookAuthorizer } from './webhook-authorizer.ts';

const SETTINGS: WebhookAuthorizerSettings = {
  type: 'Webhook',
  name: 'hook',
  kubeConfigFile: '/does/not/matter',
  timeoutMs: 3000,
  failurePolicy: 'NoOpinion',
  reviewVersion: 'v1',
  authorizedTtlMs: 60_000,
  unauthorizedTtlMs: 10_000,
  matchConditions: [],
};

const LIST_PODS: Attributes = {
  user: { name: 'alice', uid: '7', groups: ['dev'], extra: { scopes: ['a', 'b'] } },
  isResourceRequest: true,
  path: '/api/v1/namespaces/default/pods',
  verb: 'list',
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'default',
  resource: 'pods',
  subresource: '',
  name: '',
};

let webhook: WebhookServer;
let clock: VirtualClock;
let clients: WebhookClients;
let metrics: AuthorizationMetrics;
/** The status that the webhook answers with. */
let status: object;

beforeEach(async () => {
  status = { allowed: true };
  webhook = await startWebhookServer({
    handler: (request, response) => {
      const { apiVersion, kind } = JSON.parse(request.body) as Record<string, unknown>;
      respondJson(response, { apiVersion, kind, status });
    },
  });
  clock = new VirtualClock();
  clients = new WebhookClients({
    find: () => Promise.resolve(undefined),
    findAll: () => Promise.resolve([]),
    clock,
    random: new SeededRandom('test'),
  });
  metrics = new AuthorizationMetrics();
});

afterEach(async () => {
  clients.close();
  await webhook.stop();
});

function authorizerWith(
  settings: Partial<WebhookAuthorizerSettings> = {},
  access: Partial<ServerAccess> = {},
): WebhookAuthorizer {
  return new WebhookAuthorizer(
    { ...SETTINGS, ...settings },
    {
      clock,
      random: new SeededRandom('test'),
      logger: silentLogger,
      clients,
      metrics,
      access: () =>
        Promise.resolve({
          server: `${webhook.url}/authorize`,
          ca: Buffer.from(webhook.caBundle, 'base64').toString(),
          ...access,
        }),
    },
  );
}

const metricLines = (pattern: RegExp): readonly string[] =>
  metrics
    .text()
    .split('\n')
    .filter((line) => !line.startsWith('#') && pattern.test(line));

test('a review has the attributes and selectors of the request, without what is empty', async () => {
  const attributes = {
    ...LIST_PODS,
    fieldSelector: 'spec.nodeName=n,status.phase!=Failed',
    labelSelector: 'app in (a,b),!x,n>5',
  };
  const authorizer = authorizerWith({}, { token: 'secret' });
  expect(await authorizer.authorize(attributes)).toEqual({ decision: 'allow', reason: '' });
  const [request] = webhook.received;
  expect(request).toMatchObject({ method: 'POST', url: '/authorize?timeout=3s' });
  expect(request!.headers).toMatchObject({
    authorization: 'Bearer secret',
    'content-type': 'application/json',
  });
  expect(JSON.parse(request!.body)).toEqual({
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: {
      resourceAttributes: {
        namespace: 'default',
        verb: 'list',
        version: 'v1',
        resource: 'pods',
        fieldSelector: {
          requirements: [
            { key: 'spec.nodeName', operator: 'In', values: ['n'] },
            { key: 'status.phase', operator: 'NotIn', values: ['Failed'] },
          ],
        },
        labelSelector: {
          requirements: [
            { key: 'app', operator: 'In', values: ['a', 'b'] },
            { key: 'x', operator: 'DoesNotExist' },
          ],
        },
      },
      user: 'alice',
      groups: ['dev'],
      extra: { scopes: ['a', 'b'] },
      uid: '7',
    },
    status: { allowed: false },
  });
});

test('a user without groups has none in the review', async () => {
  await authorizerWith().authorize({ ...LIST_PODS, user: { name: 'bob', groups: [] } });
  expect(JSON.parse(webhook.received[0]!.body)).toMatchObject({ spec: { user: 'bob' } });
  expect(webhook.received[0]!.body).not.toContain('groups');
});

test('v1beta1 has the groups under another name', async () => {
  const decided = await authorizerWith({ reviewVersion: 'v1beta1' }).authorize({
    ...LIST_PODS,
    isResourceRequest: false,
    path: '/metrics',
    verb: 'get',
  });
  expect(decided.decision).toBe('allow');
  expect(JSON.parse(webhook.received[0]!.body)).toMatchObject({
    apiVersion: 'authorization.k8s.io/v1beta1',
    spec: { nonResourceAttributes: { path: '/metrics', verb: 'get' }, group: ['dev'] },
  });
});

test.each([
  [{ allowed: false }, { decision: 'noOpinion', reason: '' }],
  [
    { allowed: false, reason: 'not now' },
    { decision: 'noOpinion', reason: 'not now' },
  ],
  [
    { allowed: false, denied: true, reason: 'never' },
    { decision: 'deny', reason: 'never' },
  ],
  [
    { allowed: true, denied: true },
    {
      decision: 'deny',
      reason: '',
      error: 'webhook subject access review returned both allow and deny response',
    },
  ],
])('the status %j', async (answer, expected) => {
  status = answer;
  expect(await authorizerWith().authorize(LIST_PODS)).toEqual(expected);
});

test('answers are kept for their time', async () => {
  const authorizer = authorizerWith();
  const ask = async (): Promise<string> => (await authorizer.authorize(LIST_PODS)).decision;
  expect(await ask()).toBe('allow');
  await clock.advance(59_999);
  status = { allowed: false };
  expect(await ask()).toBe('allow');
  await clock.advance(1);
  expect(await ask()).toBe('noOpinion');
  await clock.advance(9_999);
  status = { allowed: true };
  expect(await ask()).toBe('noOpinion');
  await clock.advance(1);
  expect(await ask()).toBe('allow');
  expect(webhook.received).toHaveLength(3);
});

test('answers to requests with long names are not kept, nor any if the time is 0', async () => {
  const long = { ...LIST_PODS, name: 'n'.repeat(10_000) };
  const authorizer = authorizerWith();
  await authorizer.authorize(long);
  await authorizer.authorize(long);
  expect(webhook.received).toHaveLength(2);
  const forgetful = authorizerWith({ authorizedTtlMs: 0 });
  await forgetful.authorize(LIST_PODS);
  await forgetful.authorize(LIST_PODS);
  expect(webhook.received).toHaveLength(4);
});

test('match conditions decide whether the webhook is asked', async () => {
  const authorizer = authorizerWith({
    matchConditions: [
      "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'default'",
      "!('system:nodes' in request.groups)",
    ],
  });
  expect((await authorizer.authorize(LIST_PODS)).decision).toBe('allow');
  const elsewhere = { ...LIST_PODS, namespace: 'other' };
  expect(await authorizer.authorize(elsewhere)).toEqual({ decision: 'noOpinion', reason: '' });
  expect(webhook.received).toHaveLength(1);
  expect(metricLines(/exclusions/)).toEqual([
    'apiserver_authorization_match_condition_exclusions_total{type="Webhook",name="hook"} 1',
  ]);
  expect(metricLines(/evaluation_seconds_count/)).toEqual([
    'apiserver_authorization_match_condition_evaluation_seconds_count{type="Webhook",name="hook"} 2',
  ]);
});

test.each([
  ['NoOpinion', 'noOpinion'],
  ['Deny', 'deny'],
] as const)('a condition that fails: %s', async (failurePolicy, decision) => {
  const condition = "request.resourceAttributes.verb == 'get'";
  const authorizer = authorizerWith({ failurePolicy, matchConditions: [condition] });
  const path = { ...LIST_PODS, isResourceRequest: false };
  expect(await authorizer.authorize(path)).toEqual({
    decision,
    reason: '',
    error: `cel evaluation error: expression '${condition}' resulted in error: no such key: resourceAttributes`,
  });
  expect(webhook.received).toHaveLength(0);
});

test('a condition that is false decides over one that fails', async () => {
  const authorizer = authorizerWith({
    failurePolicy: 'Deny',
    matchConditions: ["request.resourceAttributes.verb == 'get'", "request.user == 'bob'"],
  });
  const path = { ...LIST_PODS, isResourceRequest: false };
  expect(await authorizer.authorize(path)).toEqual({ decision: 'noOpinion', reason: '' });
});

/** Advances the time until the promise settles, in steps that leave the network its turns. */
async function eventually<T>(promise: T | Promise<T>): Promise<T> {
  const state = { settled: false };
  const done = Promise.resolve(promise).finally(() => (state.settled = true));
  while (!state.settled) {
    await clock.advance(5);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return done;
}

test('failures that may pass are tried again', async () => {
  let left = 3;
  webhook.handler = (request, response) => {
    if (left-- > 0) respondJson(response, {}, 500);
    else respondJson(response, { ...JSON.parse(request.body), status });
  };
  expect((await eventually(authorizerWith().authorize(LIST_PODS))).decision).toBe('allow');
  expect(webhook.received).toHaveLength(4);
  expect(metricLines(/evaluations_total/)).toEqual([
    'apiserver_authorization_webhook_evaluations_total{name="hook",result="error"} 3',
    'apiserver_authorization_webhook_evaluations_total{name="hook",result="success"} 1',
  ]);
});

const FAILURES: readonly (readonly [string, WebhookServer['handler'], RegExp, string])[] = [
  [
    'always 500',
    (_, response) => respondJson(response, {}, 500),
    /an error on the server/,
    'error',
  ],
  ['403', (_, response) => respondJson(response, {}, 403), /^unknown$/, 'error'],
  ['a closed connection', (_, __, socket) => void socket.destroy(), /: EOF$/, 'error'],
  ['no answer', () => undefined, /request canceled \(Client\.Timeout exceeded/, 'timeout'],
  [
    'another kind',
    (_, response) => respondJson(response, { kind: 'Pod', apiVersion: 'v1' }),
    /no kind "Pod" is registered for version "v1"/,
    'error',
  ],
  [
    'a wrong type',
    (_, response) => respondJson(response, { status: { allowed: 'yes' } }),
    /cannot unmarshal string into Go struct field SubjectAccessReviewStatus\.status\.allowed of type bool/,
    'error',
  ],
  [
    'a huge answer',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"status":{"reason":"');
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    },
    /larger than the limit/,
    'error',
  ],
  [
    'a redirect to itself',
    (request, response) => {
      response.writeHead(307, { location: request.url });
      response.end();
    },
    /stopped after 10 redirects/,
    'error',
  ],
  [
    'a redirect to plain HTTP',
    (_, response) => {
      response.writeHead(307, { location: 'http://127.0.0.1:1/' });
      response.end();
    },
    /only lead to https/,
    'error',
  ],
];

test.each(FAILURES)('a webhook that answers with %s', async (_name, handler, message, result) => {
  webhook.handler = handler;
  for (const [failurePolicy, decision] of [
    ['NoOpinion', 'noOpinion'],
    ['Deny', 'deny'],
  ] as const) {
    const decided = await eventually(authorizerWith({ failurePolicy }).authorize(LIST_PODS));
    expect(decided).toMatchObject({ decision, reason: '' });
    expect(decided.error).toMatch(message);
  }
  expect(metricLines(/fail_open/)).toEqual([
    `apiserver_authorization_webhook_evaluations_fail_open_total{name="hook",result="${result}"} 1`,
  ]);
});

test('nothing is asked any more for a request that has ended', async () => {
  webhook.handler = () => undefined;
  const controller = new AbortController();
  const decided = authorizerWith().authorize(LIST_PODS, controller);
  while (webhook.received.length === 0) await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  expect(await decided).toMatchObject({ decision: 'noOpinion' });
  expect(metricLines(/fail_open/)).toEqual([]);
  expect(metricLines(/evaluations_total/)).toEqual([
    'apiserver_authorization_webhook_evaluations_total{name="hook",result="canceled"} 1',
  ]);
});

test('credentials do not go to another server', async () => {
  const other = await startWebhookServer({ handler: (_, response) => respondJson(response, {}) });
  webhook.handler = (_, response) => {
    response.writeHead(307, { location: `https://localhost:${other.port}/` });
    response.end();
  };
  const authorizer = authorizerWith({}, { token: 'secret', insecureSkipTlsVerify: true });
  await eventually(authorizer.authorize(LIST_PODS));
  expect(webhook.received[0]!.headers.authorization).toBe('Bearer secret');
  expect(other.received.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  await other.stop();
});
