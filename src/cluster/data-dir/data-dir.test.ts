import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { identify } from '#runtime/process-identity.ts';
import {
  claimDataDir,
  type DataDirLayout,
  dataDirLayout,
  isDataDir,
  isOwnEntry,
  parsePidFile,
  readClaim,
  runningProcess,
} from './data-dir.ts';
import { UserError } from '../user-error.ts';

let layout: DataDirLayout;
beforeEach(() => (layout = dataDirLayout(mkdtempSync(join(tmpdir(), 'cox-data-')))));
afterEach(() => rmSync(layout.root, { recursive: true, force: true }));

/** Runs a process that does nothing while `body` runs. */
async function withProcess(body: (pid: number) => Promise<void> | void): Promise<void> {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  try {
    await body(child.pid as number);
  } finally {
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

const pidFileOf = (pid: number): string => `${pid} ${identify(pid)?.startTime}\n`;

describe('claimDataDir', () => {
  test('writes who claims, and its release removes that', async () => {
    const release = await claimDataDir(layout);
    expect(readFileSync(layout.pidFile, 'utf8')).toBe(pidFileOf(process.pid));
    expect((await runningProcess(layout))?.pid).toBe(process.pid);
    expect(readdirSync(layout.root)).toEqual(['cox.pid', 'cox.tag']);
    release();
    expect(readdirSync(layout.root)).toEqual(['cox.tag']);
  });

  test('rejects a directory that a live process holds, naming the process and the way out', async () => {
    await withProcess(async (pid) => {
      writeFileSync(layout.pidFile, pidFileOf(pid));
      await expect(claimDataDir(layout)).rejects.toThrow(
        new RegExp(`already runs on .* \\(process ${pid}\\).*cox down`),
      );
    });
    (await claimDataDir(layout))();
  });

  test('a release leaves the claim of a later process alone', async () => {
    const release = await claimDataDir(layout);
    await withProcess((pid) => {
      writeFileSync(layout.pidFile, pidFileOf(pid));
      release();
      expect(existsSync(layout.pidFile)).toBe(true);
    });
  });

  test('of several claims at the same time one succeeds', async () => {
    writeFileSync(layout.pidFile, '');
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => claimDataDir(layout)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('says what to do when the directory cannot be made', async () => {
    writeFileSync(join(layout.root, 'file'), '');
    await expect(claimDataDir(dataDirLayout(join(layout.root, 'file', 'below')))).rejects.toThrow(
      UserError,
    );
  });
});

test('only directories that a cluster has made are tagged', async () => {
  expect(isDataDir(layout)).toBe(false);
  mkdirSync(layout.pki);
  writeFileSync(join(layout.root, 'admin.conf'), 'of another installation');
  (await claimDataDir(layout))();
  expect(isDataDir(layout)).toBe(false);
  rmSync(join(layout.root, 'admin.conf'));
  (await claimDataDir(layout))();
  expect(isDataDir(layout)).toBe(true);
});

test('own entries are known by their names', () => {
  const own = [
    'store',
    'store.restored',
    'store.before-restore-3',
    'store.restored.restoring',
    'pki',
    'cox.pid',
    'cox.pid.12',
    'cox.pid.stale.7',
    'cox.tag.tmp',
    ...Object.values(dataDirLayout('/data'))
      .filter((path) => path !== '/data')
      .map((path) => basename(path)),
  ];
  for (const name of own) expect([name, isOwnEntry(name)]).toEqual([name, true]);
  for (const name of ['backup.snap', 'stores', 'cox', 'pki.old', 'kubeconfig.mine', '.git'])
    expect([name, isOwnEntry(name)]).toEqual([name, false]);
});

describe('a pid file that names no running process', () => {
  const own = pidFileOf(process.pid);
  const texts: readonly (readonly [string, string])[] = [
    ...Array.from(
      { length: own.length },
      (_, length) => [`the first ${length} bytes`, own.slice(0, length)] as const,
    ),
    ['a newline', '\n'],
    ['zeros', '\0'.repeat(40)],
    ['text', 'no process at all\n'],
    ['pid 0', '0 x:1\n'],
    ['pid -1', '-1 x:1\n'],
    ['pid 1, not its start time', '1 x:1\n'],
    ['pid 1 without a start time', '1\n'],
    ['this pid, another start time', `${process.pid} ${identify(process.pid)?.startTime}0\n`],
    [
      'this pid, another boot',
      `${process.pid} 00000000-0000-0000-0000-000000000000:${own.split(':')[1]}`,
    ],
    ['a pid that no system has', own.replace(/^\d+/, '99999999999999999999')],
    ['hexadecimal', own.replace(/^\d+/, `0x${process.pid.toString(16)}`)],
    ['a fraction', own.replace(/^\d+/, `${process.pid}.5`)],
    ['a leading blank', ` ${own}`],
    ['twice', own + own],
  ];

  test.each(texts)('%s: is no running process, and is taken over', async (_, text) => {
    writeFileSync(layout.pidFile, text);
    expect(await runningProcess(layout)).toBeUndefined();
    expect(['stale', 'unreadable']).toContain(readClaim(layout).state);
    const release = await claimDataDir(layout);
    expect(readFileSync(layout.pidFile, 'utf8')).toBe(own);
    release();
  });

  test('a directory and a dangling link: the same', async () => {
    mkdirSync(join(layout.pidFile, 'below'), { recursive: true });
    expect(await runningProcess(layout)).toBeUndefined();
    (await claimDataDir(layout))();
    symlinkSync('/nowhere', layout.pidFile);
    expect(await runningProcess(layout)).toBeUndefined();
    (await claimDataDir(layout))();
  });

  test('only numbers that can be signalled safely are read from it', () => {
    expect(parsePidFile(own)?.pid).toBe(process.pid);
    for (const [, text] of texts) expect(parsePidFile(text)?.pid ?? 1).toBeGreaterThan(0);
  });

  test('if it is damaged while a process has the store open, it is not taken over', async () => {
    const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
    const code = `
      const { loadSqlite } = await import(${url('../../storage/embedded/sqlite.ts')});
      const { DatabaseSync } = await loadSqlite();
      const database = new DatabaseSync(${JSON.stringify(join(layout.store, 'storage.db'))});
      database.exec('PRAGMA locking_mode = EXCLUSIVE; CREATE TABLE t (x); BEGIN EXCLUSIVE');
      console.log('open');
      process.stdin.resume();`;
    mkdirSync(layout.store);
    const script = join(layout.root, 'holder.mts');
    writeFileSync(script, code);
    writeFileSync(layout.pidFile, '');
    const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await expect(claimDataDir(layout)).rejects.toThrow(
        /cox\.pid names no running process, but the store in .* is in use by another process/,
      );
      await expect(runningProcess(layout)).rejects.toThrow(UserError);
    } finally {
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
    }
    (await claimDataDir(layout))();
  });
});
