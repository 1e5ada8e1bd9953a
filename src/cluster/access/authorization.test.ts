// The flags and the file about authorization, and the file's changes while a server runs.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { authorizationOf } from './authorization.ts';

const services = { clock: new VirtualClock(), logger: silentLogger };
let dir: string;
let kubeconfig: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-authorization-'));
  kubeconfig = join(dir, 'hook.kubeconfig');
  file = join(dir, 'authorization.yaml');
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'hook', cluster: { server: 'https://127.0.0.1:1/' } }],
      contexts: [{ name: 'hook', context: { cluster: 'hook', user: 'me' } }],
      users: [{ name: 'me', user: { token: 'secret' } }],
      'current-context': 'hook',
    }),
  );
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(...authorizers: readonly object[]): void {
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'AuthorizationConfiguration',
      authorizers,
    }),
  );
}

const RBAC = { type: 'RBAC', name: 'rbac' };
const hook = (path: string): object => ({
  type: 'Webhook',
  name: 'hook',
  webhook: {
    timeout: '3s',
    subjectAccessReviewVersion: 'v1',
    failurePolicy: 'Deny',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: path },
  },
});

test('without flags there are no settings', async () => {
  expect(await authorizationOf({}, services)).toBeUndefined();
});

test('the mode Webhook has the settings of upstream', async () => {
  const flags = {
    authorizationMode: ['Webhook', 'RBAC'],
    authorizationWebhookConfigFile: kubeconfig,
    authorizationWebhookCacheUnauthorizedTtl: 0,
  };
  expect((await authorizationOf(flags, services))?.authorizers()).toEqual([
    {
      type: 'Webhook',
      name: 'default',
      kubeConfigFile: kubeconfig,
      timeoutMs: 30_000,
      failurePolicy: 'NoOpinion',
      reviewVersion: 'v1beta1',
      authorizedTtlMs: 300_000,
      unauthorizedTtlMs: 0,
      matchConditions: [],
    },
    { type: 'RBAC' },
  ]);
});

test.each([
  [{ authorizationMode: ['Webhook'] }, /config file not passed/],
  [{ authorizationWebhookConfigFile: '/x' }, /without mode Webhook/],
  [{ authorizationMode: ['DAC'] }, /"DAC" is no authorization mode: modes are AlwaysAllow,/],
  [{ authorizationMode: ['ABAC'] }, /ABAC's policy file not passed/],
  [
    { authorizationPolicyFile: '/a' },
    /cannot specify --authorization-policy-file without mode ABAC/,
  ],
  [
    { authorizationMode: ['ABAC'], authorizationPolicyFile: '/no/such' },
    /--authorization-policy-file: ENOENT/,
  ],
  [{ authorizationMode: ['Node', 'Node'] }, /more than once/],
  [
    { authorizationMode: ['Webhook'], authorizationWebhookConfigFile: '/does/not/exist' },
    /cannot read the kubeconfig/,
  ],
  [
    {
      authorizationMode: ['Webhook'],
      authorizationWebhookConfigFile: '/x',
      authorizationWebhookVersion: 'v2',
    },
    /unsupported webhook authorizer version "v2"/,
  ],
  [{ authorizationConfig: '/x', authorizationMode: ['RBAC'] }, /can not be specified when/],
  [{ authorizationConfig: '/does/not/exist' }, /--authorization-config: ENOENT/],
])('wrong flags: %j', async (flags, message) => {
  await expect(authorizationOf(flags, services)).rejects.toThrow(message);
});

test('a wrong file is rejected at the start', async () => {
  write(hook('hook.kubeconfig'));
  const flags = { authorizationConfig: file };
  await expect(authorizationOf(flags, services)).rejects.toThrow(/must be an absolute path/);
  write(hook(join(dir, 'none')));
  await expect(authorizationOf(flags, services)).rejects.toThrow(/no such file or directory/);
  write(hook(dir));
  await expect(authorizationOf(flags, services)).rejects.toThrow(/must be a regular file/);
  writeFileSync(kubeconfig, 'a: {');
  write(hook(kubeconfig));
  await expect(authorizationOf(flags, services)).rejects.toThrow(/is not YAML/);
});

test('a changed file is used, unless it is wrong', async () => {
  write(RBAC);
  const clock = new VirtualClock();
  const settings = (await authorizationOf({ authorizationConfig: file }, { ...services, clock }))!;
  const stop = new AbortController();
  let changes = 0;
  const watching = settings.keepLoaded(stop.signal, () => void changes++);
  const series = (): readonly string[] =>
    settings
      .metrics()
      .split('\n')
      .filter((line) =>
        line.startsWith('apiserver_authorization_config_controller_automatic_reloads'),
      )
      .map((line) => line.replace(/apiserver_id_hash="sha256:[0-9a-f]{64}"/, 'ID'));
  const atFirst = settings.authorizers();
  await clock.advance(30_000);
  expect(settings.authorizers()).toBe(atFirst);
  expect(series()).toEqual([]);

  write(hook(kubeconfig), RBAC);
  await clock.advance(30_000);
  expect(settings.authorizers().map(({ type }) => type)).toEqual(['Webhook', 'RBAC']);
  expect(changes).toBe(1);

  // Without RBAC, with Node, and no YAML.
  for (const change of [
    () => write(hook(kubeconfig)),
    () => write(RBAC, { type: 'Node', name: 'node' }),
    () => writeFileSync(file, '{'),
  ]) {
    change();
    await clock.advance(30_000);
    expect(settings.authorizers().map(({ type }) => type)).toEqual(['Webhook', 'RBAC']);
  }
  expect(changes).toBe(1);
  expect(series()).toEqual([
    'apiserver_authorization_config_controller_automatic_reloads_total{ID,status="success"} 1',
    'apiserver_authorization_config_controller_automatic_reloads_total{ID,status="failure"} 3',
  ]);
  stop.abort();
  await watching;
});
