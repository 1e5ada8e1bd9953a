import { expect, test } from 'vitest';
import { controllerRevisions, daemonSets } from '#api/groups/apps/v1/index.ts';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { disturb } from '../testing/robustness.ts';
import { DaemonSetController } from './index.ts';

test.each([
  ['one after the other', {}],
  ['with a surge', { maxSurge: 1, maxUnavailable: 0 }],
])('an update %s ends the same, whatever goes wrong', async (_, rollingUpdate) => {
  const { writes, events, outcome, disturbed } = await disturb({
    subject: (config) => new DaemonSetController(config),
    others: [readyPods()],
    steps: [
      async ({ client }) => {
        for (const name of ['n1', 'n2'])
          await client.resource(nodes).create({ metadata: { name } });
        await client.resource(daemonSets).create({
          metadata: { name: 'agent', namespace: 'default' },
          spec: {
            selector: { matchLabels: { app: 'agent' } },
            updateStrategy: { rollingUpdate },
            template: {
              metadata: { labels: { app: 'agent' } },
              spec: { containers: [{ name: 'c', image: 'agent:1' }] },
            },
          },
        });
      },
      async ({ client }) => {
        const patch = {
          spec: { template: { spec: { containers: [{ name: 'c', image: 'agent:2' }] } } },
        };
        const inDefault = client.resource(daemonSets).namespace('default');
        await inDefault.patch('agent', 'application/strategic-merge-patch+json', patch);
      },
    ],
    outcome: [daemonSets, controllerRevisions, pods],
    rest: '1m',
  });
  expect([writes, events].every((count) => count > 10)).toBe(true);
  expect(outcome).toHaveLength(1 + 2 + 2);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
