// A server starts although admission webhooks that fail closed cannot be reached.

import { expect, test } from 'vitest';
import { services } from '#api/groups/core/v1/index.ts';
import { clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { validatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { Storage } from '#storage/interface.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import { StartWrites } from './start-writes.ts';
import { startTestServer } from './testing/server.ts';

/** Returns a storage that outlives its servers. */
const kept = (storage: Storage): Storage =>
  new Proxy(storage, {
    get: (target, name) => {
      if (name === 'close') return () => Promise.resolve();
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function'
        ? (value as (...args: unknown[]) => unknown).bind(target)
        : value;
    },
  });

test('the server starts on another port, and repeats its writes once the webhook is deleted', async () => {
  const clock = new VirtualClock();
  const storage = createMemoryStorage({ clock, logger: recordingLogger() });
  const keep = kept(storage);
  const first = await startTestServer({ clock, storage: keep, port: 6443 });
  await first.client.resource(clusterRoles).delete('view');
  await first.client.resource(validatingWebhookConfigurations).create({
    metadata: { name: 'closed' },
    webhooks: [
      {
        name: 'closed.example.com',
        clientConfig: { service: { namespace: 'default', name: 'down', path: '/' } },
        rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  await first.stop();
  const second = await startTestServer({ clock, storage: keep, port: 7443 });
  const inDefault = second.client.resource(services).namespace('default');
  const targetPort = async (): Promise<unknown> =>
    (await inDefault.get('kubernetes')).spec.ports?.[0]?.targetPort;
  const hasRole = () =>
    second.client
      .resource(clusterRoles)
      .get('view')
      .then(
        () => true,
        () => false,
      );
  expect([await targetPort(), await hasRole()]).toEqual([6443, false]);
  await clock.advance('30s');
  expect([await targetPort(), await hasRole()]).toEqual([6443, false]);
  await second.client.resource(validatingWebhookConfigurations).delete('closed');
  await clock.advance('11s');
  expect([await targetPort(), await hasRole()]).toEqual([7443, true]);
  await second.stop();
  await storage.close();
});

test('a server with a range of another family starts, and keeps the Service it cannot change', async () => {
  const clock = new VirtualClock();
  const storage = createMemoryStorage({ clock, logger: recordingLogger() });
  const config = { clock, storage: kept(storage) };
  const first = await startTestServer({ ...config, serviceCidr: '10.0.0.0/24', port: 6443 });
  await first.stop();
  const second = await startTestServer({ ...config, serviceCidr: 'fd00::/112', port: 7443 });
  const { spec } = await second.client.resource(services).namespace('default').get('kubernetes');
  expect([spec.clusterIP, spec.ports?.[0]?.targetPort]).toEqual(['10.0.0.1', 6443]);
  expect(second.logger.errors.join()).toContain('initializing the Service kubernetes failed');
  await second.stop();
  await storage.close();
});

test('a webhook that does not respond delays the start by two seconds', async () => {
  const clock = new VirtualClock();
  const logger = recordingLogger();
  const writes = new StartWrites({ hasWebhooks: () => Promise.resolve(true), clock, logger });
  const { promise, resolve } = withResolvers();
  let ended = false;
  const attempt = writes.attempt('slow', () => promise).then(() => (ended = true));
  await clock.advance('1s');
  expect(ended).toBe(false);
  await clock.advance('2s');
  await attempt;
  resolve();
  await writes.stop();
});

test('other failures, and failures without webhooks, end the start', async () => {
  const [clock, logger] = [new VirtualClock(), recordingLogger()];
  const fail = (message: string) => () => Promise.reject(new Error(message));
  const closed = 'Internal error occurred: failed calling webhook "x": no endpoints';
  const withWebhooks = new StartWrites({ hasWebhooks: () => Promise.resolve(true), clock, logger });
  await expect(withWebhooks.attempt('x', fail('disk full'))).rejects.toThrow('disk full');
  await withWebhooks.attempt('x', fail(closed));
  await withWebhooks.stop();
  const without = new StartWrites({ hasWebhooks: () => Promise.resolve(false), clock, logger });
  await expect(without.attempt('x', fail(closed))).rejects.toThrow('failed calling webhook');
});
