import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { keepLogSmall } from './rotate-log.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'rotate-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test('a large log becomes an earlier one, of which three are kept', async () => {
  const file = join(folder, 'cox.log');
  const clock = new VirtualClock();
  // Another process appends all the time.
  const writer = openSync(file, 'a', 0o600);
  try {
    const timer = keepLogSmall({ file, clock, logger: silentLogger, maxBytes: 100 });
    for (let round = 0; round < 6; round++) {
      writeSync(writer, `${round}`.repeat(100));
      await clock.advance(10_000);
      expect(statSync(file).size).toBe(0);
    }
    writeSync(writer, 'small');
    await clock.advance(60_000);
    timer.cancel();
  } finally {
    closeSync(writer);
  }
  expect(readdirSync(folder).sort()).toEqual(['cox.log', 'cox.log.1', 'cox.log.2', 'cox.log.3']);
  expect(readFileSync(file, 'utf8')).toBe('small');
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('5'.repeat(100));
  expect(readFileSync(`${file}.3`, 'utf8')).toBe('3'.repeat(100));
  expect(statSync(`${file}.1`).mode & 0o777).toBe(0o600);
});

test('a log that is already large is rotated at the start; one that is missing is not made', () => {
  const clock = new VirtualClock();
  const file = join(folder, 'cox.log');
  keepLogSmall({ file, clock, logger: silentLogger, maxBytes: 4 }).cancel();
  expect(readdirSync(folder)).toEqual([]);
  appendFileSync(file, 'large');
  keepLogSmall({ file, clock, logger: silentLogger, maxBytes: 4 }).cancel();
  expect(readFileSync(`${file}.1`, 'utf8')).toBe('large');
});
