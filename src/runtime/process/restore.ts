// Takes over the containers of a former runtime, which runs no more, from its records.

import type { Logger } from '#machinery/log.ts';
import type { PodTable } from '../pod-table.ts';
import { identify, type ProcessIdentity, signalProcess } from '../process-identity.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import type { ProcessContainer } from './container.ts';
import { type ProcessState, readPids, type StoredContainer } from './state.ts';
import { findGroupLeader, hasStats } from './stats.ts';
import { ID_VARIABLE } from './supervisor.ts';

export interface RestoreConfig {
  readonly logger: Logger;
  /** The records. */
  readonly state: ProcessState;
  /** Gets what is restored. */
  readonly pods: PodTable<ProcessContainer>;
  /** Reports whether the sandbox still has its namespaces. */
  readonly adoptSandbox: (record: SandboxRecord) => boolean;
  readonly containerOf: (record: ContainerRecord, sandbox: SandboxRecord) => ProcessContainer;
}

/**
 * Restores the state of a former runtime: takes over running containers, and records the end of
 * those that have ended meanwhile.
 */
export function restore({ logger, state, pods, adoptSandbox, containerOf }: RestoreConfig): void {
  for (const record of state.sandboxes()) {
    // A sandbox without its namespaces can have no containers any more.
    if (!adoptSandbox(record)) record.state = 'SANDBOX_NOTREADY';
    pods.addSandbox(record);
  }
  const { stored: containers, lost } = state.containers();
  for (const id of lost) abandon(logger, state, id);
  for (const stored of containers) {
    const { record } = stored;
    const sandbox = pods.findSandbox(record.podSandboxId);
    if (sandbox === undefined) {
      // The container's sandbox was removed, and the runtime ended before the containers' files
      // were deleted; or the sandbox's record is lost.
      abandon(logger, state, record.id);
      continue;
    }
    const container = containerOf(record, sandbox.record);
    pods.addContainer(container);
    const started =
      record.state === 'CONTAINER_RUNNING'
        ? { supervisor: stored.supervisor }
        : record.state === 'CONTAINER_CREATED'
          ? startedMeanwhile(state, stored)
          : undefined;
    if (started === undefined) continue;
    logger.debug('container taken over', {
      container: record.id,
      pid: started.supervisor?.pid,
    });
    container.adopt(started.supervisor);
  }
}

/**
 * Ends and removes a container that cannot be managed, because its record or its sandbox's record
 * is gone.
 */
function abandon(logger: Logger, state: ProcessState, id: string): void {
  const leader = hasStats() ? findGroupLeader(`${ID_VARIABLE}=${id}`) : undefined;
  const supervisor = leader === undefined ? undefined : identify(leader);
  if (supervisor !== undefined) {
    logger.warn('container without a record ended', { container: id, pid: supervisor.pid });
    signalProcess(supervisor, 'SIGKILL', true);
  }
  state.removeContainer(id);
}

/**
 * Returns the supervisor of a container that was started just before the former runtime ended,
 * without a record of it; undefined if it was not started.
 */
function startedMeanwhile(
  state: ProcessState,
  { record }: StoredContainer,
): { supervisor: ProcessIdentity | undefined } | undefined {
  const noted = readPids(state.containerDir(record.id))?.supervisor;
  const found = hasStats() ? findGroupLeader(`${ID_VARIABLE}=${record.id}`) : undefined;
  if (found !== undefined) return { supervisor: identify(found) };
  return noted === undefined ? undefined : { supervisor: undefined };
}
