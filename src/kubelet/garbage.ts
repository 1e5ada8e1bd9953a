// Deletes what pods leave behind in the runtime and on the disk.

import { existsSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { RuntimeService } from '#cri/index.ts';
import { removeTree } from '#machinery/files/directory.ts';
import type { Logger } from '#machinery/log.ts';
import { podsDir } from './paths.ts';
import type { RuntimePodStatus } from './pod/pod-status.ts';

export interface GarbageCollectorConfig {
  readonly runtime: RuntimeService;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostFiles: boolean;
}

/** The number of dead instances of each container that are kept for their logs. */
const DEAD_PER_CONTAINER = 1;

export class GarbageCollector {
  readonly #config: GarbageCollectorConfig;
  /** UIDs of pods whose ended containers are being removed. */
  readonly #removing = new Set<string>();

  constructor(config: GarbageCollectorConfig) {
    this.#config = config;
  }

  /**
   * Deletes all but the latest dead instance of each container of a running pod, and sandboxes
   * without kept containers.
   */
  async collect(status: RuntimePodStatus): Promise<void> {
    const dead = new Map<string, number>();
    const keptSandboxes = new Set<string>();
    for (const container of status.containers) {
      if (container.state === 'running') {
        keptSandboxes.add(container.sandboxId);
        continue;
      }
      const count = (dead.get(container.name) ?? 0) + 1;
      dead.set(container.name, count);
      if (count <= DEAD_PER_CONTAINER) keptSandboxes.add(container.sandboxId);
      else await this.#removeContainer(container.id, container.logPath);
    }
    for (const [index, sandbox] of status.sandboxes.entries()) {
      if (index > 0 && !sandbox.ready && !keptSandboxes.has(sandbox.id))
        await this.#attempt(() => this.#config.runtime.removePodSandbox(sandbox.id));
    }
  }

  /** Deletes what has ended of a pod that does not run any more, and keeps its directories. */
  async removeEnded(status: RuntimePodStatus): Promise<void> {
    const { runtime } = this.#config;
    if (this.#removing.has(status.uid)) return;
    this.#removing.add(status.uid);
    try {
      await this.#removeEnded(status, runtime);
    } finally {
      this.#removing.delete(status.uid);
    }
  }

  async #removeEnded(status: RuntimePodStatus, runtime: RuntimeService): Promise<void> {
    const running = new Set<string>();
    for (const { id, state, logPath, sandboxId } of status.containers) {
      if (state === 'running') running.add(sandboxId);
      else await this.#removeContainer(id, logPath);
    }
    for (const { id, ready } of status.sandboxes)
      if (!ready && !running.has(id)) await this.#attempt(() => runtime.removePodSandbox(id));
  }

  /**
   * Deletes the containers, sandboxes and logs of a pod that is gone. Rejects if something could
   * not be deleted.
   */
  async removePod(status: RuntimePodStatus): Promise<void> {
    const { runtime, podLogsDir, hostFiles } = this.#config;
    for (const sandbox of status.sandboxes) {
      await runtime.stopPodSandbox(sandbox.id);
      await runtime.removePodSandbox(sandbox.id);
    }
    for (const container of status.containers) await runtime.removeContainer(container.id);
    const logs = `${podLogsDir}/${status.namespace}_${status.name}_${status.uid}`;
    // On a node without directories, a pod without output has no log directory: a check is much
    // cheaper than a removal.
    if (status.name === '' || !existsSync(logs)) return;
    // On a simulated node no operation may take real time, and there is little to delete.
    if (hostFiles) await removeTree(logs);
    else rmSync(logs, { recursive: true, force: true });
  }

  /** Returns the UIDs of pods that have a directory on the disk. */
  async podsOnDisk(): Promise<readonly string[]> {
    if (!this.#config.hostFiles) return [];
    try {
      return await readdir(podsDir(this.#config.rootDir));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  /** Deletes logs of unknown pods. */
  async removeOrphanedLogs(isKnown: (uid: string) => boolean): Promise<void> {
    const { podLogsDir } = this.#config;
    const names = await readdir(podLogsDir).catch(() => []);
    for (const name of names) {
      const uid = name.split('_')[2];
      if (uid !== undefined && uid !== '' && !isKnown(uid)) {
        await this.#attempt(() => removeTree(`${podLogsDir}/${name}`));
      }
    }
  }

  async #removeContainer(id: string, logPath: string): Promise<void> {
    await this.#attempt(async () => {
      await this.#config.runtime.removeContainer(id);
      // One file: an asynchronous removal would only delay the pod's worker.
      if (logPath !== '') rmSync(logPath, { force: true });
    });
  }

  /** Runs a removal. A failed one is retried in the next pass. */
  async #attempt(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#config.logger.warn('garbage not removed', { err: error });
    }
  }
}
