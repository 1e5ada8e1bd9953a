import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { logTime, parseLogLine } from './cri-log.ts';
import { readLogs, type LogOptions } from './read-logs.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'logs-'));
  path = join(directory, '0.log');
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

const entry = (second: number, text: string, stream = 'stdout', tag = 'F'): string =>
  `2026-01-01T00:00:0${second}.000000001Z ${stream} ${tag} ${text}\n`;

const forever = new AbortController().signal;

async function read(options: LogOptions = {}): Promise<string> {
  const source = { path, clock: systemClock, isRunning: () => Promise.resolve(false), pollMs: 5 };
  const chunks: Buffer[] = [];
  for await (const chunk of readLogs(source, options, forever)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a log line', () => {
  test.each([
    [
      '2026-01-01T00:00:01.5Z stdout F hello world',
      {
        timestamp: '2026-01-01T00:00:01.5Z',
        stream: 'stdout',
        partial: false,
        content: 'hello world',
      },
    ],
    [
      '2026-01-01T00:00:01.5Z stderr P half',
      { timestamp: '2026-01-01T00:00:01.5Z', stream: 'stderr', partial: true, content: 'half' },
    ],
    [
      '2026-01-01T00:00:01.5Z stdout P:x  two blanks',
      {
        timestamp: '2026-01-01T00:00:01.5Z',
        stream: 'stdout',
        partial: true,
        content: ' two blanks',
      },
    ],
    [
      '2026-01-01T00:00:01.5Z stdout F ',
      { timestamp: '2026-01-01T00:00:01.5Z', stream: 'stdout', partial: false, content: '' },
    ],
  ])('%s', (line, expected) => {
    const parsed = parseLogLine(Buffer.from(line));
    expect({ ...parsed, content: parsed?.content.toString() }).toEqual(expected);
  });

  test.each(['', 'no blanks', 'time stdin F x', ' stdout F x'])('%j is not a log line', (line) => {
    expect(parseLogLine(Buffer.from(line))).toBeUndefined();
  });

  test('its time includes the written fraction', () => {
    expect(logTime('2026-01-01T00:00:01.250000000Z') - Date.UTC(2026, 0, 1, 0, 0, 1)).toBe(250);
    expect(logTime('2026-01-01T02:00:01+02:00')).toBe(Date.UTC(2026, 0, 1, 0, 0, 1));
  });
});

describe('reading', () => {
  test('returns the content of both streams, in order, with partial lines joined', async () => {
    await writeFile(
      path,
      entry(1, 'one') +
        entry(2, 'two-', 'stdout', 'P') +
        entry(3, 'err', 'stderr') +
        entry(4, 'half') +
        entry(5, ''),
    );
    expect(await read()).toBe('one\ntwo-err\nhalf\n\n');
    expect(await read({ stream: 'stdout' })).toBe('one\ntwo-half\n\n');
    expect(await read({ stream: 'stderr' })).toBe('err\n');
  });

  test('puts the time before each line, once', async () => {
    await writeFile(path, entry(1, 'one ', 'stdout', 'P') + entry(2, 'line') + entry(3, 'two'));
    expect(await read({ timestamps: true })).toBe(
      '2026-01-01T00:00:01.000000001Z one line\n2026-01-01T00:00:03.000000001Z two\n',
    );
  });

  test('begins at a time', async () => {
    await writeFile(path, entry(1, 'one') + entry(2, 'two') + entry(3, 'three'));
    expect(await read({ since: Date.UTC(2026, 0, 1, 0, 0, 2) })).toBe('two\nthree\n');
  });

  test('stops after the limit in bytes', async () => {
    await writeFile(path, entry(1, 'one') + entry(2, 'two'));
    expect(await read({ limitBytes: 6 })).toBe('one\ntw');
    expect(await read({ limitBytes: 4 })).toBe('one\n');
  });

  test('leaves out lines in another format', async () => {
    await writeFile(path, `${entry(1, 'one')}garbage\n${entry(2, 'two')}`);
    expect(await read()).toBe('one\ntwo\n');
  });

  test('rejects if there is no file', async () => {
    await expect(read()).rejects.toThrow('ENOENT');
  });
});

describe('the last lines', () => {
  test.each([
    [0, ''],
    [1, 'three\n'],
    [2, 'two-half\nthree\n'],
    [3, 'one\ntwo-half\nthree\n'],
    [9, 'one\ntwo-half\nthree\n'],
  ])('%d of three, one of them in parts', async (tailLines, expected) => {
    await writeFile(
      path,
      entry(1, 'one') + entry(2, 'two-', 'stdout', 'P') + entry(3, 'half') + entry(4, 'three'),
    );
    expect(await read({ tailLines })).toBe(expected);
  });

  test('of a log longer than a block', async () => {
    const lines = Array.from(
      { length: 5000 },
      (_, index) => `line ${index} ${'x'.repeat(index % 90)}`,
    );
    await writeFile(path, lines.map((line) => entry(1, line)).join(''));
    expect(await read({ tailLines: 3000 })).toBe(`${lines.slice(-3000).join('\n')}\n`);
    expect(await read()).toBe(`${lines.join('\n')}\n`);
  });

  test('of a line longer than a block', async () => {
    const long = 'y'.repeat(200_000);
    await writeFile(path, entry(1, 'one') + entry(2, long) + entry(3, 'three'));
    expect(await read({ tailLines: 2 })).toBe(`${long}\nthree\n`);
  });

  test('of one stream', async () => {
    await writeFile(path, entry(1, 'one', 'stderr') + entry(2, 'two') + entry(3, 'three'));
    expect(await read({ tailLines: 1, stream: 'stderr' })).toBe('one\n');
  });

  test('without those that are written meanwhile', async () => {
    await writeFile(path, entry(1, 'one') + entry(2, 'two'));
    const source = { path, clock: systemClock, isRunning: () => Promise.resolve(true) };
    const stream = readLogs(source, { tailLines: 1 }, forever);
    expect((await stream.next()).value?.toString()).toBe('two\n');
    await appendFile(path, entry(3, 'three'));
    expect((await stream.next()).done).toBe(true);
  });

  test('of a log whose last line is not complete yet', async () => {
    await writeFile(path, entry(1, 'one') + entry(2, 'two') + entry(3, 'par', 'stdout', 'P'));
    expect(await read({ tailLines: 1 })).toBe('par');
    expect(await read({ tailLines: 2 })).toBe('two\npar');
  });
});

describe('following', () => {
  test('continues until the container has ended, across a rotation', async () => {
    let running = true;
    const source = {
      path,
      clock: systemClock,
      isRunning: () => Promise.resolve(running),
      pollMs: 1,
    };
    await writeFile(path, entry(1, 'one'));
    const stream = readLogs(source, { follow: true }, forever);
    const next = async (): Promise<string | undefined> => {
      const result = await stream.next();
      return result.done === true ? undefined : result.value.toString();
    };
    expect(await next()).toBe('one\n');
    const pending = next();
    // The first half of a line, then the rest.
    await appendFile(path, entry(2, 'two').slice(0, 40));
    await appendFile(path, entry(2, 'two').slice(40));
    expect(await pending).toBe('two\n');
    await rename(path, `${path}.old`);
    await writeFile(path, entry(3, 'three'));
    expect(await next()).toBe('three\n');
    await appendFile(path, entry(4, 'four'));
    running = false;
    expect(await next()).toBe('four\n');
    expect(await next()).toBeUndefined();
  });

  test('stops when the reader closes', async () => {
    await writeFile(path, entry(1, 'one'));
    const abort = new AbortController();
    const source = { path, clock: systemClock, isRunning: () => Promise.resolve(true), pollMs: 1 };
    const stream = readLogs(source, { follow: true }, abort.signal);
    expect((await stream.next()).value?.toString()).toBe('one\n');
    const end = stream.next();
    abort.abort();
    expect((await end).done).toBe(true);
  });
});

describe('a log that is not there yet', () => {
  test('is awaited while its container runs', async () => {
    let asked = 0;
    const isRunning = async (): Promise<boolean> => {
      // The container writes late, and then ends.
      if (++asked === 3) await writeFile(path, entry(1, 'late'));
      return asked < 5;
    };
    const chunks: Buffer[] = [];
    const source = { path, clock: systemClock, isRunning, pollMs: 1 };
    for await (const chunk of readLogs(source, { follow: true }, forever)) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('late\n');
  });

  test('is an error once the container has ended, or without following', async () => {
    await expect(read({ follow: true })).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(read()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is no longer awaited when the client disconnects', async () => {
    const left = new AbortController();
    const isRunning = (): Promise<boolean> => {
      left.abort();
      return Promise.resolve(true);
    };
    const source = { path, clock: systemClock, isRunning, pollMs: 1 };
    for await (const _ of readLogs(source, { follow: true }, left.signal)) expect.unreachable();
  });
});
