// Jobs and a CronJob in a namespace with a quota.

import type { SimulationScenario } from '../scenario.ts';
import { job } from './manifests.ts';

export const jobsUnderQuota: SimulationScenario = {
  name: 'jobs',
  description: 'a CronJob every five minutes and jobs by hand, in a namespace with a quota of pods',
  cluster: { nodes: 3 },
  duration: '2h',
  async setup({ cluster }) {
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'few' },
      spec: { hard: { pods: '6' } },
    });
    await cluster.apply({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'backup' },
      spec: {
        schedule: '*/5 * * * *',
        concurrencyPolicy: 'Forbid',
        jobTemplate: { spec: job('x', 2).spec },
      },
    });
  },
  actions: [
    {
      every: '11m',
      async run({ cluster, random }) {
        await cluster.apply(job(`task-${random.nameSuffix(8)}`, 1 + random.int(4)));
      },
    },
  ],
};
