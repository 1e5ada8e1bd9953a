import { describe, expect, test } from 'vitest';

import { podKey, readSummary } from './summary.ts';
import { usageOf } from './usage.ts';

const time = (seconds: number): string => new Date(seconds * 1000).toISOString();

describe('readSummary', () => {
  test('reads the node and the containers of pods', () => {
    const cpu = { time: time(10), usageCoreNanoSeconds: 5, usageNanoCores: 2 };
    const memory = { time: time(10), workingSetBytes: 7 };
    const sample = readSummary({
      node: { nodeName: 'n', startTime: time(1), cpu, memory },
      pods: [
        {
          podRef: { name: 'p', namespace: 'd' },
          containers: [
            { name: 'a', startTime: time(3), cpu, memory },
            { name: 'not-measured', startTime: time(3), cpu: { time: time(10) }, memory },
          ],
        },
      ],
    });
    const common = { time: 10_000, cpuNanoseconds: 5, nanoCores: 2, memoryBytes: 7 };
    expect(sample.node).toEqual({ ...common, startedAt: 1000 });
    expect([...sample.pods.get(podKey('d', 'p'))!]).toEqual([
      ['a', { ...common, startedAt: 3000 }],
      ['not-measured', undefined],
    ]);
  });

  test.each([
    [undefined],
    ['text'],
    [{ node: 3, pods: {} }],
    [{ node: { cpu: { time: 'soon', usageCoreNanoSeconds: -1 }, memory: [] }, pods: [1, null] }],
    [{ pods: [{ podRef: { name: 1 }, containers: 'x' }] }],
  ])('has nothing of a broken summary: %j', (summary) => {
    expect(readSummary(summary)).toEqual({ pods: new Map() });
  });
});

describe('usageOf', () => {
  const point = { time: 100_000, cpuNanoseconds: 20e9, memoryBytes: 1, startedAt: 1000 };
  const before = { ...point, time: 90_000, cpuNanoseconds: 15e9 };

  test('is the rate of the kubelet, which knows times exactly', () => {
    const rated = { ...point, nanoCores: 3 };
    expect(usageOf(rated, before)).toMatchObject({ nanoCores: 3, windowMs: 10_000 });
    const latest = { ...before, time: 98_000 };
    expect(usageOf(rated, latest)).toMatchObject({ nanoCores: 3, windowMs: 2000 });
    expect(usageOf(rated, undefined)).toMatchObject({ nanoCores: 3, windowMs: 10_000 });
  });

  test('is the rate since the previous measurement otherwise', () => {
    expect(usageOf(point, before)).toEqual({
      time: 100_000,
      windowMs: 10_000,
      nanoCores: 0.5e9,
      memoryBytes: 1,
    });
  });

  test.each([
    ['too short ago', { ...before, time: 95_000 }],
    ['too long ago', { ...before, time: 30_000 }],
    ['of a container that was replaced', { ...before, cpuNanoseconds: 30e9 }],
  ])('does not use a measurement %s', (_, earlier) => {
    expect(usageOf(point, earlier)).toBeUndefined();
  });

  test('of a young container is the rate since its start', () => {
    const young = { ...point, startedAt: 80_000 };
    expect(usageOf(young, undefined)).toMatchObject({ windowMs: 20_000, nanoCores: 1e9 });
    expect(usageOf({ ...point, startedAt: 95_000 }, before)).toBeUndefined();
    expect(usageOf({ ...point, startedAt: 30_000 }, undefined)).toBeUndefined();
    expect(usageOf(undefined, before)).toBeUndefined();
  });
});
