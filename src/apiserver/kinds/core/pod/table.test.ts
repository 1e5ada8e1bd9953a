// The table of pods, for each state of a pod.

import { describe, expect, test } from 'vitest';

import type * as core from '#api/groups/core/v1/index.ts';
import { decodeManifest } from '#api/testing/manifest.ts';
import { podTable } from './table.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');

const pod = (yaml: string): core.Pod => decodeManifest('core/v1.Pod', yaml);
const cells = (yaml: string): readonly unknown[] => podTable.cells(pod(yaml), NOW);

/** Returns the cells Ready, Status and Restarts. */
const short = (yaml: string): unknown[] => cells(yaml).slice(1, 4);

const one = 'spec: {containers: [{name: c}]}';
const two = 'spec: {containers: [{name: c}, {name: d}]}';
const withInit = 'spec: {initContainers: [{name: i}, {name: j}], containers: [{name: c}]}';
const withSidecar =
  'spec: {initContainers: [{name: s, restartPolicy: Always}, {name: i}], containers: [{name: c}]}';
const running = (name: string, more = ''): string =>
  `{name: ${name}, ready: true, state: {running: {}}${more}}`;
const done = (name: string, more = ''): string =>
  `{name: ${name}, state: {terminated: {exitCode: 0, reason: Completed}}${more}}`;
const initialized = '{type: Initialized, status: "True"}';
const ended = (time: string): string =>
  `lastState: {terminated: {exitCode: 1, finishedAt: "2026-01-01T${time}Z"}}`;

describe('a pod', () => {
  test.each<[what: string, yaml: string, cells: [string, string, string]]>([
    ['that no kubelet has seen yet', `${one}\nstatus: {phase: Pending}`, ['0/1', 'Pending', '0']],
    [
      'whose image is being pulled',
      `${one}\nstatus: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}`,
      ['0/1', 'ContainerCreating', '0'],
    ],
    [
      'that waits for no reason',
      `${one}\nstatus: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {}}}]}`,
      ['0/1', 'Pending', '0'],
    ],
    [
      'that runs',
      `${one}\nstatus: {phase: Running, containerStatuses: [${running('c')}]}`,
      ['1/1', 'Running', '0'],
    ],
    [
      'that runs, but is not ready',
      `${one}\nstatus: {phase: Running, containerStatuses: [{name: c, state: {running: {}}}]}`,
      ['0/1', 'Running', '0'],
    ],
    [
      'that crashes again and again',
      `${one}\nstatus: {phase: Running, containerStatuses: [{name: c, restartCount: 3, state: ` +
        `{waiting: {reason: CrashLoopBackOff}}, ${ended('00:55:00')}}]}`,
      ['0/1', 'CrashLoopBackOff', '3 (5m ago)'],
    ],
    [
      'whose last restart was 65 seconds ago',
      `${two}\nstatus: {phase: Running, containerStatuses: ` +
        `[${running('c', `, restartCount: 1, ${ended('00:10:00')}`)}, ` +
        `${running('d', `, restartCount: 2, ${ended('00:58:55')}`)}]}`,
      ['2/2', 'Running', '3 (65s ago)'],
    ],
    [
      'that was restarted at an unknown time',
      `${one}\nstatus: {phase: Running, containerStatuses: [${running('c', ', restartCount: 2')}]}`,
      ['1/1', 'Running', '2'],
    ],
    [
      'whose container failed',
      `${one}\nstatus: {phase: Failed, containerStatuses: [{name: c, state: {terminated: ` +
        '{exitCode: 3, reason: Error}}}]}',
      ['0/1', 'Error', '0'],
    ],
    [
      'whose container ended without a reason',
      `${one}\nstatus: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]}`,
      ['0/1', 'ExitCode:3', '0'],
    ],
    [
      'whose container was killed by a signal',
      `${one}\nstatus: {phase: Failed, containerStatuses: [{name: c, state: {terminated: ` +
        '{exitCode: 137, signal: 9}}}]}',
      ['0/1', 'Signal:9', '0'],
    ],
    [
      'that has completed',
      `${one}\nstatus: {phase: Succeeded, containerStatuses: [${done('c')}]}`,
      ['0/1', 'Completed', '0'],
    ],
    [
      'half of which has completed, and which is ready',
      `${two}\nstatus: {phase: Running, conditions: [{type: Ready, status: "True"}], ` +
        `containerStatuses: [${done('c')}, ${running('d')}]}`,
      ['1/2', 'Running', '0'],
    ],
    [
      'half of which has completed',
      `${two}\nstatus: {phase: Running, conditions: [{type: Ready, status: "False"}], ` +
        `containerStatuses: [${running('c')}, ${done('d')}]}`,
      ['1/2', 'NotReady', '0'],
    ],
    [
      'whose first container counts most',
      `${two}\nstatus: {phase: Running, containerStatuses: [{name: c, state: {waiting: ` +
        '{reason: ErrImagePull}}}, {name: d, state: {terminated: {exitCode: 1, reason: Error}}}]}',
      ['0/2', 'ErrImagePull', '0'],
    ],
    [
      'that was evicted',
      `${one}\nstatus: {phase: Failed, reason: Evicted, message: too much}`,
      ['0/1', 'Evicted', '0'],
    ],
    [
      'that is gated',
      `${one}\nstatus: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}]}`,
      ['0/1', 'SchedulingGated', '0'],
    ],
    [
      'that is on its way out',
      `metadata: {deletionTimestamp: "2026-01-01T01:00:30Z"}\n${one}\nstatus: {phase: Running, ` +
        `containerStatuses: [${running('c')}]}`,
      ['1/1', 'Terminating', '0'],
    ],
    [
      'that had ended before it was deleted',
      `metadata: {deletionTimestamp: "2026-01-01T01:00:30Z"}\n${one}\nstatus: {phase: ` +
        `Succeeded, containerStatuses: [${done('c')}]}`,
      ['0/1', 'Completed', '0'],
    ],
    [
      'whose node is lost',
      `metadata: {deletionTimestamp: "2026-01-01T01:00:30Z"}\n${one}\nstatus: {phase: Running, reason: NodeLost}`,
      ['0/1', 'Unknown', '0'],
    ],
    [
      'whose first init container runs',
      `${withInit}\nstatus: {phase: Pending, initContainerStatuses: [{name: i, state: ` +
        '{running: {}}}, {name: j, state: {waiting: {reason: PodInitializing}}}], ' +
        'containerStatuses: [{name: c, state: {waiting: {reason: PodInitializing}}}]}',
      ['0/1', 'Init:0/2', '0'],
    ],
    [
      'whose second init container waits',
      `${withInit}\nstatus: {phase: Pending, initContainerStatuses: [${done('i')}, {name: j, ` +
        'state: {waiting: {reason: PodInitializing}}}], containerStatuses: [{name: c, state: ' +
        '{waiting: {reason: PodInitializing}}}]}',
      ['0/1', 'Init:1/2', '0'],
    ],
    [
      'whose init container failed',
      `${withInit}\nstatus: {phase: Pending, initContainerStatuses: [{name: i, state: ` +
        '{terminated: {exitCode: 1, reason: Error}}}]}',
      ['0/1', 'Init:Error', '0'],
    ],
    [
      'whose init container failed without a reason',
      `${withInit}\nstatus: {phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 2}}}]}`,
      ['0/1', 'Init:ExitCode:2', '0'],
    ],
    [
      'whose init container was killed',
      `${withInit}\nstatus: {phase: Pending, initContainerStatuses: [{name: i, state: ` +
        '{terminated: {exitCode: 137, signal: 9}}}]}',
      ['0/1', 'Init:Signal:9', '0'],
    ],
    [
      'whose init container crashes again and again; those after it do not count',
      `${withInit}\nstatus: {phase: Pending, initContainerStatuses: [{name: i, restartCount: ` +
        `2, state: {waiting: {reason: CrashLoopBackOff}}, ${ended('00:50:00')}}, {name: j, ` +
        'restartCount: 5}]}',
      ['0/1', 'Init:CrashLoopBackOff', '2 (10m ago)'],
    ],
    [
      'that is initialized; init containers no longer count',
      `${withInit}\nstatus: {phase: Running, conditions: [${initialized}], ` +
        `initContainerStatuses: [${done('i', `, restartCount: 4, ${ended('00:50:00')}`)}, ` +
        `${done('j')}], containerStatuses: ` +
        `[${running('c', `, restartCount: 1, ${ended('00:30:00')}`)}]}`,
      ['1/1', 'Running', '1 (30m ago)'],
    ],
    [
      'that was initialized, and whose init containers are forgotten',
      `${withInit}\nstatus: {phase: Running, conditions: [${initialized}], ` +
        'initContainerStatuses: [{name: i, state: {waiting: {}}}], containerStatuses: [{name: c, ' +
        'ready: true, state: {running: {}}}]}',
      ['1/1', 'Init:0/2', '0'],
    ],
    [
      'whose sidecar has not started',
      `${withSidecar}\nstatus: {phase: Pending, initContainerStatuses: [{name: s, state: ` +
        '{running: {}}}, {name: i, state: {waiting: {reason: PodInitializing}}}]}',
      ['0/2', 'Init:0/2', '0'],
    ],
    [
      'whose sidecar is ready while the rest is initialized',
      `${withSidecar}\nstatus: {phase: Pending, initContainerStatuses: ` +
        `[${running('s', ', started: true')}, {name: i, state: {running: {}}}]}`,
      ['1/2', 'Init:1/2', '0'],
    ],
    [
      'with a sidecar that was restarted',
      `${withSidecar}\nstatus: {phase: Running, conditions: [${initialized}], ` +
        'initContainerStatuses: ' +
        `[${running('s', `, started: true, restartCount: 2, ${ended('00:59:00')}`)}, ` +
        `${done('i', ', restartCount: 7')}], containerStatuses: ` +
        `[${running('c', `, restartCount: 1, ${ended('00:30:00')}`)}]}`,
      ['2/2', 'Running', '3 (60s ago)'],
    ],
    [
      'with a sidecar that is not ready',
      `${withSidecar}\nstatus: {phase: Running, conditions: [${initialized}], ` +
        `initContainerStatuses: [{name: s, started: true, state: {running: {}}}, ${done('i')}], ` +
        `containerStatuses: [${running('c')}]}`,
      ['1/2', 'Running', '0'],
    ],
  ])('%s', (_, yaml, expected) => {
    expect(short(yaml)).toEqual(expected);
  });
});

describe('wide', () => {
  test.each<[what: string, yaml: string, cells: string[]]>([
    ['nothing known', one, ['<none>', '<none>', '<none>', '<none>']],
    [
      'all known',
      'spec: {nodeName: n1, containers: [{name: c}], readinessGates: [{conditionType: a}, ' +
        '{conditionType: b}, {conditionType: c}]}\n' +
        'status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], nominatedNodeName: m1, ' +
        'conditions: [{type: a, status: "True"}, {type: b, status: "False"}]}',
      ['10.0.0.1', 'n1', 'm1', '1/3'],
    ],
  ])('%s', (_, yaml, expected) => {
    expect(cells(yaml).slice(5)).toEqual(expected);
  });

  test('columns', () => {
    expect(podTable.columns.map(({ name, priority = 0 }) => [name, priority])).toEqual([
      ['Name', 0],
      ['Ready', 0],
      ['Status', 0],
      ['Restarts', 0],
      ['Age', 0],
      ['IP', 1],
      ['Node', 1],
      ['Nominated Node', 1],
      ['Readiness Gates', 1],
    ]);
  });
});

test('age', () => {
  expect(cells(`metadata: {name: p, creationTimestamp: "2026-01-01T00:57:30Z"}\n${one}`)[4]).toBe(
    '2m30s',
  );
  expect(cells(one)[4]).toBe('<unknown>');
});

test('completed pods are marked, so that clients can hide them', () => {
  expect(podTable.conditions?.(pod(`${one}\nstatus: {phase: Succeeded}`))).toEqual([
    {
      type: 'Completed',
      status: 'True',
      reason: 'Succeeded',
      message: 'The pod has completed successfully.',
    },
  ]);
  expect(podTable.conditions?.(pod(`${one}\nstatus: {phase: Failed}`))).toEqual([
    { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
  ]);
  expect(podTable.conditions?.(pod(`${one}\nstatus: {phase: Running}`))).toEqual([]);
});
