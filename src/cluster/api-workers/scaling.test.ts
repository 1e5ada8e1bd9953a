import { describe, expect, test } from 'vitest';
import { Scaling } from './scaling.ts';

/** Feeds so many periods of the same load, and returns the last decision. */
function feed(scaling: Scaling, periods: number, main: number, workers: readonly number[]): number {
  let wanted = scaling.wanted;
  for (let i = 0; i < periods; i++) wanted = scaling.next({ main, workers });
  return wanted;
}

describe('scaling', () => {
  test('one more starts when the main process was busy for five seconds', () => {
    const scaling = new Scaling({ min: 0, max: 2 });
    expect(feed(scaling, 4, 0.9, [])).toBe(0);
    expect(feed(scaling, 1, 0.9, [])).toBe(1);
  });

  test('the next one starts only when the one before serves', () => {
    const scaling = new Scaling({ min: 0, max: 3 });
    expect(feed(scaling, 60, 1, [])).toBe(1);
    expect(feed(scaling, 1, 1, [0.5])).toBe(2);
    expect(feed(scaling, 20, 1, [0.5])).toBe(2);
    expect(feed(scaling, 20, 1, [0.5, 0.5])).toBe(3);
    expect(feed(scaling, 20, 1, [0.5, 0.5, 0.5])).toBe(3);
  });

  test('a peak is not load', () => {
    const scaling = new Scaling({ min: 0, max: 2 });
    for (let i = 0; i < 100; i++)
      expect(scaling.next({ main: i % 3 === 0 ? 1 : 0.3, workers: [] })).toBe(0);
  });

  test('all end after a quiet minute, and not before', () => {
    const scaling = new Scaling({ min: 0, max: 2 });
    expect(feed(scaling, 5, 1, [])).toBe(1);
    expect(feed(scaling, 59, 0.1, [0.1])).toBe(1);
    // Together they do more than one process would do easily.
    expect(feed(scaling, 1, 0.1, [0.3])).toBe(1);
    expect(feed(scaling, 59, 0.1, [0.1])).toBe(1);
    expect(feed(scaling, 1, 0.1, [0.1])).toBe(0);
  });

  test('the minimum runs always', () => {
    const scaling = new Scaling({ min: 1, max: 2 });
    expect(scaling.wanted).toBe(1);
    expect(feed(scaling, 200, 0, [0])).toBe(1);
  });
});
