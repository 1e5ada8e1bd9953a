// A whole API server whose authorizers are configured, and change while it runs.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { Api } from '#apiserver/testing/api.ts';
import { type RawResponse, send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import {
  respondJson,
  startWebhookServer,
  type WebhookServer,
} from '../../webhooks/testing/webhook-server.ts';
import type { AuthorizerSettings, WebhookAuthorizerSettings } from '../settings.ts';

const PODS = '/api/v1/namespaces/default/pods';
const PROBLEM = 'the server rejected our request for an unknown reason';
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

let dir: string;
let webhook: WebhookServer;
let t: TestServer;
let authorizers: readonly AuthorizerSettings[];
let hook: WebhookAuthorizerSettings;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-authorizer-'));
  webhook = await startWebhookServer({
    handler: (request, response) => {
      const { spec } = JSON.parse(request.body) as { spec: { user: string } };
      if (spec.user === 'broken') respondJson(response, {}, 400);
      else respondJson(response, { status: { allowed: spec.user === 'alice' } });
    },
  });
  const kubeConfigFile = join(dir, 'hook.kubeconfig');
  const cluster = { server: webhook.url, 'certificate-authority-data': webhook.caBundle };
  writeFileSync(
    kubeConfigFile,
    JSON.stringify({
      clusters: [{ name: 'hook', cluster }],
      contexts: [{ name: 'hook', context: { cluster: 'hook' } }],
      'current-context': 'hook',
    }),
  );
  hook = {
    type: 'Webhook',
    name: 'hook',
    kubeConfigFile,
    timeoutMs: 3000,
    failurePolicy: 'NoOpinion',
    reviewVersion: 'v1',
    authorizedTtlMs: 0,
    unauthorizedTtlMs: 0,
    matchConditions: [],
  };
  authorizers = [hook, { type: 'RBAC' }];
  t = await startTestServer({ authorizers: () => authorizers });
});

afterEach(async () => {
  await t.stop();
  await webhook.stop();
  rmSync(dir, { recursive: true });
});

/** Sends a request of a user with this name. */
const by = (name: string, path: string, body?: object): Promise<RawResponse> =>
  send(t.server, {
    path,
    user: { name, groups: ['system:authenticated'] },
    ...(body !== undefined && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }),
  });

test('the webhook allows, and what it fails at is an internal error', async () => {
  expect((await by('alice', PODS)).code).toBe(200);
  expect((await by('bob', PODS)).code).toBe(403);
  const broken = await by('broken', `${PODS}?limit=2`);
  expect(broken.code).toBe(500);
  expect(broken.text).toBe(`Internal Server Error: "${PODS}?limit=2": ${PROBLEM}\n`);
  expect(t.logger.errors).toHaveLength(1);
});

test('reviews report the failure', async () => {
  const api = new Api(t);
  const spec = { user: 'broken', resourceAttributes: { verb: 'get', resource: 'pods' } };
  expect((await api.post(REVIEWS, { spec })).json['status']).toEqual({
    allowed: false,
    evaluationError: PROBLEM,
  });
  const fieldSelector = {
    requirements: [
      { key: 'a', operator: 'In', values: ['b'] },
      { key: 'a', operator: 'Exists' },
    ],
  };
  const labelSelector = { rawSelector: 'a in (' };
  const resourceAttributes = { ...spec.resourceAttributes, fieldSelector, labelSelector };
  const reviewed = await api.post(REVIEWS, { spec: { ...spec, resourceAttributes } });
  expect(reviewed.json['status']).toEqual({
    allowed: false,
    evaluationError:
      `${PROBLEM}; spec.resourceAttributes.fieldSelector partially ignored due to parse error; ` +
      'spec.resourceAttributes.labelSelector ignored due to parse error',
  });
  const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
  const rules = await by('alice', path, { spec: { namespace: 'default' } });
  expect(rules.json['status']).toMatchObject({
    incomplete: true,
    evaluationError: 'webhook authorizer does not support user rule resolution',
  });
});

test('other authorizers are used from the next request on', async () => {
  const api = new Api(t);
  authorizers = [{ type: 'RBAC' }];
  expect((await by('alice', PODS)).code).toBe(403);
  authorizers = [hook, { type: 'RBAC' }];
  expect((await by('alice', PODS)).code).toBe(200);
  const { text } = await api.get('/metrics');
  expect(text).toContain(
    'apiserver_authorization_decisions_total{type="Webhook",name="hook",decision="allowed"} 1',
  );
});
