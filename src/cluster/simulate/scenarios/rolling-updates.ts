// Deployments behind services that are rolled out, scaled and deleted.

import type { ScenarioContext, SimulationScenario } from '../scenario.ts';
import { deployment, service } from './manifests.ts';

const NAMES = ['web', 'api', 'cart'];

/** Deploys them, and waits until they run. */
export async function rollOutSetup({ cluster }: ScenarioContext): Promise<void> {
  for (const name of NAMES) {
    await cluster.apply(deployment(name, 3, 'v1'));
    await cluster.apply(service(name));
  }
  await cluster.clock.advance('1m');
}

/** Gives one of them another image and another number of pods. */
export async function rollOut({ cluster, random }: ScenarioContext): Promise<void> {
  const name = NAMES[random.int(NAMES.length)] as string;
  await cluster.apply(deployment(name, 1 + random.int(6), `v${1 + random.int(5)}`));
}

export const rollingUpdates: SimulationScenario = {
  name: 'rolling-updates',
  description: 'three deployments with services, rolled out and scaled every few minutes',
  cluster: { nodes: 5 },
  duration: '1h',
  setup: rollOutSetup,
  actions: [{ every: '7m', run: rollOut }],
};
