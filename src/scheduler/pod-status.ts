// Writes into a pod's status why the pod is not scheduled. Writes happen in the background, a few
// at a time; a pending write is replaced by a newer one for the same pod.

import { pods, type PodCondition } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Pod } from './framework/objects.ts';

export interface PodStatusWriterConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The number of writes in flight. Default: 16. */
  readonly concurrency?: number;
}

export interface NotScheduled {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** The pod's nominated node; '' removes the nomination; absent leaves it as it is. */
  readonly nominatedNode?: string;
}

interface Write {
  readonly pod: Pod;
  readonly why: NotScheduled;
}

export class PodStatusWriter {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #concurrency: number;
  /** By UID, oldest first: pending writes. */
  readonly #waiting = new Map<string, Write>();
  /** By UID: writes in flight. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(config: PodStatusWriterConfig) {
    this.#client = config.client;
    this.#clock = config.clock;
    this.#logger = config.logger;
    this.#concurrency = config.concurrency ?? 16;
  }

  /**
   * Sets the PodScheduled condition to False. Does nothing if the pod's condition is up to date.
   */
  notScheduled(pod: Pod, why: NotScheduled): void {
    this.#waiting.delete(pod.metadata.uid);
    if (patchFor(pod, why, this.#clock.now()) === undefined) return;
    this.#waiting.set(pod.metadata.uid, { pod, why });
    this.#startMore();
  }

  /**
   * Drops the pending write for this pod, and resolves when a write in flight has ended: nothing is
   * written after that.
   */
  async settle(uid: string): Promise<void> {
    this.#waiting.delete(uid);
    await this.#running.get(uid);
  }

  /**
   * Writes the nominated node into the pod's status, since its binding may take long. Resolves when
   * that is written. Never rejects.
   */
  async nominate(pod: Pod, node: string): Promise<void> {
    const { uid } = pod.metadata;
    await this.settle(uid);
    if (pod.status.nominatedNodeName === node) return;
    const run = this.#patch(pod, { metadata: { uid }, status: { nominatedNodeName: node } });
    this.#run(uid, run);
    await run;
  }

  /** Drops all pending writes. */
  stop(): void {
    this.#waiting.clear();
  }

  #startMore(): void {
    for (const [uid, write] of this.#waiting) {
      if (this.#running.size >= this.#concurrency) return;
      // At most one write per pod is in flight: the later one waits.
      if (this.#running.has(uid)) continue;
      this.#waiting.delete(uid);
      this.#run(uid, this.#write(write));
    }
  }

  /** Runs a write. No other write for the pod begins until it ends. */
  #run(uid: string, write: Promise<void>): void {
    const run = write.finally(() => {
      this.#running.delete(uid);
      this.#startMore();
    });
    this.#running.set(uid, run);
  }

  async #write({ pod, why }: Write): Promise<void> {
    await this.#patch(pod, patchFor(pod, why, this.#clock.now()));
  }

  async #patch(pod: Pod, patch: unknown): Promise<void> {
    const { name, namespace = '' } = pod.metadata;
    try {
      const resource = this.#client.resource(pods).namespace(namespace);
      await resource.patch(name, 'application/strategic-merge-patch+json', patch, {
        subresource: 'status',
      });
    } catch (error) {
      // The pod is gone, or another one has its name.
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return;
      this.#logger.warn('the status of a pod that is not scheduled could not be written', {
        pod: `${namespace}/${name}`,
        err: error,
      });
    }
  }
}

/** Returns the patch; undefined if nothing changes. `now`: milliseconds since the epoch. */
export function patchFor(pod: Pod, why: NotScheduled, now: number): unknown {
  const present = pod.status.conditions?.find((condition) => condition.type === 'PodScheduled');
  const { generation } = pod.metadata;
  const same =
    present?.status === 'False' &&
    present.reason === why.reason &&
    (present.message ?? '') === why.message &&
    present.observedGeneration === generation;
  const condition: Immutable<PodCondition> = {
    type: 'PodScheduled',
    status: 'False',
    reason: why.reason,
    message: why.message,
    ...(generation !== undefined && { observedGeneration: generation }),
    lastProbeTime: null,
    lastTransitionTime: present?.status === 'False' ? present.lastTransitionTime : formatTime(now),
  };
  const nominated = pod.status.nominatedNodeName ?? '';
  const renominated = why.nominatedNode !== undefined && why.nominatedNode !== nominated;
  if (same && !renominated) return undefined;
  return {
    // The UID ensures that a new pod with the same name is left alone.
    metadata: { uid: pod.metadata.uid },
    status: {
      ...(!same && { conditions: [condition] }),
      ...(renominated && { nominatedNodeName: why.nominatedNode || null }),
    },
  };
}
