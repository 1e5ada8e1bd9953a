// The plugin ImagePolicyWebhook with a webhook that is a function.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { WebhookCallError } from '../../webhooks/client/index.ts';
import type { ImagePolicySettings } from '../configuration.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { ImmutablePod } from '../pod-defaults.ts';
import { ImagePolicyWebhook } from './image-policy-webhook.ts';

const dir = mkdtempSync(join(tmpdir(), 'coxswain-image-policy-'));
afterAll(() => rmSync(dir, { recursive: true }));
const kubeConfigFile = join(dir, 'kubeconfig');
writeFileSync(
  kubeConfigFile,
  JSON.stringify({
    clusters: [{ name: 'a', cluster: { server: 'https://images.example/policy' } }],
    contexts: [{ name: 'a', context: { cluster: 'a' } }],
    'current-context': 'a',
  }),
);

let clock: VirtualClock;
let sent: unknown[];
let respond: (review: { spec: object }) => unknown;
beforeEach(() => {
  clock = new VirtualClock();
  sent = [];
  respond = () => ({ status: { allowed: true } });
});

function pluginWith(settings: Partial<ImagePolicySettings> = {}): ImagePolicyWebhook {
  return new ImagePolicyWebhook(
    {
      clock,
      random: new SeededRandom('a'),
      logger: silentLogger,
      webhooks: {
        callServer: async (_access, body) => {
          sent.push(body);
          return respond(body as { spec: object });
        },
      },
    },
    {
      kubeConfigFile,
      allowTtlMs: 60_000,
      denyTtlMs: 30_000,
      retryBackoffMs: 500,
      defaultAllow: false,
      ...settings,
    },
  );
}

const audited = new Map<string, string>();
function attributesOf(subresource = ''): AdmissionAttributes {
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: 'p',
      namespace: 'team',
      annotations: { 'mycluster.image-policy.k8s.io/ticket': 'break-glass', other: 'x' },
    },
    spec: {
      containers: [{ name: 'c', image: 'a:1', resources: {} }],
      initContainers: [{ name: 'i', image: 'b:1', resources: {} }],
      ephemeralContainers: [{ name: 'e', image: 'c:1', resources: {} }],
    },
    status: {},
  } as unknown as ImmutablePod;
  return {
    operation: 'CREATE',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    subresource,
    namespace: 'team',
    name: 'p',
    object: pod,
    query: new URLSearchParams(),
    dryRun: false,
    user: { name: 'joe', groups: [] },
    warnings: [],
    caller: {
      signal: new AbortController().signal,
      audit: {
        annotate: (key: string, value: string) => void audited.set(key, value),
        records: () => true,
      },
    },
  };
}

test('the review has images, annotations of image policies, and the namespace', async () => {
  const plugin = pluginWith();
  await plugin.validate(attributesOf());
  await plugin.validate(attributesOf('ephemeralcontainers'));
  const annotations = { 'mycluster.image-policy.k8s.io/ticket': 'break-glass' };
  expect(sent).toEqual(
    [[{ image: 'a:1' }, { image: 'b:1' }], [{ image: 'c:1' }]].map((containers) => ({
      kind: 'ImageReview',
      apiVersion: 'imagepolicy.k8s.io/v1alpha1',
      metadata: {},
      spec: { containers, annotations, namespace: 'team' },
      status: { allowed: false },
    })),
  );
});

test('a denial has the reason; answers are kept as long as the settings say', async () => {
  const plugin = pluginWith();
  respond = () => ({
    status: { allowed: false, reason: 'unsigned', auditAnnotations: { by: 'x' } },
  });
  const denied =
    'pods "p" is forbidden: image policy webhook backend denied one or more images: unsigned';
  await expect(plugin.validate(attributesOf())).rejects.toThrow(denied);
  expect(audited.get('imagepolicywebhook.image-policy.k8s.io/by')).toBe('x');
  respond = () => ({ status: { allowed: true } });
  await expect(plugin.validate(attributesOf())).rejects.toThrow(denied);
  await clock.advance(30_001);
  await plugin.validate(attributesOf());
  respond = () => ({ status: { allowed: false } });
  await clock.advance(59_000);
  await plugin.validate(attributesOf());
  await clock.advance(2000);
  await expect(plugin.validate(attributesOf())).rejects.toThrow(
    'pods "p" is forbidden: one or more images rejected by webhook backend',
  );
  expect(sent).toHaveLength(3);
});

test('a webhook that fails rejects pods, unless the settings admit them', async () => {
  respond = () => {
    throw new WebhookCallError('connection refused');
  };
  await expect(pluginWith().validate(attributesOf())).rejects.toThrow(
    'pods "p" is forbidden: connection refused',
  );
  await pluginWith({ defaultAllow: true }).validate(attributesOf());
  expect(audited.get('imagepolicywebhook.image-policy.k8s.io/failed-open')).toBe('true');
});

test('other writes are of no concern', () => {
  const target = attributesOf();
  const plugin = pluginWith();
  expect(plugin.concerns(target)).toBe(true);
  for (const other of [
    { subresource: 'status' },
    { operation: 'DELETE' as const },
    { resource: { ...target.resource, resource: 'services' } },
  ])
    expect(plugin.concerns({ ...target, ...other })).toBe(false);
});
