// Whatever a decoder lets through, the strategies of workloads and jobs answer: they find errors, and never fail themselves.

import { expect, test } from 'vitest';

import { decodeObject } from '../../../api/codec/index.ts';
import { newDefaultScheme } from '../../../api/default-scheme.ts';
import { messageDescriptor } from '../../../api/schema/compile.ts';
import { fuzzObject } from '../../../api/testing/fuzz.ts';
import type { KubeObject } from '../../../client/client.ts';
import { deepFreeze } from '../../../machinery/deep.ts';
import { SeededRandom } from '../../../machinery/random.ts';
import { cronJobTable, jobTable } from '../../printers/batch.ts';
import { controllerRevisionTable, daemonSetTable, deploymentTable, statefulSetTable } from '../../printers/workloads.ts';
import { cronJobStatusStrategy, cronJobStrategy } from '../batch/cron-job/strategy.ts';
import { jobStatusStrategy, jobStrategy } from '../batch/job/strategy.ts';
import type { ResourceStrategy, StrategyContext, SubresourceStrategy } from '../strategy.ts';
import type { TableConvertor } from '../table.ts';
import { controllerRevisionStrategy } from './controller-revision/strategy.ts';
import { daemonSetStatusStrategy, daemonSetStrategy } from './daemon-set/strategy.ts';
import { deploymentStatusStrategy, deploymentStrategy } from './deployment/strategy.ts';
import { statefulSetStatusStrategy, statefulSetStrategy } from './stateful-set/strategy.ts';

const FILLS = 100;
const scheme = newDefaultScheme();
const context: StrategyContext = {
  request: { user: { name: 'u', groups: [] }, namespace: 'default', signal: new AbortController().signal, warnings: [] },
  now: 0,
  dryRun: false,
};

/** As the store hands it on: created, or there before. */
function named<T extends KubeObject>(object: T): T {
  const { name = 'n', uid = 'u' } = object.metadata as { readonly name?: string; readonly uid?: string };
  return { ...object, metadata: { ...object.metadata, name, uid } };
}

/** That a name is missing is found together with everything else. */
function unnamed<T extends KubeObject>(object: T): T {
  const { name: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function exercise<T extends KubeObject>(
  key: string,
  strategy: ResourceStrategy<T>,
  status: SubresourceStrategy<T> | undefined,
  table: TableConvertor<T>,
): number {
  const message = messageDescriptor(key);
  const [groupVersion = '', kind = ''] = key.split('.');
  const [group = '', version = ''] = groupVersion.split('/');
  const random = new SeededRandom(key);
  const fill = (): T => {
    const { object } = decodeObject<T & object>(message, fuzzObject(message, random));
    scheme.applyDefaults({ group, version, kind }, object);
    return deepFreeze(object);
  };
  let errors = 0;
  for (let round = 0; round < FILLS; round++) {
    const old = named(fill());
    const object = named(fill());
    strategy.validate(strategy.prepareForCreate?.(unnamed(object), context) ?? object, context);
    const created = strategy.prepareForCreate?.(object, context) ?? object;
    errors += strategy.validate(created, context).length;
    strategy.warningsOnCreate?.(created, context);
    for (const update of [strategy, status]) {
      if (update === undefined) continue;
      const updated = update.prepareForUpdate?.(object, old, context) ?? object;
      errors += update.validateUpdate(updated, old, context).length;
      update.warningsOnUpdate?.(updated, old, context);
    }
    expect(table.cells(created, context.now)).toHaveLength(table.columns.length);
  }
  return errors;
}

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
