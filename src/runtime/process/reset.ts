// The end of all containers of a process runtime, without the runtime: it may have crashed at any point, and its records may be damaged.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../machinery/clock.ts';
import { hostProcesses, killAll } from '../host-processes.ts';
import { ID_VARIABLE } from './supervisor.ts';

/**
 * Returns the processes of the runtime's containers:
 *
 * - supervisors: their command line names the container's directory;
 * - their process groups;
 * - processes with the container's id in their environment, also in other sessions;
 * - processes that have the container's output open.
 *
 * Not found: a process in a session of its own that has cleared its environment and closed its output.
 */
export function containerProcesses(stateDir: string): readonly number[] {
  const dir = join(stateDir, 'containers');
  const ids = containerIds(dir);
  const dirs = new Set(ids.map((id) => join(dir, id)));
  const variables = new Set(ids.map((id) => `${ID_VARIABLE}=${id}`));
  const outputs = new Set(ids.flatMap((id) => [join(dir, id, 'stdout'), join(dir, id, 'stderr')]));
  const all = ids.length === 0 ? [] : hostProcesses();
  const supervisors = new Set(all.filter(({ args }) => args.some((arg) => dirs.has(arg))).map(({ pid }) => pid));
  return all
    .filter(
      (one) =>
        supervisors.has(one.pid) ||
        supervisors.has(one.processGroup) ||
        one.environment().some((variable) => variables.has(variable)) ||
        one.openFiles().some((file) => outputs.has(file)),
    )
    .map(({ pid }) => pid);
}

/** Kills them all. Returns how many there were. The runtime must not run. */
export async function killContainers(stateDir: string, clock: Clock): Promise<number> {
  return killAll(() => containerProcesses(stateDir), clock);
}

function containerIds(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw err;
  }
}
