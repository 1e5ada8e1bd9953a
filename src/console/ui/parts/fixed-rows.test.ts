import { describe, expect, test } from 'vitest';
import { rangeAt } from './fixed-rows.ts';

const HEIGHT = 700;
const config = { count: 1000, rowHeight: 34 };

describe('rows that are drawn', () => {
  test('contain all that are in sight, at every position', () => {
    const end = config.count * config.rowHeight - HEIGHT;
    for (let top = 0; top <= end; top += 7) {
      const range = rangeAt(top, HEIGHT, config);
      expect(range.first * config.rowHeight).toBeLessThanOrEqual(top);
      expect(range.end * config.rowHeight).toBeGreaterThanOrEqual(top + HEIGHT);
      expect(range.end - range.first).toBeLessThan(60);
    }
  });

  test('stay the same while no row comes into sight', () => {
    expect(rangeAt(10_000, HEIGHT, config)).toEqual(rangeAt(10_020, HEIGHT, config));
  });

  test('are those of the end when rows vanish, and none when there are none', () => {
    expect(rangeAt(30_000, HEIGHT, { ...config, count: 10 })).toEqual({ first: 0, end: 10 });
    expect(rangeAt(30_000, HEIGHT, { ...config, count: 100 }).end).toBe(100);
    expect(rangeAt(0, HEIGHT, { ...config, count: 0 })).toEqual({ first: 0, end: 0 });
  });
});
