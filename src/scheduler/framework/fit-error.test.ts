import { describe, expect, test } from 'vitest';
import { type Diagnosis, fitErrorMessage } from './fit-error.ts';
import { NodeToStatus } from './node-to-status.ts';
import { Status } from './status.ts';

function diagnosis(
  nodeCount: number,
  reasons: readonly (readonly string[])[],
  more: Partial<Diagnosis> = {},
): Diagnosis {
  const statuses = new NodeToStatus();
  reasons.forEach((each, i) => statuses.set({ name: `n${i}` }, new Status('Unschedulable', each)));
  return {
    nodeCount,
    statuses,
    unschedulablePlugins: new Set(),
    pendingPlugins: new Set(),
    preFilterMessage: '',
    postFilterMessage: '',
    ...more,
  };
}

describe('fitErrorMessage', () => {
  const cpu = ['Insufficient cpu'];
  const taint = ['node(s) had untolerated taint(s)'];

  test('counts reasons, sorted by text', () => {
    expect(fitErrorMessage(diagnosis(5, [taint, cpu, taint, cpu, taint]))).toBe(
      '0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).',
    );
  });

  test('counts every reason of a node', () => {
    expect(fitErrorMessage(diagnosis(1, [['Insufficient cpu', 'Insufficient memory']]))).toBe(
      '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.',
    );
  });

  test('sorts as text, so that 10 precedes 2', () => {
    const reasons = [...Array.from({ length: 10 }, () => taint), cpu, cpu];
    expect(fitErrorMessage(diagnosis(12, reasons))).toBe(
      '0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 Insufficient cpu.',
    );
  });

  test('counts nodes that were not evaluated', () => {
    const found = diagnosis(4, [cpu]);
    found.statuses.setAbsent(
      new Status('UnschedulableAndUnresolvable', [
        "node(s) didn't satisfy plugin(s) [NodeAffinity]",
      ]),
    );
    expect(fitErrorMessage(found)).toBe(
      "0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't satisfy plugin(s) [NodeAffinity].",
    );
  });

  test('has PreFilter’s reason for all nodes once', () => {
    const found = diagnosis(3, [], { preFilterMessage: 'pod affinity terms conflict' });
    found.statuses.setAbsent(
      new Status('UnschedulableAndUnresolvable', ['pod affinity terms conflict']),
    );
    expect(fitErrorMessage(found)).toBe('0/3 nodes are available: pod affinity terms conflict.');
  });

  test('ends with PostFilter’s message', () => {
    const postFilterMessage =
      'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.';
    expect(fitErrorMessage(diagnosis(1, [cpu], { postFilterMessage }))).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 ' +
        'No preemption victims found for incoming pod.',
    );
  });
});
