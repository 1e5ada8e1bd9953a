// Reads the state of a cluster from its data directory, without asking the cluster: whether it runs, sizes, and
// certificates.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cause, certificateProblem } from '#client/explain/index.ts';
import { dataDirLayout, entriesOf, isDataDir, readClaim } from './data-dir.ts';

export interface LocalStatus {
  readonly dataDir: string;
  /** 'none': no cluster was ever here. */
  readonly state: 'running' | 'stopped' | 'none';
  readonly pid?: number;
  /** Wall-clock milliseconds. */
  readonly startedAt?: number;
  /** Bytes of the embedded store. Absent: there is none. */
  readonly storeBytes?: number;
  readonly disk?: { readonly freeBytes: number; readonly totalBytes: number };
  readonly problems: readonly Cause[];
}

/** With less, writes are about to fail; so much of the disk, or so many bytes. */
const LEAST_FREE_SHARE = 0.05;
const LEAST_FREE_BYTES = 1 << 30;

/** `now`: wall-clock milliseconds. Throws UserError if the directory cannot be read. */
export async function localStatus(dir: string, now: number): Promise<LocalStatus> {
  const layout = dataDirLayout(dir);
  if (entriesOf(layout).length === 0 || !isDataDir(layout))
    return { dataDir: layout.root, state: 'none', problems: [] };
  const claim = readClaim(layout);
  const storeBytes = await directoryBytes(layout.store);
  const disk = await diskSpace(layout.root);
  const running =
    claim.state === 'running'
      ? { pid: claim.process.pid, startedAt: statSync(layout.pidFile).mtimeMs }
      : undefined;
  return {
    dataDir: layout.root,
    state: running === undefined ? 'stopped' : 'running',
    ...running,
    ...(storeBytes !== undefined && { storeBytes }),
    ...(disk !== undefined && { disk }),
    problems: [...diskProblems(layout.root, disk), ...certificateProblems(layout.pki, now)],
  };
}

async function directoryBytes(dir: string): Promise<number | undefined> {
  try {
    const names = await readdir(dir);
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(dir, name)).then(
          ({ size }) => size,
          // A file of the store that has gone since.
          () => 0,
        ),
      ),
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns undefined where file systems do not say. */
async function diskSpace(dir: string): Promise<LocalStatus['disk']> {
  const { bavail, blocks, bsize } = await statfs(dir);
  return blocks === 0 ? undefined : { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

function diskProblems(dir: string, disk: LocalStatus['disk']): readonly Cause[] {
  if (disk === undefined) return [];
  const { freeBytes, totalBytes } = disk;
  if (freeBytes >= Math.min(totalBytes * LEAST_FREE_SHARE, LEAST_FREE_BYTES)) return [];
  const free = Math.round(freeBytes / (1 << 20));
  return [
    {
      severity: 'problem',
      text: `the disk of ${dir} is almost full: ${free} MiB are free; the store stops when it cannot write`,
      source: 'file system',
      causes: [],
    },
  ];
}

function certificateProblems(dir: string, now: number): readonly Cause[] {
  let names: readonly string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return names
    .filter((name) => name.endsWith('.crt'))
    .flatMap((name) => {
      const problem = certificateProblem(
        readFileSync(join(dir, name), 'latin1'),
        `the certificate ${join(dir, name)}`,
        now,
      );
      return problem === undefined ? [] : [problem];
    });
}
