import { mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { LogWriter } from './log-writer.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'log-writer-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const entries = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/^\S+ /, ''));

test('text without a newline is written when its stream ends, or when the log is closed before', () => {
  const path = join(dir, 'log');
  const log = new LogWriter(path, systemClock, silentLogger);
  log.write('stdout', Buffer.from('one\ntwo'));
  log.write('stderr', Buffer.from('three'));
  expect(entries(path)).toEqual(['stdout F one']);
  log.end('stdout');
  expect(entries(path)).toEqual(['stdout F one', 'stdout P two']);
  log.close();
  expect(entries(path)).toEqual(['stdout F one', 'stdout P two', 'stderr P three']);
  // The end of the stream is only reported now.
  log.end('stderr');
  expect(entries(path)).toHaveLength(3);
});

test('a line is not split when the log is reopened', () => {
  const path = join(dir, 'log');
  const log = new LogWriter(path, systemClock, silentLogger);
  log.write('stdout', Buffer.from('one '));
  renameSync(path, `${path}.1`);
  log.reopen();
  log.write('stdout', Buffer.from('line\n'));
  log.close();
  expect(entries(`${path}.1`)).toEqual([]);
  expect(entries(path)).toEqual(['stdout F one line']);
});
