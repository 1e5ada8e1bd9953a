import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { podDisruptionBudgets, type PodDisruptionBudget } from '#api/groups/policy/v1/index.ts';
import { CycleState } from '#scheduler/framework/cycle-state.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import type { Trial } from '#scheduler/framework/plugin.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { Status } from '#scheduler/framework/status.ts';
import { TestInformers } from '#scheduler/testing/informers.ts';
import { makeNodeInfo, makePodInfo } from '#scheduler/testing/objects.ts';
import { DisruptionBudgets } from './disruption-budgets.ts';
import {
  bestCandidate,
  byImportance,
  type Candidate,
  candidateOf,
  hasVictims,
  selectVictims,
} from './victims.ts';

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
  makePodInfo(name, {
    requests: { cpu: String(cpu) },
    spec: { priority },
    ...(startTime && { status: { startTime } }),
  });

const NO_BUDGETS: Pick<DisruptionBudgets, 'split'> = {
  split: (others) => ({ violating: [], others }),
};

describe('selectVictims', () => {
  const running = fc.array(
    fc.record({ cpu: fc.integer({ min: 1, max: 3 }), priority: fc.integer({ min: -2, max: 4 }) }),
    {
      maxLength: 6,
    },
  );

  test('returns only less important pods, enough of them, none too many, and the least important possible', () => {
    fc.assert(
      fc.property(
        running,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 4 }),
        (others, cpu, priority) => {
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
          const found = selectVictims(new CycleState(), pod, node.clone(), trial, NO_BUDGETS);
          const possible = lower.reduce((sum, other) => sum + other.requests.milliCpu, 0);
          const free = node.allocatable.milliCpu - node.requested.milliCpu;
          if (free + possible < pod.requests.milliCpu) {
            expect(found).toBeInstanceOf(Status);
            return;
          }
          if (found instanceof Status) throw new Error(found.message);
          const victims = found.pods;
          expect(victims.every((victim) => victim.priority < priority)).toBe(true);
          const without = node.clone();
          for (const victim of victims) without.removePod(victim.uid);
          expect(fits(pod, without)).toBe(true);
          for (const victim of victims) {
            const spared = without.clone();
            spared.addPod(victim);
            expect(fits(pod, spared)).toBe(false);
          }
          // If removing all pods less important than the most important victim were enough, that
          // victim would not be needed.
          const highest = Math.max(...victims.map((victim) => victim.priority));
          const enough = lower
            .filter((other) => other.priority < highest)
            .reduce((sum, other) => sum + other.requests.milliCpu, 0);
          if (victims.length > 0) expect(free + enough).toBeLessThan(pod.requests.milliCpu);
        },
      ),
    );
  });
});

describe('selectVictims under budgets', () => {
  /** Returns budgets that protect the pods with these names. */
  const guarding = (...names: string[]): Pick<DisruptionBudgets, 'split'> => {
    const guarded = ({ pod }: PodInfo): boolean => names.includes(pod.metadata.name);
    return {
      split: (all) => ({
        violating: all.filter(guarded),
        others: all.filter((pod) => !guarded(pod)),
      }),
    };
  };
  const victimsFor = (cpu: number, budgets: Pick<DisruptionBudgets, 'split'>) => {
    const pods = [podOf('high', 1, 3), podOf('middle', 1, 2), podOf('low', 1, 1)];
    const node = makeNodeInfo('n', { allocatable: { cpu: '3', memory: '1Gi', pods: '20' } }, pods);
    const victims = selectVictims(new CycleState(), podOf('new', cpu, 9), node, trial, budgets);
    if (victims instanceof Status) throw new Error(victims.message);
    return {
      names: victims.pods.map(({ pod }) => pod.metadata.name),
      violations: victims.violations,
    };
  };

  test('prefers more important victims over a budget violation, and violates a budget if needed', () => {
    expect(victimsFor(1, guarding())).toEqual({ names: ['low'], violations: 0 });
    expect(victimsFor(1, guarding('low'))).toEqual({ names: ['middle'], violations: 0 });
    expect(victimsFor(2, guarding('low'))).toEqual({ names: ['high', 'middle'], violations: 0 });
    expect(victimsFor(2, guarding('low', 'high'))).toEqual({
      names: ['middle', 'low'],
      violations: 1,
    });
    expect(victimsFor(3, guarding('low'))).toEqual({
      names: ['high', 'middle', 'low'],
      violations: 1,
    });
  });
});

describe('DisruptionBudgets', () => {
  const budget = (
    name: string,
    app: string,
    allowed: number,
    more: Partial<PodDisruptionBudget['status']> = {},
  ) => ({
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { ...(app !== '' && { selector: { matchLabels: { app } } }) },
    status: {
      disruptionsAllowed: allowed,
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
      ...more,
    },
  });
  const labelled = (name: string, labels?: Record<string, string>, namespace?: string): PodInfo =>
    makePodInfo(name, {
      ...(labels !== undefined && { labels }),
      ...(namespace !== undefined && { namespace }),
    });

  test('counts the pods of one node against each budget', async () => {
    const world = new TestInformers();
    const budgets = new DisruptionBudgets(world);
    const violating = (...pods: PodInfo[]): readonly string[] =>
      budgets.split(pods).violating.map(({ pod }) => pod.metadata.name);
    const [web1, web2, web3] = [1, 2, 3].map((i) => labelled(`web-${i}`, { app: 'web' })) as [
      PodInfo,
      PodInfo,
      PodInfo,
    ];
    await world.sync();
    expect(violating(web1, web2)).toEqual([]);
    world.put(podDisruptionBudgets, budget('web', 'web', 1));
    world.put(podDisruptionBudgets, budget('all', '', 0));
    await world.sync();
    expect(violating(web1, web2, web3)).toEqual(['web-2', 'web-3']);
    expect(
      violating(
        labelled('db', { app: 'db' }),
        labelled('plain'),
        labelled('far', { app: 'web' }, 'other'),
        web1,
      ),
    ).toEqual([]);
    const { version } = budgets;
    world.put(
      podDisruptionBudgets,
      budget('web', 'web', 1, { disruptedPods: { 'web-1': '2026-01-01T00:00:00Z' } }),
    );
    await world.sync();
    expect(violating(web1, web2, web3)).toEqual(['web-3']);
    expect(budgets.version).not.toBe(version);
    // Both budgets have to allow the eviction.
    world.put(podDisruptionBudgets, budget('more', 'web', 0));
    await world.sync();
    expect(violating(web2)).toEqual(['web-2']);
    world.stop();
  });
});

describe('byImportance', () => {
  test('orders by priority, then by run time, then pods that have not started', () => {
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
  const candidate = (node: string, ...victims: PodInfo[]): Candidate =>
    candidateOf(node, { pods: victims.sort(byImportance), violations: 0 });
  const breaking = (violations: number, { node, victims }: Candidate): Candidate =>
    candidateOf(node, { ...victims, violations });
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];

  test.each([
    [
      'the fewest broken budgets',
      [
        breaking(2, candidate('a', podOf('1', 1, 1))),
        breaking(1, candidate('b', podOf('2', 1, 9), podOf('3', 1, 9))),
      ],
      'b',
    ],
    [
      'the lowest of the highest priorities',
      [candidate('a', podOf('1', 1, 5)), candidate('b', podOf('2', 1, 4), podOf('3', 1, 4))],
      'b',
    ],
    [
      'the smallest sum',
      [
        candidate('a', podOf('1', 1, 5), podOf('2', 1, 3)),
        candidate('b', podOf('3', 1, 5), podOf('4', 1, 2)),
      ],
      'b',
    ],
    [
      'the fewest, below zero too',
      [candidate('a', podOf('1', 1, -5), podOf('2', 1, -5)), candidate('b', podOf('3', 1, -5))],
      'b',
    ],
    [
      'what has started last',
      [candidate('a', podOf('1', 1, 5, early)), candidate('b', podOf('2', 1, 5, late))],
      'b',
    ],
    [
      'the first of equals',
      [candidate('a', podOf('1', 1, 5, early)), candidate('b', podOf('2', 1, 5, early))],
      'a',
    ],
  ])('chooses %s', (_what, candidates, node) => {
    expect(bestCandidate(candidates).node).toBe(node);
  });
});
