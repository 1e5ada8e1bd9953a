// A server starts although admission webhooks that fail closed for every write cannot be reached,
// as they may be pods of its own cluster.

import { expect, test, vi } from 'vitest';
import { validatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import { services } from '#api/groups/core/v1/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { startTestServer, type TestServer } from './testing/server.ts';

const portOf = async (t: TestServer): Promise<unknown> =>
  (await t.client.resource(services).namespace('default').get('kubernetes')).spec.ports?.[0]
    ?.targetPort;

test('it starts on another port, and writes the Service as soon as it can', async () => {
  const before = await startTestServer({ clock: systemClock, port: 6443 });
  expect(await portOf(before)).toBe(6443);
  await before.client.resource(validatingWebhookConfigurations).create({
    metadata: { name: 'all' },
    webhooks: [
      {
        name: 'all.example.com',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*'] }],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  await before.server.stop();

  const after = await startTestServer({ clock: systemClock, port: 7443, storage: before.storage });
  try {
    expect(await portOf(after)).toBe(6443);
    await after.client.resource(validatingWebhookConfigurations).delete('all');
    await vi.waitFor(async () => expect(await portOf(after)).toBe(7443), { timeout: 60_000 });
  } finally {
    await after.stop();
  }
});
