// A month of a hundred nodes, in which little happens: a rollout a day, and a fault every two days.
// Most of its hours are quiet, and cost next to nothing, so that many years fit into a night.

import type { SimulationScenario } from '../scenario.ts';
import { rollOut, rollOutSetup } from './rolling-updates.ts';

export const longRun: SimulationScenario = {
  name: 'long-run',
  description: 'thirty days of a hundred nodes, with a rollout a day and a fault every two days',
  cluster: { nodes: 100 },
  duration: '720h',
  faults: { perHour: 1 / 48 },
  setup: rollOutSetup,
  actions: [{ every: '24h', run: rollOut }],
};
