// Periodically removes orphaned pods, leftovers, expired tokens and large logs.

import type { RuntimeService } from '#cri/index.ts';
import { type Clock, pause } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Csi } from './csi.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { GarbageCollector } from './garbage.ts';
import type { Leftovers } from './leftovers.ts';
import { rotateLogs } from './logs/rotate-logs.ts';
import type { Pleg } from './pleg.ts';
import type { PodHandler } from './pod-handler.ts';
import type { PodWorkers } from './pod-workers.ts';
import type { TokenManager } from './tokens.ts';
import { podUid } from './types.ts';
import type { UserNamespaces } from './user-namespaces/user-namespaces.ts';
import type { VolumeManager } from './volumes/volume-manager.ts';

export interface HousekeepingConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runtime: RuntimeService;
  readonly desired: DesiredPods;
  readonly workers: PodWorkers;
  readonly pods: PodHandler;
  readonly pleg: Pleg;
  readonly garbage: GarbageCollector;
  readonly leftovers: Leftovers;
  readonly volumes: VolumeManager;
  readonly csi: Csi;
  readonly tokens: TokenManager;
  readonly userNamespaces: UserNamespaces;
  /** Whether the kubelet writes files (see KubeletConfig). */
  readonly hostFiles: boolean;
  readonly periodMs: number;
  /** Stirs when the node's pods, or its runtime, may have changed. */
  readonly topic: string;
  /** A container's log is rotated when it is larger. */
  readonly logMaxBytes: number;
  readonly logMaxFiles: number;
}

export class Housekeeping {
  readonly #config: HousekeepingConfig;
  /** UIDs of pods whose directories are being removed. A driver of their volumes may hang. */
  readonly #removing = new Set<string>();

  constructor(config: HousekeepingConfig) {
    this.#config = config;
  }

  /**
   * Removes pods in the runtime or on the disk that are not desired. Called once, before plugins
   * register. Does nothing while not all desired pods are known: later passes do it then.
   */
  async removeOrphans(): Promise<void> {
    const { desired, pods, pleg, garbage, hostFiles, userNamespaces } = this.#config;
    if (!pods.areSourcesReady) return;
    for (const { uid } of pleg.pods()) {
      if (desired.has(uid)) continue;
      await pleg.complete(uid);
      pods.killOrphan(uid);
    }
    // No driver is registered yet that could hang: pods with its volumes are left to later passes.
    await Promise.all(await this.#removeDirectories());
    if (hostFiles) await garbage.removeOrphanedLogs((uid) => this.#isKnown(uid));
    await userNamespaces.releaseOrphans((uid) => this.#isKnown(uid));
  }

  #isKnown(uid: string): boolean {
    const { desired, pleg, workers } = this.#config;
    return desired.has(uid) || workers.state(uid) !== undefined || pleg.get(uid) !== undefined;
  }

  /** Starts to remove the directories of unknown pods, with their volumes. Returns the removals. */
  async #removeDirectories(): Promise<readonly Promise<void>[]> {
    const uids = await this.#config.garbage.podsOnDisk();
    return uids
      .filter((uid) => !this.#isKnown(uid) && !this.#removing.has(uid))
      .map((uid) => this.#removeDirectory(uid));
  }

  async #removeDirectory(uid: string): Promise<void> {
    const { volumes, logger } = this.#config;
    this.#removing.add(uid);
    try {
      await volumes.unmount(uid);
    } catch (error) {
      logger.warn('orphaned pod directory not removed', { uid, err: error });
    } finally {
      this.#removing.delete(uid);
    }
  }

  /** Repeats `run` until the signal aborts. */
  async repeat(signal: AbortSignal): Promise<void> {
    const { clock, logger, periodMs, topic, hostFiles, tokens, leftovers } = this.#config;
    let began = clock.monotonic();
    try {
      while (!signal.aborted) {
        // Files grow, tokens grow old and leftovers are tried again whether or not anything changes.
        const timeMatters = hostFiles || tokens.size > 0 || leftovers.size > 0;
        if (timeMatters) await clock.sleep(periodMs, signal);
        else await pause(clock, periodMs, began, { topic, signal });
        began = clock.monotonic();
        await this.run().catch((error: unknown) =>
          logger.warn('housekeeping failed', { err: error }),
        );
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async run(): Promise<void> {
    const { desired, pods, pleg, workers, tokens, volumes, leftovers, csi } = this.#config;
    const { userNamespaces } = this.#config;
    for (const { uid } of pods.areSourcesReady ? pleg.pods() : []) {
      if (!desired.has(uid) && workers.state(uid) === undefined) pods.killOrphan(uid);
    }
    for (const { pod, state } of workers.known()) {
      // A pod that only the runtime had, or that was deleted while it ended.
      if (state === 'finished' && !desired.has(podUid(pod))) pods.forget(podUid(pod));
    }
    await leftovers.retry();
    await userNamespaces.releaseOrphans((uid) => this.#isKnown(uid));
    for (const uid of [...tokens.due(), ...volumes.dueForRepublish()]) {
      volumes.markStale(uid);
      workers.sync(uid);
    }
    const { runtime, clock, logger, hostFiles, logMaxBytes, logMaxFiles } = this.#config;
    if (hostFiles) {
      csi.tick(volumes.growable);
      if (pods.areSourcesReady) void (await this.#removeDirectories());
      await rotateLogs({
        runtime,
        clock,
        logger,
        containers: [...pleg.pods()]
          .flatMap((status) => status.containers)
          .filter((container) => container.state === 'running'),
        maxBytes: logMaxBytes,
        maxFiles: logMaxFiles,
      });
    }
  }
}
