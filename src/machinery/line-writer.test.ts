import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, VirtualClock } from './clock.ts';
import { LineWriter } from './line-writer.ts';

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
/** Longer than PIPE_BUF, so that the pipe takes parts of a line. */
const LONG = 'x'.repeat(10_000);

let folder: string;
let reader: number;
let fd: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'line-writer-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  reader = openSync(path, O_RDONLY | O_NONBLOCK);
  fd = openSync(path, O_WRONLY | O_NONBLOCK);
});
afterEach(() => {
  closeSync(fd);
  if (reader >= 0) closeSync(reader);
  rmSync(folder, { recursive: true });
});

/** Reads all that is in the pipe. */
function read(): string {
  const parts: string[] = [];
  const buffer = Buffer.alloc(1 << 20);
  for (;;) {
    try {
      const count = readSync(reader, buffer);
      if (count === 0) return parts.join('');
      parts.push(buffer.toString('utf8', 0, count));
    } catch (error) {
      expect(error).toMatchObject({ code: 'EAGAIN' });
      return parts.join('');
    }
  }
}

const noLoss = (lines: number): never => {
  throw new Error(`${lines} lines are lost`);
};

test('a line is in the pipe at once', () => {
  const writer = new LineWriter({ fd, clock: new VirtualClock(), onLost: noLoss });
  writer.write('one\n');
  expect(read()).toBe('one\n');
});

test('lines wait for a full pipe, and are written whole and in order when it drains', async () => {
  const clock = new VirtualClock();
  const writer = new LineWriter({ fd, clock, onLost: noLoss });
  const lines = Array.from({ length: 100 }, (_, index) => `${index} ${LONG}\n`);
  for (const line of lines) writer.write(line);
  let output = '';
  for (let rounds = 0; output.length < lines.join('').length && rounds < 100; rounds++) {
    output += read();
    await clock.advance(10);
  }
  expect(output).toBe(lines.join(''));
  // Nothing waits any more.
  writer.write('last\n');
  expect(read()).toBe('last\n');
});

test('lines beyond the limit are counted, in one line after those that waited', async () => {
  const clock = new VirtualClock();
  const writer = new LineWriter({
    fd,
    clock,
    maxWaitingBytes: 30_000,
    onLost: (lines) => writer.write(`lost ${lines}\n`),
  });
  for (let index = 0; index < 100; index++) writer.write(`${index} ${LONG}\n`);
  let output = '';
  for (let round = 0; round < 10; round++) {
    output += read();
    await clock.advance(10);
  }
  const shown = output.split('\n').slice(0, -1);
  const lost = 100 - (shown.length - 1);
  expect(lost).toBeGreaterThan(80);
  expect(shown.map((line) => line.replace(` ${LONG}`, ''))).toEqual([
    ...Array.from({ length: 100 - lost }, (_, index) => `${index}`),
    `lost ${lost}`,
  ]);
});

test('a descriptor that fails loses lines, and says so when it works again', () => {
  closeSync(reader);
  reader = -1;
  const lost: number[] = [];
  const writer = new LineWriter({
    fd,
    clock: new VirtualClock(),
    onLost: (lines) => lost.push(lines),
  });
  // Nothing reads the pipe: EPIPE.
  writer.write('one\n');
  writer.write('two\n');
  expect(lost).toEqual([]);
  reader = openSync(join(folder, 'pipe'), O_RDONLY | O_NONBLOCK);
  writer.write('three\n');
  expect(read()).toBe('three\n');
  expect(lost).toEqual([2]);
});

test('flush writes what waits, and gives up when nothing reads', () => {
  const writer = new LineWriter({ fd, clock: systemClock, onLost: noLoss });
  const lines = Array.from({ length: 10 }, (_, index) => `${index} ${LONG}\n`);
  for (const line of lines) writer.write(line);
  const from = systemClock.monotonic();
  writer.flush(50);
  expect(systemClock.monotonic() - from).toBeGreaterThanOrEqual(50);
  let output = read();
  writer.flush(0);
  output += read();
  expect(output).toBe(lines.join(''));
});
