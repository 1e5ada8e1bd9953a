// A StatefulSet and a deployment with a budget, on nodes that go away and are drained.

import { nodes, pods } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { SimulationScenario } from '../scenario.ts';
import { deployment, service, statefulSet } from './manifests.ts';

export const nodeFailures: SimulationScenario = {
  name: 'node-failures',
  description: 'a StatefulSet, and a deployment with a budget, while nodes are drained and stopped',
  cluster: { nodes: 6 },
  duration: '2h',
  async setup({ cluster }) {
    await cluster.apply(deployment('web', 4, 'v1'));
    await cluster.apply(service('web'));
    await cluster.apply(statefulSet('db', 3));
    await cluster.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web' },
      spec: { minAvailable: 3, selector: { matchLabels: { app: 'web' } } },
    });
    await cluster.clock.advance('2m');
  },
  actions: [
    {
      every: '13m',
      async run({ cluster, random }) {
        const all = await cluster.list(nodes);
        const { name } = (all[random.int(all.length)] as (typeof all)[number]).metadata;
        const cordon = (unschedulable: boolean): Promise<unknown> =>
          cluster.client
            .resource(nodes)
            .patch(name, 'application/merge-patch+json', { spec: { unschedulable } });
        await cordon(true);
        for (const pod of await cluster.list(pods)) {
          if (pod.spec.nodeName !== name) continue;
          const { namespace = '', name: podName } = pod.metadata;
          await cluster.client.transport
            .request({
              method: 'POST',
              path: `/api/v1/namespaces/${namespace}/pods/${podName}/eviction`,
              body: {
                apiVersion: 'policy/v1',
                kind: 'Eviction',
                metadata: { name: podName, namespace },
              },
            })
            .catch((error: unknown) => {
              // The budget does not allow it now, or it is gone.
              if (!apierrors.isTooManyRequests(error) && !apierrors.isNotFound(error)) throw error;
            });
        }
        await cluster.clock.advance('2m');
        await cordon(false);
      },
    },
    {
      every: '29m',
      async run({ cluster, random }) {
        const name = `node-${1 + random.int(6)}`;
        await cluster.stopNode(name);
        await cluster.clock.advance('7m');
        await cluster.startNode(name);
      },
    },
  ],
};
