import { expect, test } from 'vitest';
import { heapLimitMb } from './heap-limit.ts';

const GIB = 2 ** 30;

test('the limit is a part of the memory of the machine, or of what the process is allowed', () => {
  expect(heapLimitMb(24 * GIB, 0)).toBe(18 * 1024);
  expect(heapLimitMb(24 * GIB)).toBeLessThanOrEqual(18 * 1024);
  expect(heapLimitMb(24 * GIB, 8 * GIB)).toBe(6 * 1024);
  // Some systems report this if there is no limit.
  expect(heapLimitMb(24 * GIB, 2 ** 64)).toBe(18 * 1024);
});
