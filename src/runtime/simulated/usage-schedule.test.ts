import { describe, expect, test } from 'vitest';

import { annotationPrefix, containerSimulation } from './annotations.ts';
import { constantUsage, usageAt, type UsageSchedule, usageUntil } from './usage-schedule.ts';

const schedule: UsageSchedule = [
  { fromMs: 0, value: 1 },
  { fromMs: 1000, value: 3 },
  { fromMs: 3000, value: 0 },
];

test.each([
  [0, 1, 0],
  [999, 1, 999],
  [1000, 3, 1000],
  [2000, 3, 4000],
  [10_000, 0, 7000],
])('after %i ms: usage %d, sum %d', (ms, value, sum) => {
  expect(usageAt(schedule, ms)).toBe(value);
  expect(usageUntil(schedule, ms)).toBe(sum);
});

describe('annotations', () => {
  const cpuOf = (text: string): UsageSchedule =>
    containerSimulation({ [`${annotationPrefix}cpu`]: text }, 'c').cpu;

  test('have one value, or several with times', () => {
    expect(cpuOf('250m')).toEqual(constantUsage(0.25));
    expect(cpuOf('100m, 1m=2, 1h30m=0')).toEqual([
      { fromMs: 0, value: 0.1 },
      { fromMs: 60_000, value: 2 },
      { fromMs: 5_400_000, value: 0 },
    ]);
  });

  test.each(['', 'x', '1,2', '1,5m', '1,5m=', '1,5m=x', '1,x=2', '1,2m=1,1m=2', '1,0s=2', '-1'])(
    'of the value %j are an error',
    (text) => {
      expect(() => cpuOf(text)).toThrow(/annotation simulation.coxswain.dev\/cpu: .* is not/);
    },
  );
});
