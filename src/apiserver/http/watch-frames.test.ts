import { expect, test } from 'vitest';
import { FrameJoiner, MAX_BATCH_BYTES } from './watch-frames.ts';

const frame = (text: string): Buffer => Buffer.from(`${text}\n`);

test('one frame is its own batch, without a copy', () => {
  const only = frame('a');
  const { bytes, count } = new FrameJoiner().join([only], 0);
  expect(bytes).toBe(only);
  expect(count).toBe(1);
});

test('watchers with the same frames share the joined bytes', () => {
  const joiner = new FrameJoiner();
  const [a, b, c] = [frame('a'), frame('b'), frame('c')];
  const first = joiner.join([a, b, c], 0);
  expect(Buffer.from(first.bytes).toString()).toBe('a\nb\nc\n');
  expect(first.count).toBe(3);
  const later = joiner.join([b, c], 0);
  expect(Buffer.from(later.bytes).toString()).toBe('b\nc\n');
  expect(joiner.join([a, b, c], 1).bytes).toBe(later.bytes);
  expect(joiner.join([a, b, c], 0).bytes).toBe(first.bytes);
});

test('frames of the same lengths are not mistaken for each other', () => {
  const joiner = new FrameJoiner();
  joiner.join([frame('a'), frame('b')], 0);
  const { bytes } = joiner.join([frame('a'), frame('x')], 0);
  expect(Buffer.from(bytes).toString()).toBe('a\nx\n');
});

test('only the last batches are kept', () => {
  const joiner = new FrameJoiner();
  const [a, b] = [frame('a'), frame('b')];
  const { bytes } = joiner.join([a, b], 0);
  for (let i = 0; i < 100; i++) joiner.join([frame(`c${i}`), frame('d')], 0);
  const again = joiner.join([a, b], 0);
  expect(again.bytes).not.toBe(bytes);
  expect(again.bytes).toEqual(bytes);
});

test('a batch ends at its limit, and a larger frame is a batch alone', () => {
  const joiner = new FrameJoiner();
  const half = Buffer.alloc(MAX_BATCH_BYTES / 2);
  const huge = Buffer.alloc(2 * MAX_BATCH_BYTES);
  expect(joiner.join([half, half, frame('a')], 0).count).toBe(2);
  expect(joiner.join([huge, frame('a')], 0).count).toBe(1);
  const alone = joiner.join([half, huge], 0);
  expect(alone.count).toBe(1);
  expect(alone.bytes).toBe(half);
});
