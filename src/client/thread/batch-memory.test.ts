import { expect, test } from 'vitest';
import { BatchMemory } from './batch-memory.ts';

test('a kept buffer is taken again for a batch of about its size', () => {
  const memory = new BatchMemory(2 ** 20);
  const buffer = memory.take(5000);
  expect(buffer.byteLength).toBe(8192);
  memory.keep(buffer);
  expect(memory.keptBytes).toBe(8192);
  expect(memory.take(4096)).not.toBe(buffer);
  expect(memory.take(8193)).not.toBe(buffer);
  expect(memory.take(8192)).toBe(buffer);
  expect(memory.take(8192)).not.toBe(buffer);
  expect(memory.keptBytes).toBe(0);
});

test('the kept buffers are bounded by bytes', () => {
  const memory = new BatchMemory(10_000);
  const buffers = [memory.take(1), memory.take(1), memory.take(1)];
  for (const buffer of buffers) memory.keep(buffer);
  expect(memory.keptBytes).toBe(8192);
});

test('the sizes that were used last are kept', () => {
  const memory = new BatchMemory(32_768);
  const small = Array.from({ length: 8 }, () => memory.take(4096));
  for (const buffer of small) memory.keep(buffer);
  const large = memory.take(16_384);
  memory.keep(large);
  expect(memory.keptBytes).toBe(32_768);
  expect(memory.take(16_384)).toBe(large);
  expect(memory.take(4096)).toBe(small[3]);
});

test('a buffer that is larger than the limit is not kept', () => {
  const memory = new BatchMemory(10_000);
  memory.keep(memory.take(4096));
  memory.keep(memory.take(16_384));
  expect(memory.keptBytes).toBe(0);
});

test.each([1, 4096, 4097, 2 ** 20, 2 ** 20 + 1])('a buffer has room for %i bytes', (bytes) => {
  expect(new BatchMemory(0).take(bytes).byteLength).toBeGreaterThanOrEqual(bytes);
});
