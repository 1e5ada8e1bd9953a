import { expect, test } from 'vitest';
import { configMaps, namespaces, pods } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { NamespaceController } from './index.ts';

test('reaches the same outcome after every fault', { timeout: 240_000 }, async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new NamespaceController(config),
    steps: [
      async ({ client, addNamespace }) => {
        await addNamespace('x');
        const inX = client.resource(configMaps).namespace('x');
        await inX.create({ metadata: { name: 'a' } });
        await inX.create({ metadata: { name: 'waits', finalizers: ['example.com/wait'] } });
        await client
          .resource(pods)
          .namespace('x')
          .create({ metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
        await client.resource(namespaces).delete('x');
      },
      async ({ client }) => {
        const inX = client.resource(configMaps).namespace('x');
        await inX.patch('waits', 'application/merge-patch+json', {
          metadata: { finalizers: null },
        });
      },
    ],
    outcome: [namespaces, configMaps, pods],
    // Only these writes count: the controller deletes the collections of every kind, and most are
    // empty.
    counts: ({ resource, name }) =>
      resource === 'namespaces' || (/^(configmaps|pods)$/.test(resource) && name === ''),
    rest: '30s',
  });
  expect(writes).toBeGreaterThan(4);
  expect(JSON.stringify(outcome)).not.toContain('"x"');
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
