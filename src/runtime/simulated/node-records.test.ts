import { expect, test } from 'vitest';
import { linesAt } from './node-records.ts';

/** Returns the lines at these places of a file, and what was read of it. */
function read(lines: readonly string[], wanted: readonly number[]) {
  const file = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  const offsets = lines.map((_, i) => lines.slice(0, i).join('').length + i);
  const reads: (readonly [offset: number, length: number])[] = [];
  const places = wanted.flatMap((i) => [offsets[i]!, lines[i]!.length]);
  const source = {
    read: (offset: number, length: number) => {
      reads.push([offset, length]);
      return file.subarray(offset, offset + length);
    },
    onBroken: (error: unknown) => {
      throw error;
    },
  };
  return { found: Array.from(linesAt(places, source), String), reads };
}

test('neighbouring lines are read together', () => {
  const lines = ['aaa', 'b', '', 'cc', 'dddd', 'e'];
  const { found, reads } = read(lines, [0, 1, 2, 4, 5, 3]);
  expect(found).toEqual(['aaa', 'b', '', 'dddd', 'e', 'cc']);
  expect(reads).toEqual([
    [0, 6],
    [10, 6],
    [7, 2],
  ]);
  expect(read(lines, []).reads).toEqual([]);
});

test('many neighbours are read in pieces, and a long line alone', () => {
  const lines = Array.from({ length: 100 }, () => 'x'.repeat(2000));
  lines[50] = 'y'.repeat(200_000);
  const all = lines.map((_, i) => i);
  const { found, reads } = read(lines, all);
  expect(found).toEqual(lines);
  expect(reads).toHaveLength(5);
  expect(reads.filter(([, length]) => length > 64 * 1024)).toHaveLength(1);
});
