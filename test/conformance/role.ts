// Starts roles of the product (`cox ROLE`) on the machines of a cluster.

import type { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { run } from './cable.ts';
import { endGroup, startGroup } from './machines.ts';

const cox = fileURLToPath(new URL('../../bin/cox.js', import.meta.url));

/** Runs `cox` to its end, and returns what it printed. Throws a UserError if it fails. */
export const runCox = (...args: readonly string[]): string => run(process.execPath, cox, ...args);

/** A program of the cluster on one of its machines. */
export interface RunningRole {
  /** Process of the command that started it. */
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a program under the name that is the next argument, as a unit of systemd can: a test looks
 * for a process with the name kubelet.
 */
const NAMED = ['bash', '-c', 'exec -a "$0" "$@"'];

/**
 * Starts `cox ROLE` on a machine; `wrap` makes the command that does it. Resolves when the role
 * reports that it is ready; rejects with a UserError if it ends instead.
 */
export async function startRole(
  name: string,
  wrap: (command: readonly string[]) => readonly [string, ...string[]],
  role: string,
  flags: Readonly<Record<string, string>>,
  logFile: string,
): Promise<RunningRole> {
  const args = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
  const command = wrap([...NAMED, role, process.execPath, cox, role, ...args]);
  return await startProgram(name, command, (line) => line.startsWith('ready:'), logFile);
}

/**
 * Starts a program. Resolves when it prints a line that says that it is ready; rejects with a UserError
 * if it ends instead.
 */
export async function startProgram(
  name: string,
  command: readonly [string, ...string[]],
  isReady: (line: string) => boolean,
  logFile: string,
): Promise<RunningRole> {
  const child = startGroup(command);
  let isEnded = false;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(
    () => void (isEnded = true),
  );
  const stop = async (): Promise<void> => {
    if (!isEnded) endGroup(child);
    await ended;
  };
  try {
    await ready(name, child, ended, isReady, logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: child.pid ?? 0, stop };
}

async function ready(
  name: string,
  child: ChildProcess,
  ended: Promise<void>,
  isReady: (line: string) => boolean,
  logFile: string,
): Promise<void> {
  const lastLines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        appendFileSync(logFile, `${name}: ${line}\n`);
        lastLines.push(line);
        if (isReady(line)) resolve();
      });
    }
    child.once('error', reject);
    const failure = (): Error =>
      new UserError(`${name} was not started:\n${lastLines.slice(-20).join('\n')}`);
    void ended.then(() => reject(failure()));
  });
}
