// The tables of workloads and jobs: their columns, and a row for each possible content of a cell.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import { decodeManifest } from '#api/testing/manifest.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { cronJobTable } from '../batch/cron-job.ts';
import { jobTable } from '../batch/job/index.ts';
import { controllerRevisionTable } from './controller-revision.ts';
import { daemonSetTable } from './daemon-set/index.ts';
import { deploymentTable } from './deployment.ts';
import { statefulSetTable } from './stateful-set.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

/** Returns the names of the columns. Brackets mark those that only `-o wide` shows. */
function columnsOf<T extends KubeObject>(table: TableConvertor<T>): string {
  return table.columns
    .map(({ name, priority = 0 }) => (priority === 0 ? name : `[${name}]`))
    .join(' | ');
}

function rowOf<T extends KubeObject>(table: TableConvertor<T>, key: string, yaml: string): string {
  const cells = table.cells(decodeManifest<T>(key, `${METADATA}\n${yaml}`), NOW);
  expect(cells).toHaveLength(table.columns.length);
  return cells.join(' | ');
}

const METADATA = 'metadata: {name: x, creationTimestamp: "2026-01-01T00:00:00Z"}';
const template =
  'template: {spec: {nodeSelector: {d: e, a: b}, containers: [{name: c, image: i}, {name: d, image: j}]}}';
const selector = 'selector: {matchLabels: {a: b}}';

test('deployments', () => {
  expect(columnsOf(deploymentTable)).toBe(
    'Name | Ready | Up-to-date | Available | Age | [Containers] | [Images] | [Selector]',
  );
  const row = (more: string): string => rowOf(deploymentTable, 'apps/v1.Deployment', more);
  expect(
    row(
      `spec: {replicas: 5, ${selector}, ${template}}\nstatus: {replicas: 10, updatedReplicas: ` +
        '2, readyReplicas: 4, availableReplicas: 1}',
    ),
  ).toBe('x | 4/5 | 2 | 1 | 60m | c,d | i,j | a=b');
  expect(row(`spec: {${template}, selector: {matchExpressions: [{key: a, operator: Like}]}}`)).toBe(
    'x | 0/0 | 0 | 0 | 60m | c,d | i,j | <invalid>',
  );
});

test('stateful sets', () => {
  expect(columnsOf(statefulSetTable)).toBe('Name | Ready | Age | [Containers] | [Images]');
  expect(
    rowOf(
      statefulSetTable,
      'apps/v1.StatefulSet',
      `spec: {replicas: 3, ${selector}, ${template}}\nstatus: {readyReplicas: 2}`,
    ),
  ).toBe('x | 2/3 | 60m | c,d | i,j');
});

test('daemon sets', () => {
  expect(columnsOf(daemonSetTable)).toBe(
    'Name | Desired | Current | Ready | Up-to-date | Available | Node Selector | Age | ' +
      '[Containers] | [Images] | [Selector]',
  );
  const status =
    'status: {currentNumberScheduled: 2, desiredNumberScheduled: 3, numberReady: 1, ' +
    'updatedNumberScheduled: 4, numberAvailable: 5}';
  expect(
    rowOf(daemonSetTable, 'apps/v1.DaemonSet', `spec: {${selector}, ${template}}\n${status}`),
  ).toBe('x | 3 | 2 | 1 | 4 | 5 | a=b,d=e | 60m | c,d | i,j | a=b');
  expect(
    rowOf(
      daemonSetTable,
      'apps/v1.DaemonSet',
      `spec: {${selector}, template: {spec: {containers: [{name: c, image: i}]}}}`,
    ),
  ).toBe('x | 0 | 0 | 0 | 0 | 0 | <none> | 60m | c | i | a=b');
});

test('controller revisions', () => {
  expect(columnsOf(controllerRevisionTable)).toBe('Name | Controller | Revision | Age');
  const row = (owner: string): unknown[] => [
    ...controllerRevisionTable.cells(
      decodeManifest(
        'apps/v1.ControllerRevision',
        `metadata: {name: x, creationTimestamp: "2026-01-01T00:00:00Z", ownerReferences: [${owner}]}\nrevision: 3`,
      ),
      NOW,
    ),
  ];
  expect(row('{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}')).toEqual([
    'x',
    'daemonset.apps/d',
    3,
    '60m',
  ]);
  expect(row('{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}')).toEqual([
    'x',
    'pod/p',
    3,
    '60m',
  ]);
  expect(row('{apiVersion: v1, kind: Pod, name: p, uid: u}')).toEqual(['x', '<none>', 3, '60m']);
});

describe('jobs', () => {
  test('columns', () => {
    expect(columnsOf(jobTable)).toBe(
      'Name | Status | Completions | Duration | Age | [Containers] | [Images] | [Selector]',
    );
  });

  const condition = (type: string, status = 'True'): string =>
    `conditions: [{type: ${type}, status: "${status}"}]`;
  test.each<[what: string, spec: string, status: string, cells: string]>([
    ['new', 'completions: 2', '', 'Running | 0/2 | '],
    ['of one pod', '', 'succeeded: 1', 'Running | 1/1 | '],
    ['of several pods, of which one must succeed', 'parallelism: 3', '', 'Running | 0/1 of 3 | '],
    [
      'running',
      'completions: 4',
      'succeeded: 1, startTime: "2026-01-01T00:30:00Z"',
      'Running | 1/4 | 30m',
    ],
    [
      'complete',
      'completions: 1',
      'succeeded: 1, startTime: "2026-01-01T00:10:00Z", completionTime: ' +
        `"2026-01-01T00:10:33Z", ${condition('Complete')}`,
      'Complete | 1/1 | 33s',
    ],
    ['not complete', 'completions: 1', condition('Complete', 'False'), 'Running | 0/1 | '],
    ['failed', 'completions: 1', condition('Failed'), 'Failed | 0/1 | '],
    ['about to fail', 'completions: 1', condition('FailureTarget'), 'FailureTarget | 0/1 | '],
    ['suspended', 'completions: 1', condition('Suspended'), 'Suspended | 0/1 | '],
  ])('%s', (_, spec, status, cells) => {
    expect(
      rowOf(
        jobTable,
        'batch/v1.Job',
        `spec: {${selector}, ${template}, ${spec}}\nstatus: {${status}}`,
      ),
    ).toBe(`x | ${cells} | 60m | c,d | i,j | a=b`);
  });

  test('an object that is being deleted', () => {
    const job = decodeManifest<Parameters<typeof jobTable.cells>[0]>(
      'batch/v1.Job',
      `metadata: {name: x, deletionTimestamp: "2026-01-01T00:00:00Z"}\nspec: {${template}}`,
    );
    expect(jobTable.cells(job, NOW).slice(1, 5)).toEqual(['Terminating', '0/1', '', '<unknown>']);
  });
});

describe('cron jobs', () => {
  test('columns', () => {
    expect(columnsOf(cronJobTable)).toBe(
      'Name | Schedule | Timezone | Suspend | Active | Last Schedule | Age | [Containers] | [Images] | [Selector]',
    );
  });

  test.each<[what: string, spec: string, status: string, cells: string]>([
    ['new', 'suspend: false', '', '<none> | False | 0 | <none>'],
    ['suspended', 'suspend: true', '', '<none> | True | 0 | <none>'],
    ['without defaults', '', '', '<none> | <unset> | 0 | <none>'],
    [
      'at work',
      'timeZone: Europe/Berlin, suspend: false',
      'active: [{name: a}, {name: b}], lastScheduleTime: "2026-01-01T00:58:00Z"',
      'Europe/Berlin | False | 2 | 2m',
    ],
  ])('%s', (_, spec, status, cells) => {
    const yaml = `spec: {schedule: "0 1 * * *", jobTemplate: {spec: {${template}}}, ${spec}}\nstatus: {${status}}`;
    expect(rowOf(cronJobTable, 'batch/v1.CronJob', yaml)).toBe(
      `x | 0 1 * * * | ${cells} | 60m | c,d | i,j | <none>`,
    );
  });
});
