// Whatever a decoder lets through, the strategies of workloads and jobs answer: they find errors, and never fail themselves.

import { expect, test } from 'vitest';

import { exerciseStrategy as exercise } from '#apiserver/testing/fuzz-strategy.ts';
import { cronJobTable, jobTable } from '#apiserver/printers/batch.ts';
import { controllerRevisionTable, daemonSetTable, deploymentTable, statefulSetTable } from '#apiserver/printers/workloads.ts';
import { cronJobStatusStrategy, cronJobStrategy } from '../batch/cron-job/strategy.ts';
import { jobStatusStrategy, jobStrategy } from '../batch/job/strategy.ts';
import { controllerRevisionStrategy } from './controller-revision/strategy.ts';
import { daemonSetStatusStrategy, daemonSetStrategy } from './daemon-set/strategy.ts';
import { deploymentStatusStrategy, deploymentStrategy } from './deployment/strategy.ts';
import { statefulSetStatusStrategy, statefulSetStrategy } from './stateful-set/strategy.ts';

test.each<[key: string, run: (key: string) => number]>([
  ['apps/v1.ControllerRevision', (key) => exercise(key, controllerRevisionStrategy, undefined, controllerRevisionTable)],
  ['apps/v1.DaemonSet', (key) => exercise(key, daemonSetStrategy, daemonSetStatusStrategy, daemonSetTable)],
  ['apps/v1.Deployment', (key) => exercise(key, deploymentStrategy, deploymentStatusStrategy, deploymentTable)],
  ['apps/v1.StatefulSet', (key) => exercise(key, statefulSetStrategy, statefulSetStatusStrategy, statefulSetTable)],
  ['batch/v1.CronJob', (key) => exercise(key, cronJobStrategy, cronJobStatusStrategy, cronJobTable)],
  ['batch/v1.Job', (key) => exercise(key, jobStrategy, jobStatusStrategy, jobTable)],
])('%s', (key, run) => {
  expect(run(key)).toBeGreaterThan(0);
});
