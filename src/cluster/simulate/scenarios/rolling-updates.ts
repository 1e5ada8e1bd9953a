// Deployments behind services that are rolled out, scaled and deleted.

import type { SimulationScenario } from '../scenario.ts';
import { deployment, service } from './manifests.ts';

const NAMES = ['web', 'api', 'cart'];

export const rollingUpdates: SimulationScenario = {
  name: 'rolling-updates',
  description: 'three deployments with services, rolled out and scaled every few minutes',
  cluster: { nodes: 5 },
  duration: '1h',
  async setup({ cluster }) {
    for (const name of NAMES) {
      await cluster.apply(deployment(name, 3, 'v1'));
      await cluster.apply(service(name));
    }
    await cluster.clock.advance('1m');
  },
  actions: [
    {
      every: '7m',
      async run({ cluster, random }) {
        const name = NAMES[random.int(NAMES.length)] as string;
        await cluster.apply(deployment(name, 1 + random.int(6), `v${1 + random.int(5)}`));
      },
    },
  ],
};
