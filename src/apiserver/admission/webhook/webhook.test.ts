// Webhooks through a whole server, beyond the cases that testing/cases.ts compares with upstream.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { configMaps } from '#api/groups/core/v1/index.ts';
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { handle, send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { widgetKind, widgetType } from '#apiserver/testing/widgets.ts';
import {
  respondJson,
  startWebhookServer,
  type WebhookServer,
} from '#apiserver/webhooks/testing/webhook-server.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { nextTurn } from '#machinery/turn.ts';
import { callWebhook } from './call.ts';
import type { Review } from './testing/behaviours.ts';

let api: TestServer;
let webhook: WebhookServer;

beforeEach(async () => {
  [api, webhook] = await Promise.all([
    startTestServer(),
    startWebhookServer({ handler: () => undefined }),
  ]);
});

afterEach(async () => {
  await api.stop();
  await webhook.stop();
  expect(api.logger.errors).toEqual([]);
});

const settle = async (): Promise<void> => {
  // Watchers of configurations, the server among them, receive a change within a few turns of the
  // event loop.
  for (let turn = 0; turn < 10; turn++) await nextTurn();
};

type Hook = Partial<admission.MutatingWebhook>;

async function configure(type: 'mutating' | 'validating', ...hooks: Hook[]): Promise<void> {
  const webhooks = hooks.map((hook, index) => ({
    name: `h${index}.example.com`,
    clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
    rules: [{ operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
    sideEffects: 'None' as const,
    admissionReviewVersions: ['v1'],
    ...hook,
  }));
  const resource =
    type === 'mutating' ? mutatingWebhookConfigurations : validatingWebhookConfigurations;
  await api.client.resource(resource).create({ metadata: { name: 'it' }, webhooks });
  await settle();
}

/** Responds to each review with the result of `response`. */
function answers(response: (review: Review) => object): void {
  webhook.handler = ({ body }, out) => {
    const review = JSON.parse(body) as Review;
    const { apiVersion, kind, request } = review;
    respondJson(out, {
      apiVersion,
      kind,
      response: { uid: request.uid, allowed: true, ...response(review) },
    });
  };
}

const patch = (...operations: object[]): object => ({
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
const reviews = (): Review['request'][] =>
  webhook.received.map(({ body }) => (JSON.parse(body) as Review).request);
const create = (name: string, data: Record<string, string> = {}) =>
  api.client.resource(configMaps).namespace('default').create({ metadata: { name }, data });

async function refusal(write: Promise<unknown>): Promise<apierrors.Status> {
  try {
    await write;
  } catch (error) {
    if (error instanceof apierrors.StatusError) return error.status;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('a kind with several versions', () => {
  beforeEach(() => {
    const services = { storage: api.storage, clock: api.clock };
    const [v1, v2] = [widgetType('v1'), widgetType('v2')];
    const other = { group: v1.group, version: 'v1', kind: v1.kind };
    api.server.catalog.install([
      widgetKind(services, v1),
      { ...widgetKind(services, v2, v1), otherVersions: [other] },
    ]);
  });

  const rule = (version: string): Hook => ({
    rules: [
      {
        operations: ['*'],
        apiGroups: ['example.com'],
        apiVersions: [version],
        resources: ['widgets'],
      },
    ],
  });
  const post = (version: string, name: string) =>
    send(api.server, {
      method: 'POST',
      path: `/apis/example.com/${version}/namespaces/default/widgets`,
      body: {
        apiVersion: `example.com/${version}`,
        kind: 'Widget',
        metadata: { name },
        data: { a: 'b' },
      },
    });

  test('is seen in the version of the rule, by its own converter, and patched there', async () => {
    answers(() => patch({ op: 'add', path: '/data/x', value: 'y' }));
    await configure('mutating', rule('v2'));
    const { code, json } = await post('v1', 'w');
    expect([code, json.apiVersion, json.data]).toEqual([201, 'example.com/v1', { a: 'b', x: 'y' }]);
    const [seen] = reviews();
    expect(seen).toMatchObject({
      kind: { group: 'example.com', version: 'v2', kind: 'Widget' },
      requestKind: { version: 'v1' },
      object: { apiVersion: 'example.com/v2', data: { a: 'b' } },
    });
  });

  test('is not seen if only the exact version counts', async () => {
    answers(() => ({ allowed: false }));
    await configure('validating', { ...rule('v2'), matchPolicy: 'Exact' });
    expect((await post('v1', 'w')).code).toBe(201);
    expect((await post('v2', 'x')).json.message).toBe(
      'admission webhook "h0.example.com" denied the request without explanation',
    );
  });

  test('is rejected if it cannot be converted', async () => {
    const services = { storage: api.storage, clock: api.clock };
    const type = widgetType('v3', 'broken.example.com');
    const converter = { convert: () => Promise.reject(new Error('the converter is broken')) };
    const kind = widgetKind(services, type);
    const other = widgetKind(services, widgetType('v4', 'broken.example.com'));
    api.server.catalog.install([{ ...kind, converter }, other]);
    await configure('validating', {
      ...rule('v4'),
      rules: [
        {
          operations: ['*'],
          apiGroups: ['broken.example.com'],
          apiVersions: ['v4'],
          resources: ['widgets'],
        },
      ],
    });
    const body = { apiVersion: 'broken.example.com/v3', kind: 'Widget', metadata: { name: 'w' } };
    const path = '/apis/broken.example.com/v3/namespaces/default/widgets';
    expect((await send(api.server, { method: 'POST', path, body })).json).toMatchObject({
      code: 500,
      message: 'Internal error occurred: the converter is broken',
    });
    // No other request is affected.
    expect((await create('m')).metadata.name).toBe('m');
  });
});

test('a webhook that hangs delays only its own requests, and ends with the client', async () => {
  await configure('validating', {
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'] }],
    timeoutSeconds: 30,
  });
  const client = new AbortController();
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
  const path = '/api/v1/namespaces/default/secrets';
  const held = handle(api.server, { method: 'POST', path, body: secret }, client.signal);
  await expect.poll(() => webhook.received.length).toBe(1);
  for (let index = 0; index < 20; index++) await create(`m${index}`);
  client.abort();
  const { code, body } = await held;
  const status = body.kind === 'object' ? (body.object.object() as apierrors.Status) : undefined;
  expect([code, status?.message]).toEqual([500, expect.stringContaining('context canceled')]);
  expect((await send(api.server, { path: `${path}/s` })).code).toBe(404);
});

test('a change of configurations applies from the next request on', async () => {
  answers(() => ({ allowed: false, status: { message: 'no' } }));
  await configure('validating', {});
  expect((await refusal(create('a'))).message).toBe(
    'admission webhook "h0.example.com" denied the request: no',
  );
  await api.client.resource(validatingWebhookConfigurations).delete('it');
  await settle();
  await create('a');
  expect(webhook.received.length).toBe(1);
});

test('a patch that is too large is rejected', async () => {
  answers(() => patch({ op: 'add', path: '/data/x', value: 'x'.repeat(8 * 1024 * 1024) }));
  await configure('mutating', {});
  expect((await refusal(create('m'))).message).toContain(
    'the response is larger than the limit of 6291456 bytes',
  );
  answers(() =>
    patch({
      op: 'add',
      path: '/data',
      value: Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [i, ''])),
    }),
  );
  expect((await refusal(create('m'))).message).toContain(
    'received undecodable patch in webhook response: limit is',
  );
});

test('a dry run is rejected if the webhook has side effects', async () => {
  // Stored configurations may have these values; new ones may not.
  for (const sideEffects of ['Some', 'Unknown']) {
    const hook = {
      webhook: { name: 'h.example.com', sideEffects, admissionReviewVersions: ['v1'] },
      type: 'validating',
    };
    const call = callWebhook(
      { hook } as never,
      { attributes: { dryRun: true } } as never,
      {} as never,
    );
    expect(await refusal(call)).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: 'admission webhook "h.example.com" does not support dry run',
    });
  }
});

test('a webhook without a supported review version is not called', async () => {
  const hook = {
    webhook: { name: 'h.example.com', sideEffects: 'None', admissionReviewVersions: ['v9'] },
    type: 'validating',
  };
  await expect(
    callWebhook({ hook } as never, { attributes: { dryRun: false } } as never, {} as never),
  ).rejects.toThrow(
    'failed calling webhook "h.example.com": could not create admission objects: webhook does ' +
      'not accept known AdmissionReview versions (v1, v1beta1)',
  );
});

test('webhooks with the same client config share connections', async () => {
  answers(() => ({}));
  await configure(
    'validating',
    ...Array.from({ length: 20 }, (_, index) => ({ name: `h${index}.many.example.com` })),
  );
  await create('a');
  await create('b');
  expect(webhook.received.length).toBe(40);
  // The maximum number of concurrent calls.
  expect(webhook.connections).toBe(20);
});

test('metrics count calls, rejections and failures that are ignored', async () => {
  answers(({ request }) => ({
    allowed: request.object?.data?.['bad'] === undefined,
    status: { code: 403 },
  }));
  await configure(
    'validating',
    {},
    { clientConfig: { url: 'https://127.0.0.1:1/x' }, failurePolicy: 'Ignore' },
  );
  await create('a');
  await refusal(create('b', { bad: 'x' }));
  const { text } = await send(api.server, { path: '/metrics' });
  const lines = text
    .split('\n')
    .filter((line) =>
      /^apiserver_admission_webhook_(request_total|rejection_count|fail_open)/.test(line),
    );
  expect(lines.toSorted()).toEqual([
    'apiserver_admission_webhook_fail_open_count{name="h1.example.com",type="validating"} 2',
    'apiserver_admission_webhook_rejection_count{error_type="no_error",name="h0.example.com",' +
      'operation="CREATE",rejection_code="403",type="validating"} 1',
    'apiserver_admission_webhook_request_total{code="200",name="h0.example.com",operation="CREATE",' +
      'rejected="false",type="validating"} 1',
    'apiserver_admission_webhook_request_total{code="403",name="h0.example.com",operation="CREATE",' +
      'rejected="true",type="validating"} 1',
    'apiserver_admission_webhook_request_total{code="503",name="h1.example.com",operation="CREATE",' +
      'rejected="false",type="validating"} 2',
  ]);
});

test('a server starts although webhooks for everything cannot be reached', async () => {
  const { storage, clock } = api;
  const port = 6443;
  const first = await startTestServer({ storage, clock, port });
  const clientConfig = { url: 'https://127.0.0.1:1/x' };
  for (const type of ['mutating', 'validating'] as const) await configure(type, { clientConfig });
  expect((await refusal(create('m'))).message).toContain('failed calling webhook');
  // The server restarts on the storage as it was stopped.
  await first.server.stop();
  const again = await startTestServer({ storage, clock, port });
  expect(
    (await again.client.resource(configMaps).namespace('kube-system').list()).items.length,
  ).toBe(0);
  expect([...first.logger.errors, ...again.logger.errors]).toEqual([]);
  await again.server.stop();
});
