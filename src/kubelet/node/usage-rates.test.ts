import { describe, expect, test } from 'vitest';

import { UsageRates } from './usage-rates.ts';

const SECOND = 1e9;

describe('rates', () => {
  test('span the time since the last request that is at least a second old', () => {
    const rates = new UsageRates();
    expect(rates.rate('a', 0, 0)).toBeUndefined();
    expect(rates.rate('a', 500, SECOND)).toBeUndefined();
    expect(rates.rate('a', 2000, SECOND)).toBe(0.5 * SECOND);
    // Requests shortly after one another compare with the same earlier one.
    expect(rates.rate('a', 2500, 2.5 * SECOND)).toBe(SECOND);
    expect(rates.rate('a', 4000, 2 * SECOND)).toBe(0.5 * SECOND);
  });

  test('are unknown after a long time, after a restart, and of what was forgotten', () => {
    const rates = new UsageRates();
    rates.rate('a', 0, 0);
    expect(rates.rate('a', 61_000, SECOND)).toBeUndefined();
    expect(rates.rate('a', 62_000, 2 * SECOND)).toBe(SECOND);
    expect(rates.rate('a', 64_000, 0)).toBeUndefined();
    rates.sweep();
    rates.sweep();
    expect(rates.rate('a', 66_000, SECOND)).toBeUndefined();
  });
});
