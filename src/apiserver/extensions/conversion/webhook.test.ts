// Conversion by a webhook, through a server: which objects are converted when, which results are
// rejected, and which requests a failing webhook affects.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import {
  respondJson,
  startWebhookServer,
  type WebhookServer,
} from '#apiserver/webhooks/testing/webhook-server.ts';
import { systemClock } from '#machinery/clock.ts';

type Json = Record<string, unknown>;
interface Converted extends Json {
  metadata?: Json;
}
interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly Converted[];
  };
}

let t: TestServer;
let api: Api;
let webhook: WebhookServer;
/** Converts an object, as the webhook. */
let convert: (object: Converted, apiVersion: string) => unknown;
/** Returns the webhook's response. */
let respond: (review: Review) => unknown;
/** The webhook closes connections without a response. */
let isUnreachable: boolean;

/** Renames a field: v1 has spec.size, v2 has spec.length, with the same value. */
function renamed({ spec, ...object }: Converted, apiVersion: string): Converted {
  const { size, length } = (spec ?? {}) as Json;
  return {
    ...object,
    apiVersion,
    spec: apiVersion.endsWith('v2') ? { length: size } : { size: length },
  };
}

function success({ request: { uid, desiredAPIVersion, objects } }: Review): Json {
  const convertedObjects = objects.map((object) => convert(object, desiredAPIVersion));
  const response = { uid, convertedObjects, result: { status: 'Success' } };
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response };
}

const reviews = (): readonly Review[] =>
  webhook.received.map(({ body }) => JSON.parse(body) as Review);
const path = (version: string): string => `/apis/example.com/${version}/namespaces/default/widgets`;
const widget = (version: string, name: string, spec: Json) => ({
  apiVersion: `example.com/${version}`,
  kind: 'Widget',
  metadata: { name },
  spec,
});

beforeAll(async () => {
  webhook = await startWebhookServer({
    handler: ({ body }, response, socket) => {
      if (isUnreachable) socket.destroy();
      else respondJson(response, respond(JSON.parse(body) as Review));
    },
  });
});
afterAll(() => webhook.stop());

beforeEach(async () => {
  convert = renamed;
  respond = success;
  isUnreachable = false;
  webhook.received.length = 0;
  t = await startTestServer({ clock: systemClock });
  api = new Api(t);
  const conversion = {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v7', 'v1'],
      clientConfig: { url: `${webhook.url}/convert`, caBundle: webhook.caBundle },
    },
  };
  await define(
    t.client,
    definitionOf([definitionVersion('v1'), definitionVersion('v2', { storage: false })], {
      conversion,
    }),
  );
});
afterEach(async () => {
  await t.stop();
});

test('objects are stored in the storage version, and converted for other readers', async () => {
  await api.post(path('v1'), widget('v1', 'a', { size: 3 }));
  expect(webhook.received).toEqual([]);
  expect((await api.get(`${path('v2')}/a`)).json).toMatchObject(widget('v2', 'a', { length: 3 }));
  expect(reviews()[0]).toMatchObject({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: {
      desiredAPIVersion: 'example.com/v2',
      objects: [{ ...widget('v1', 'a', { size: 3 }) }],
    },
  });
  const created = await api.post(path('v2'), widget('v2', 'b', { length: 4 }));
  expect([created.code, created.json.spec]).toEqual([201, { length: 4 }]);
  expect((await api.get(`${path('v1')}/b`)).json.spec).toEqual({ size: 4 });
  const changed = await api.patch(`${path('v2')}/b`, { spec: { length: 5 } });
  expect([changed.code, changed.json.spec, changed.json.metadata.generation]).toEqual([
    200,
    { length: 5 },
    2,
  ]);
});

test('a list is one request, and converted objects are not converted again', async () => {
  for (const name of ['a', 'b', 'c']) await api.post(path('v1'), widget('v1', name, { size: 1 }));
  const list = async (): Promise<unknown> =>
    (await api.get(path('v2'))).json.items.map(({ spec }) => spec);
  expect(await list()).toEqual([{ length: 1 }, { length: 1 }, { length: 1 }]);
  expect(reviews().map(({ request }) => request.objects.length)).toEqual([3]);
  await list();
  await api.get(`${path('v2')}/a`);
  expect(webhook.received).toHaveLength(1);
});

test('watchers see converted objects', async () => {
  const type = {
    group: 'example.com',
    version: 'v2',
    resource: 'widgets',
    kind: 'Widget',
    namespaced: true,
  } as never;
  const watch = await t.client.resource<Json & { metadata: never }>(type).watch();
  await api.post(path('v1'), widget('v1', 'a', { size: 9 }));
  for await (const { object } of watch) {
    expect(object).toMatchObject({ apiVersion: 'example.com/v2', spec: { length: 9 } });
    break;
  }
});

test('labels and annotations may change, other metadata may not', async () => {
  await api.post(path('v1'), widget('v1', 'a', {}));
  convert = (object, apiVersion) => ({
    ...renamed(object, apiVersion),
    metadata: {
      ...object.metadata,
      labels: { a: 'b' },
      generation: 9,
      creationTimestamp: '2001-01-01T00:00:00Z',
      finalizers: ['x/y'],
    },
  });
  const { metadata } = (await api.get(`${path('v2')}/a`)).json;
  expect(metadata).toMatchObject({ labels: { a: 'b' }, generation: 1 });
  expect(metadata.creationTimestamp).not.toContain('2001');
  expect(metadata.finalizers).toBeUndefined();
});

const FAILED = '500 : conversion webhook for example.com/v1, Kind=Widget failed: ';
const RETURNED = '500 : conversion webhook for example.com/v1, Kind=Widget returned ';
const reviewOf = (response: unknown): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  response,
});

describe('a response that is rejected', () => {
  const responses: readonly [string, (review: Review) => unknown, string | RegExp][] = [
    [
      'of another UID',
      (r) => reviewOf({ ...(success(r)['response'] as Json), uid: 'x' }),
      /failed: expected response.uid=".+", got "x"$/,
    ],
    [
      'of another kind',
      (r) => ({ ...success(r), kind: 'Pod' }),
      `${FAILED}no kind "Pod" is registered for version "apiextensions.k8s.io/v1" in scheme ` +
        '"pkg/runtime/scheme.go:111"',
    ],
    ['empty', () => reviewOf(undefined), `${FAILED}no response provided`],
    [
      'failure',
      ({ request: { uid } }) =>
        reviewOf({ uid, result: { status: 'Failure', message: 'not today' } }),
      `${FAILED}not today`,
    ],
    [
      'no status',
      ({ request: { uid } }) => reviewOf({ uid, result: {} }),
      `${FAILED}response.result.status was '', not 'Success'`,
    ],
    [
      'too few objects',
      ({ request: { uid } }) =>
        reviewOf({ uid, convertedObjects: [], result: { status: 'Success' } }),
      `${RETURNED}0 objects, expected 1`,
    ],
  ];
  test.each(responses)('%s', async (_, of, expected) => {
    await api.post(path('v1'), widget('v1', 'a', {}));
    respond = of;
    const answer = outcome(await api.get(`${path('v2')}/a`));
    if (typeof expected === 'string') expect(answer).toBe(expected);
    else expect(answer).toMatch(expected);
    // Nothing of the rejected response was cached.
    respond = success;
    expect((await api.get(`${path('v2')}/a`)).code).toBe(200);
  });
});

describe('an object that is rejected', () => {
  const changes: readonly [string, (object: Converted) => unknown, string][] = [
    [
      'another version',
      (o) => ({ ...o, apiVersion: 'example.com/v3' }),
      'invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)',
    ],
    [
      'another kind',
      (o) => ({ ...o, kind: 'Other' }),
      'invalid object at index 0: invalid kind (expected Widget, received Other)',
    ],
    [
      'another name',
      (o) => ({ ...o, metadata: { ...o.metadata, name: 'b' } }),
      'invalid object: must have the same name: a != b',
    ],
    [
      'another namespace',
      (o) => ({ ...o, metadata: { ...o.metadata, namespace: 'b' } }),
      'invalid object: must have the same namespace: default != b',
    ],
    [
      'no metadata',
      (o) => ({ ...o, metadata: undefined }),
      'invalid object: must have the same name: a != ',
    ],
    [
      'labels of a wrong type',
      (o) => ({ ...o, metadata: { ...o.metadata, labels: 3 } }),
      'invalid metadata: invalid metadata.labels of type int64 in converted object',
    ],
    [
      'a label of a wrong type',
      (o) => ({ ...o, metadata: { ...o.metadata, labels: { a: 3 } } }),
      'invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
    ],
  ];
  test.each(changes)('%s', async (_, change, expected) => {
    await api.post(path('v1'), widget('v1', 'a', {}));
    convert = (object, apiVersion) => change(renamed(object, apiVersion));
    expect(outcome(await api.get(`${path('v2')}/a`))).toBe(RETURNED + expected);
  });
});

test('metrics count failed requests by type, and measure durations', async () => {
  await api.post(path('v1'), widget('v1', 'a', { size: 3 }));
  const read = async (): Promise<number> => (await api.get(`${path('v2')}/a`)).code;
  const [goodConvert, goodRespond] = [convert, respond];
  convert = () => ({ kind: 'Other', apiVersion: 'example.com/v2', metadata: {} });
  expect(await read()).toBe(500);
  convert = goodConvert;
  respond = () => ({ kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' });
  expect(await read()).toBe(500);
  respond = (review) => {
    const answer = success(review);
    return { ...answer, response: { ...(answer['response'] as Json), convertedObjects: [] } };
  };
  expect(await read()).toBe(500);
  respond = goodRespond;
  isUnreachable = true;
  expect(await read()).toBe(500);
  isUnreachable = false;
  expect(await read()).toBe(200);
  const { text } = await send(t.server, { path: '/metrics' });
  const counts = text
    .split('\n')
    .filter((line) => /^apiserver_.*conversion_webhook.*(total|count)[{ ]/.test(line));
  const failure = (type: string): string =>
    `{result="failure",failure_type="conversion_webhook_${type}_failure"} 1`;
  const ofCalls = (metric: string): string[] => [
    ...['invalid_converted_object', 'malformed_response', 'partial_response', 'call'].map(
      (type) => metric + failure(type),
    ),
    `${metric}{result="success",failure_type=""} 1`,
  ];
  const conversions = 'apiserver_crd_conversion_webhook_duration_seconds_count';
  const labels = 'crd_name="widgets.example.com",from_version="v1",to_version="v2"';
  expect(counts).toEqual([
    ...ofCalls('apiserver_conversion_webhook_duration_seconds_count'),
    ...ofCalls('apiserver_conversion_webhook_request_total'),
    `${conversions}{${labels},succeeded="false"} 4`,
    `${conversions}{${labels},succeeded="true"} 1`,
  ]);
});

test('a webhook that is unreachable affects only the requests that need it', async () => {
  await api.post(path('v1'), widget('v1', 'a', { size: 1 }));
  isUnreachable = true;
  expect(outcome(await api.get(`${path('v2')}/a`))).toMatch(
    /^500 : conversion webhook for example.com\/v1, Kind=Widget failed: Post/,
  );
  expect((await api.get(path('v2'))).code).toBe(500);
  expect((await api.get(`${path('v1')}/a`)).code).toBe(200);
  expect((await api.patch(`${path('v1')}/a`, { spec: { size: 2 } })).code).toBe(200);
  expect((await api.get('/api/v1/namespaces')).code).toBe(200);
  expect((await api.delete(`${path('v1')}/a`)).code).toBe(200);
});
