import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { appendLines, Scratch } from './journal-file.ts';

test('lines of any text and size are appended, with memory that is used again', () => {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-journal-file-'));
  try {
    const path = join(dir, 'lines');
    const file = openSync(path, 'a');
    const scratch = new Scratch();
    const lines = ['a long line', 'ä€🙂', '', 'x'.repeat(2 ** 20 + 1), 'last'];
    const sizes = lines.map((text) =>
      appendLines(file, [{ text, length: Buffer.byteLength(text) }], scratch),
    );
    closeSync(file);
    expect(readFileSync(path, 'utf8')).toBe(lines.map((text) => `${text}\n`).join(''));
    expect(sizes).toEqual(lines.map((text) => Buffer.byteLength(text) + 1));
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('scratch memory is the same for each call, unless it is large', () => {
  const scratch = new Scratch();
  const first = scratch.take(100);
  expect(scratch.take(50).buffer).toBe(first.buffer);
  expect(scratch.take(5000)).toHaveLength(5000);
  const large = scratch.take(2 ** 20 + 1);
  expect(scratch.take(2 ** 20 + 1).buffer).not.toBe(large.buffer);
});
