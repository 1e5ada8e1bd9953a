import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CycleState } from '../../framework/cycle-state.ts';
import type { NodeInfo } from '../../framework/node-info.ts';
import type { Trial } from '../../framework/plugin.ts';
import type { PodInfo } from '../../framework/pod-info.ts';
import { Status } from '../../framework/status.ts';
import { makeNodeInfo, makePodInfo } from '../../testing/objects.ts';
import { bestCandidate, byImportance, type Candidate, hasVictims, selectVictims } from './victims.ts';

const FULL = new Status('Unschedulable', ['Insufficient cpu']);
const fits = (pod: PodInfo, node: NodeInfo): boolean =>
  node.requested.milliCpu + pod.requests.milliCpu <= node.allocatable.milliCpu;
const trial: Trial = {
  template: () => undefined,
  addPod: () => undefined,
  removePod: () => undefined,
  filter: (_state, pod, node) => (fits(pod, node) ? undefined : FULL),
};

const podOf = (name: string, cpu: number, priority: number, startTime?: string): PodInfo =>
  makePodInfo(name, { requests: { cpu: String(cpu) }, spec: { priority }, ...(startTime && { status: { startTime } }) });

describe('selectVictims', () => {
  const running = fc.array(fc.record({ cpu: fc.integer({ min: 1, max: 3 }), priority: fc.integer({ min: -2, max: 4 }) }), {
    maxLength: 6,
  });

  it('names only less important pods, enough of them, none too many, and the least important that will do', () => {
    fc.assert(
      fc.property(running, fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 4 }), (others, cpu, priority) => {
        const used = others.reduce((sum, other) => sum + other.cpu, 0);
        const node = makeNodeInfo(
          'n',
          { allocatable: { cpu: String(Math.max(used, cpu)), memory: '1Gi', pods: '20' } },
          others.map((other, i) => podOf(`p${i}`, other.cpu, other.priority)),
        );
        const pod = podOf('new', cpu, priority);
        const lower = node.pods.filter((other) => other.priority < priority);
        expect(hasVictims(pod, node)).toBe(lower.length > 0);
        if (lower.length === 0) return;
        const victims = selectVictims(new CycleState(), pod, node.clone(), trial);
        const possible = lower.reduce((sum, other) => sum + other.requests.milliCpu, 0);
        const free = node.allocatable.milliCpu - node.requested.milliCpu;
        if (free + possible < pod.requests.milliCpu) {
          expect(victims).toBeInstanceOf(Status);
          return;
        }
        if (victims instanceof Status) throw new Error(victims.message);
        expect(victims.every((victim) => victim.priority < priority)).toBe(true);
        const without = node.clone();
        for (const victim of victims) without.removePod(victim.uid);
        expect(fits(pod, without)).toBe(true);
        for (const victim of victims) {
          const spared = without.clone();
          spared.addPod(victim);
          expect(fits(pod, spared)).toBe(false);
        }
        // If all that is less important than the most important victim were enough, it would not have to go.
        const highest = Math.max(...victims.map((victim) => victim.priority));
        const enough = lower.filter((other) => other.priority < highest).reduce((sum, other) => sum + other.requests.milliCpu, 0);
        if (victims.length > 0) expect(free + enough).toBeLessThan(pod.requests.milliCpu);
      }),
    );
  });
});

describe('byImportance', () => {
  it('puts priority first, then what has run longer, then what has not started', () => {
    const order = [
      podOf('old', 1, 1, '2026-01-01T00:00:00Z'),
      podOf('young', 1, 1, '2026-01-02T00:00:00Z'),
      podOf('waiting', 1, 1),
      podOf('low', 1, 0, '2020-01-01T00:00:00Z'),
    ];
    expect(order.toReversed().sort(byImportance)).toEqual(order);
  });
});

describe('bestCandidate', () => {
  const candidate = (node: string, ...victims: PodInfo[]): Candidate => ({ node, victims: victims.sort(byImportance) });
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];

  it.each([
    [
      'the lowest of the highest priorities',
      [candidate('a', podOf('1', 1, 5)), candidate('b', podOf('2', 1, 4), podOf('3', 1, 4))],
      'b',
    ],
    [
      'the smallest sum',
      [candidate('a', podOf('1', 1, 5), podOf('2', 1, 3)), candidate('b', podOf('3', 1, 5), podOf('4', 1, 2))],
      'b',
    ],
    [
      'the fewest, below zero too',
      [candidate('a', podOf('1', 1, -5), podOf('2', 1, -5)), candidate('b', podOf('3', 1, -5))],
      'b',
    ],
    ['what has started last', [candidate('a', podOf('1', 1, 5, early)), candidate('b', podOf('2', 1, 5, late))], 'b'],
    ['the first of equals', [candidate('a', podOf('1', 1, 5, early)), candidate('b', podOf('2', 1, 5, early))], 'a'],
  ])('chooses %s', (_what, candidates, node) => {
    expect(bestCandidate(candidates).node).toBe(node);
  });
});
