import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../lists/live-object.ts';
import { problemsOf, type Rows } from './problems.ts';

const now = Date.parse('2026-01-01T12:00:00Z');

const rowsOf = (columns: readonly string[], ...cells: readonly (readonly string[])[]): Rows => ({
  columns: columns.map((name) => ({ name, type: 'string' })),
  rows: cells.map((each) => ({
    uid: each[0]!,
    namespace: 'shop',
    name: each[0]!,
    created: now - 600_000,
    deleting: false,
    labels: {},
    cells: each,
  })),
});

const young = (rows: Rows): Rows => ({
  ...rows,
  rows: rows.rows.map((row) => ({ ...row, created: now - 5000 })),
});

const warning = (reason: string, name: string, message: string): KubeObject => ({
  metadata: { name: `${name}.1` },
  reason,
  message,
  lastTimestamp: new Date(now - 1000).toISOString(),
  involvedObject: { kind: 'Pod', name, namespace: 'shop' },
});

const lines = (...args: Parameters<typeof problemsOf>): string[] =>
  problemsOf(...args).map(({ severity, name, text }) => `${severity}: ${name} ${text}`);

describe('problemsOf', () => {
  test('a pod that fits nowhere is wrong at once, one that starts waits', () => {
    const pods = young(
      rowsOf(['Name', 'Status'], ['big', 'Pending'], ['new', 'ContainerCreating']),
    );
    const warnings = [warning('FailedScheduling', 'big', '0/3 nodes are available')];
    expect(lines({ pods, warnings }, now)).toEqual([
      'problem: big has no node: 0/3 nodes are available',
      'waiting: new does not run: ContainerCreating',
    ]);
  });

  test('what takes long is wrong', () => {
    const pods = rowsOf(['Name', 'Status'], ['slow', 'Pending']);
    expect(lines({ pods }, now)).toEqual(['problem: slow does not run: Pending']);
  });

  test('workloads without all of their pods', () => {
    const deployments = rowsOf(['Name', 'Ready'], ['web', '1/3'], ['fine', '2/2'], ['none', '0/0']);
    const daemonSets = rowsOf(['Name', 'Desired', 'Ready'], ['agent', '3', '2']);
    expect(lines({ deployments, daemonSets }, now)).toEqual([
      'problem: web 1 of 3 pods are ready',
      'problem: agent 2 of 3 pods are ready',
    ]);
  });

  test('nodes, jobs and claims', () => {
    expect(
      lines(
        {
          nodes: rowsOf(['Name', 'Status'], ['n1', 'NotReady'], ['n2', 'Ready,SchedulingDisabled']),
          jobs: rowsOf(['Name', 'Status'], ['j1', 'Failed'], ['j2', 'Complete']),
          claims: rowsOf(['Name', 'Status'], ['c1', 'Lost'], ['c2', 'Bound']),
        },
        now,
      ).sort(),
    ).toEqual([
      'problem: c1 is lost',
      'problem: j1 has failed',
      'problem: n1 is not ready',
      'waiting: n2 takes no new pods (cordoned)',
    ]);
  });

  test('a container that ends again and again is seen by its events, once', () => {
    const message = 'Back-off restarting failed container';
    const warnings = [warning('BackOff', 'web-1', message), warning('BackOff', 'web-1', message)];
    expect(lines({ warnings }, now)).toEqual(['problem: web-1 a container ends again and again']);
    expect(lines({ warnings }, now + 3_600_000)).toEqual([]);
  });

  test('a probe that fails again and again is seen by its events', () => {
    const failing = { ...warning('Unhealthy', 'web-1', 'Readiness probe failed: 503'), count: 21 };
    expect(lines({ warnings: [failing] }, now)).toEqual([
      'waiting: web-1 a probe has failed 21 times: Readiness probe failed: 503',
    ]);
    // Containers that start are not ready at first.
    expect(lines({ warnings: [{ ...failing, count: 2 }] }, now)).toEqual([]);
  });

  test('columns that are not there, and nothing at all', () => {
    expect(lines({ deployments: rowsOf(['Name'], ['x']) }, now)).toEqual([]);
    expect(lines({}, now)).toEqual([]);
  });
});
