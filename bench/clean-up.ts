// Ends the processes and removes the directories of a benchmark that a signal ends: no `finally` runs then.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const children = new Set<ChildProcess>();
const directories = new Set<string>();
let isWatching = false;

/**
 * Registers a process that must not outlive this one. When this process gets SIGINT, SIGTERM or
 * SIGHUP, the child gets SIGTERM, and this process ends after it; a second signal ends this process
 * at once. An uncaught error ends the child, too. SIGKILL leaves it running. Returns the child.
 */
export function endedWithRun<Child extends ChildProcess>(child: Child): Child {
  watch();
  children.add(child);
  child.once('exit', () => children.delete(child));
  child.once('error', () => children.delete(child));
  return child;
}

/**
 * Makes a directory for data of this run, with a name that begins with `prefix`. The caller removes
 * it; if a signal ends the run, it is removed after the children have ended.
 */
export function temporaryDirectory(prefix: string): string {
  watch();
  const path = mkdtempSync(join(tmpdir(), prefix));
  directories.add(path);
  return path;
}

function watch(): void {
  if (isWatching) return;
  isWatching = true;
  for (const signal of SIGNALS) process.once(signal, () => void end(signal));
  process.once('exit', () => {
    for (const child of children) child.kill('SIGTERM');
  });
}

async function end(signal: NodeJS.Signals): Promise<void> {
  await Promise.all(
    [...children].map(async (child) => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }),
  );
  for (const path of directories) rmSync(path, { recursive: true, force: true });
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
