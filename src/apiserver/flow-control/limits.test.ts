import { describe, expect, test } from 'vitest';

import { PRIORITY_LEVELS } from '#api/groups/flowcontrol/v1/bootstrap.ts';
import { allocate, divide, type LevelDemand, limitsOf } from './limits.ts';
import { RetryAfter } from './retry-after.ts';
import { SeatDemand } from './seat-demand.ts';

test('the levels of a new cluster have the limits of upstream', () => {
  // kube-apiserver 1.36.3 publishes these values as nominal, lower and upper_limit_seats.
  const shares = PRIORITY_LEVELS.map(({ name, spec: { limited, exempt } }) => ({
    name,
    shares: (limited ?? exempt)?.nominalConcurrencyShares ?? 0,
    lendablePercent: (limited ?? exempt)?.lendablePercent ?? 0,
  }));
  const total = shares.reduce((sum, each) => sum + each.shares, 0);
  const limits = Object.fromEntries(
    shares.map((each) => [each.name, Object.values(limitsOf(each, total, 600))]),
  );
  expect(limits).toEqual({
    'catch-all': [13, 13, 613],
    exempt: [0, 0, 600],
    'global-default': [49, 24, 649],
    'leader-election': [25, 25, 625],
    'node-high': [98, 73, 698],
    system: [74, 50, 674],
    'workload-high': [98, 49, 698],
    'workload-low': [245, 24, 845],
  });
});

describe('allocate', () => {
  test('gives proportional shares within bounds', () => {
    const { seats } = allocate(
      [
        { lower: 0, upper: 100, target: 10 },
        { lower: 0, upper: 100, target: 30 },
        { lower: 20, upper: 100, target: 1 },
      ],
      60,
    );
    expect(seats.map(Math.round)).toEqual([10, 30, 20]);
  });

  test('gives the upper bounds if there is more than enough, the lower ones if too little', () => {
    const claims = [
      { lower: 2, upper: 5, target: 3 },
      { lower: 3, upper: 8, target: 1 },
    ];
    expect(allocate(claims, 1000).seats.map(Math.round)).toEqual([5, 8]);
    expect(allocate(claims, 1).seats.map(Math.round)).toEqual([2, 3]);
  });
});

describe('divide', () => {
  const level = (more: Partial<LevelDemand>): LevelDemand => ({
    nominal: 100,
    min: 50,
    max: 300,
    peak: 0,
    smoothed: 0,
    isExempt: false,
    ...more,
  });

  test('lends what idle levels do not need to a busy one', () => {
    const { current } = divide([level({}), level({}), level({ peak: 400, smoothed: 400 })]);
    expect(current).toEqual([50, 50, 200]);
  });

  test('returns borrowed seats when their owner needs them', () => {
    const busy = { peak: 400, smoothed: 400 };
    expect(divide([level({ peak: 100, smoothed: 90 }), level(busy)]).current).toEqual([100, 100]);
  });

  test('leaves the minimum when exempt requests take the rest', () => {
    const exempt = level({ nominal: 0, min: 0, isExempt: true, peak: 150 });
    const busy = level({ peak: 400, smoothed: 400 });
    expect(divide([exempt, busy, busy]).current).toEqual([150, 50, 50]);
  });
});

test('the demand of a level has an average, a deviation and a peak', () => {
  const demand = new SeatDemand(0);
  demand.add(4, 0);
  demand.add(-2, 5);
  demand.endPeriod(10);
  expect(demand.last).toEqual({ average: 3, deviation: 1, peak: 4 });
  expect(demand.smoothed).toBe(4);
  demand.add(-2, 10);
  demand.endPeriod(20);
  expect(demand.last).toEqual({ average: 0, deviation: 0, peak: 2 });
  expect(demand.smoothed).toBeCloseTo(4 * 0.977);
});

test('clients are to wait longer while many requests are rejected', () => {
  const retry = new RetryAfter();
  const secondsAt = (second: number, count: number): number =>
    Array.from({ length: count }, () => retry.rejected(second * 1000)).at(-1)!;
  expect(secondsAt(1, 10)).toBe(1);
  expect(secondsAt(2, 10)).toBe(2);
  expect(secondsAt(3, 10)).toBe(2);
  expect(secondsAt(4, 10)).toBe(4);
  expect(secondsAt(20, 1)).toBe(3);
  for (let second = 21; second < 60; second++) secondsAt(second, 200);
  expect(secondsAt(60, 1)).toBe(32);
});
