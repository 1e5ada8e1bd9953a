// Kills all containers of a process runtime without the runtime, which may have crashed at any
// point and left damaged records.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#machinery/clock.ts';
import { readUntrustedSync } from '#machinery/files/untrusted.ts';
import { hostProcesses, killAll } from '../host-processes.ts';
import { type ProcessIdentity, signalProcess } from '../process-identity.ts';
import { removeNamespaces } from './isolation/reset.ts';
import { ID_VARIABLE } from './supervisor.ts';

/**
 * Returns the processes of the runtime's containers:
 * - supervisors: their command line has the container's directory;
 * - their process groups;
 * - processes with the container's ID in their environment, also in other sessions;
 * - processes that have the container's output open.
 *
 * Not found: a process in its own session that has cleared its environment and closed its output.
 */
export function containerProcesses(stateDir: string): readonly number[] {
  const dir = join(stateDir, 'containers');
  const ids = containerIds(stateDir);
  const dirs = new Set(ids.map((id) => join(dir, id)));
  const variables = new Set(ids.map((id) => `${ID_VARIABLE}=${id}`));
  const outputs = new Set(ids.flatMap((id) => [join(dir, id, 'stdout'), join(dir, id, 'stderr')]));
  const all = ids.length === 0 ? [] : hostProcesses();
  const supervisors = new Set(
    all.filter(({ args }) => args.some((arg) => dirs.has(arg))).map(({ pid }) => pid),
  );
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

/**
 * Kills the processes of all containers, and the recorded process groups: without /proc, only these
 * can be found. Returns the number of processes found in /proc. The runtime must not run.
 */
export async function killContainers(stateDir: string, clock: Clock): Promise<number> {
  const killed = await killAll(() => containerProcesses(stateDir), clock);
  for (const supervisor of recordedSupervisors(stateDir))
    signalProcess(supervisor, 'SIGKILL', true);
  await removeNamespaces(stateDir);
  return killed;
}

/** Returns the recorded supervisors, whether or not they still run. Damaged records are ignored. */
export function recordedSupervisors(stateDir: string): readonly ProcessIdentity[] {
  return containerIds(stateDir).flatMap((id) => {
    const supervisor = supervisorIn(join(stateDir, 'containers', id, 'record.json'));
    return supervisor === undefined ? [] : [supervisor];
  });
}

function supervisorIn(path: string): ProcessIdentity | undefined {
  let record: unknown;
  try {
    record = JSON.parse(readUntrustedSync(path, MAX_RECORD_BYTES).data.toString('utf8'));
  } catch {
    // Missing or damaged: its processes may still be found in /proc.
    return undefined;
  }
  const { pid, startTime } =
    (record as { supervisor?: Partial<ProcessIdentity> } | null)?.supervisor ?? {};
  const isPid = typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 1;
  return isPid && typeof startTime === 'string' ? { pid, startTime } : undefined;
}

const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** Returns the IDs of containers, including those with damaged records. */
function containerIds(stateDir: string): readonly string[] {
  const aside = namesIn(join(stateDir, 'damaged')).flatMap(
    (name) => /^(.+?)\.json(?:\.\d+)?$/.exec(name)?.[1] ?? [],
  );
  return [...new Set([...namesIn(join(stateDir, 'containers')), ...aside])];
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
