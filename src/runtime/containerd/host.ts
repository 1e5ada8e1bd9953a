// The capabilities of this host for a container runtime: installed tools, a working snapshotter,
// and whether OOM scores can be lowered.

import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The directories of system tools, for users whose PATH lacks the sbin directories. */
const systemDirs = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Returns PATH with the system's directories appended. */
export function systemPath(path: string = process.env['PATH'] ?? ''): string {
  return [...new Set([...path.split(':').filter((dir) => dir !== ''), ...systemDirs])].join(':');
}

/** Returns the absolute path of a program; undefined if it is not found. */
export function findProgram(name: string, path: string = systemPath()): string | undefined {
  return path
    .split(':')
    .map((dir) => join(dir, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

export interface MissingTools {
  readonly missing: readonly string[];
  /** The message for the user, with a command that installs the tools. */
  readonly hint: string;
}

/** Returns why a private containerd cannot be started here; undefined if it can. */
export function missingContainerdTools(cniBinDir: string | undefined): MissingTools | undefined {
  const missing = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc'].filter(
    (name) => findProgram(name) === undefined,
  );
  if (cniBinDir === undefined) missing.push('the CNI plugins');
  if (process.getuid?.() !== 0) missing.push('root');
  if (missing.length === 0) return undefined;
  return {
    missing,
    hint:
      `containerd needs ${missing.join(', ')}: as root, apt-get install containerd runc ` +
      'containernetworking-plugins iptables',
  };
}

/**
 * Reports whether this process may lower its OOM score, as containerd must for sandboxes unless it
 * is configured otherwise.
 */
export function canLowerOomScore(): boolean {
  const file = '/proc/self/oom_score_adj';
  try {
    const score = Number(readFileSync(file, 'utf8'));
    if (score <= -1000) return true;
    writeFileSync(file, String(score - 1));
    writeFileSync(file, String(score));
    return true;
  } catch {
    return false;
  }
}

/**
 * Reports whether overlayfs works on the file system of `dir` (it does not on another overlay, nor
 * on some network file systems).
 */
export async function overlayfsWorks(dir: string): Promise<boolean> {
  await mkdir(dir, { recursive: true });
  const trial = await mkdtemp(join(dir, 'overlay-trial-'));
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map((name) =>
    join(trial, name),
  );
  const env = { PATH: systemPath() };
  try {
    for (const path of [lower!, upper!, work!, merged!]) await mkdir(path);
    await run(
      'mount',
      [
        '-t',
        'overlay',
        'overlay',
        '-o',
        `lowerdir=${lower},upperdir=${upper},workdir=${work}`,
        merged!,
      ],
      {
        env,
      },
    );
    await run('umount', [merged!], { env });
    return true;
  } catch {
    return false;
  } finally {
    await rm(trial, { recursive: true, force: true });
  }
}

/** Returns the paths mounted at or below `dir`, deepest first. */
export function mountsBelow(dir: string): string[] {
  // Blanks and other special characters are octal escapes.
  const unescape = (path: string): string =>
    path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => unescape(line.split(' ')[1] ?? ''))
    .filter((path) => path === dir || path.startsWith(`${dir}/`))
    .toSorted((a, b) => b.length - a.length);
}

/** Unmounts everything at or below `dir`. */
export async function unmountBelow(dir: string): Promise<void> {
  for (const path of mountsBelow(dir))
    await run('umount', ['-l', path], { env: { PATH: systemPath() } });
}
