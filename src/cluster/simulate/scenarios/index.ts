// The scenarios that come with the package, by name.

import type { SimulationScenario } from '../scenario.ts';
import { jobsUnderQuota } from './jobs.ts';
import { longRun } from './long-run.ts';
import { nodeFailures } from './node-failures.ts';
import { rollingUpdates } from './rolling-updates.ts';

export const SCENARIOS: ReadonlyMap<string, SimulationScenario> = new Map(
  [rollingUpdates, jobsUnderQuota, nodeFailures, longRun].map((scenario) => [
    scenario.name,
    scenario,
  ]),
);
