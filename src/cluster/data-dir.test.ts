import { spawn } from 'node:child_process';
import { mkdtempSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { claimDataDir, dataDirLayout, processIdentity, runningProcess } from './data-dir.ts';
import { UserError } from './user-error.ts';

describe('claimDataDir', () => {
  let dir: string;
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'cox-data-'))));
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  test('is released by its release', () => {
    const layout = dataDirLayout(dir);
    const release = claimDataDir(layout);
    expect(runningProcess(layout)?.pid).toBe(process.pid);
    release();
    expect(existsSync(layout.pidFile)).toBe(false);
  });

  test('refuses a directory that a live process holds, naming the process and the way out', async () => {
    const layout = dataDirLayout(dir);
    const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
    const identity = processIdentity(other.pid as number);
    writeFileSync(layout.pidFile, `${identity?.pid} ${identity?.startTime}\n`);
    try {
      expect(() => claimDataDir(layout)).toThrow(new RegExp(`already runs on .* \\(process ${other.pid}\\).*cox down`));
    } finally {
      other.kill('SIGKILL');
      await new Promise((resolve) => other.once('exit', resolve));
    }
    expect(() => claimDataDir(layout)).not.toThrow();
  });

  test('takes over from a process that died, even if its number is in use again', () => {
    const layout = dataDirLayout(dir);
    mkdirSync(layout.root, { recursive: true });
    writeFileSync(layout.pidFile, '1 999999999999\n');
    expect(runningProcess(layout)).toBeUndefined();
    claimDataDir(layout)();
  });

  test('says what to do when the directory cannot be made', () => {
    writeFileSync(join(dir, 'file'), '');
    expect(() => claimDataDir(dataDirLayout(join(dir, 'file', 'below')))).toThrow(UserError);
  });
});
