import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { dataDirLayout, tagDataDir } from '../data-dir/data-dir.ts';
import { checkResettable, leftoversOf, reset } from './reset.ts';

let dir: string;
let dataDir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-reset-unit-'));
  dataDir = join(dir, 'data');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const ENTRIES = [
  'containerd',
  'kubelet',
  'logs',
  'pki',
  'runtime',
  'store',
  'store.before-restore-1',
];

function make(entries: readonly string[]): void {
  for (const name of entries) {
    mkdirSync(join(dataDir, name, 'below'), { recursive: true });
    writeFileSync(join(dataDir, name, 'below', 'file'), '');
  }
  writeFileSync(join(dataDir, 'kubeconfig'), '');
  tagDataDir(dataDirLayout(dataDir));
}

const run = (path = dataDir) =>
  reset({ dataDir: path, clock: systemClock, progress: () => undefined });

test.each(ENTRIES.map((_, removed) => removed))(
  'a reset that was cut off after %i entries is finished by the next',
  async (removed) => {
    make(ENTRIES.slice(removed));
    writeFileSync(join(dataDir, 'cox.pid'), '4711 of a reset that was killed:1\n');
    expect(leftoversOf(dataDir)).toEqual({ processes: 0, mounts: 0 });
    await run();
    expect(existsSync(dataDir)).toBe(false);
    expect(await checkResettable(dataDir)).toBe(false);
    expect(await run()).toMatchObject({ processes: 0, mounts: 0, kept: [] });
  },
);

test('files of others stay, and are named; links are not followed', async () => {
  make(ENTRIES);
  writeFileSync(join(dir, 'outside'), '');
  mkdirSync(join(dir, 'elsewhere', 'below'), { recursive: true });
  writeFileSync(join(dataDir, 'backup.snap'), '');
  symlinkSync(join(dir, 'outside'), join(dataDir, 'kubelet', 'link'));
  rmSync(join(dataDir, 'logs'), { recursive: true });
  symlinkSync(join(dir, 'elsewhere'), join(dataDir, 'logs'));
  expect((await run()).kept).toEqual(['backup.snap']);
  expect(readdirSync(dataDir)).toEqual(['backup.snap']);
  expect(existsSync(join(dir, 'outside'))).toBe(true);
  expect(existsSync(join(dir, 'elsewhere', 'below'))).toBe(true);
});

test('by a link to the data directory, the directory is emptied', async () => {
  make(ENTRIES);
  const link = join(dir, 'link');
  symlinkSync(dataDir, link);
  await run(link);
  expect(readdirSync(dataDir)).toEqual([]);
});

test('a directory of others is rejected, an empty or missing one has nothing to remove', async () => {
  expect(await checkResettable(dataDir)).toBe(false);
  mkdirSync(dataDir);
  expect(await checkResettable(dataDir)).toBe(false);
  mkdirSync(join(dataDir, 'pki'));
  await expect(run()).rejects.toThrow('is no data directory of a cluster: nothing was removed');
  expect(readdirSync(dataDir)).toEqual(['pki']);
});
