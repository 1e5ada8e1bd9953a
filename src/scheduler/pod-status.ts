// Tells a pod's status why the pod is not scheduled. Writing goes on behind the scheduler's back, a
// few at a time; while a write waits, a newer one for the same pod takes its place.

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
  /** Writes under way at once. Default: 16. */
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
  /** By UID, oldest first: not begun yet. */
  readonly #waiting = new Map<string, Write>();
  /** By UID: under way. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(config: PodStatusWriterConfig) {
    this.#client = config.client;
    this.#clock = config.clock;
    this.#logger = config.logger;
    this.#concurrency = config.concurrency ?? 16;
  }

  /**
   * Sets the PodScheduled condition to False. Does nothing if the pod, as given, says the same
   * already.
   */
  notScheduled(pod: Pod, why: NotScheduled): void {
    this.#waiting.delete(pod.metadata.uid);
    if (patchFor(pod, why, this.#clock.now()) === undefined) return;
    this.#waiting.set(pod.metadata.uid, { pod, why });
    this.#startMore();
  }

  /**
   * Drops what is not begun for this pod, and resolves when what is under way has ended: nothing is
   * written after that.
   */
  async settle(uid: string): Promise<void> {
    this.#waiting.delete(uid);
    await this.#running.get(uid);
  }

  /**
   * Tells the pod which node it is going to get: it may take a while until it is bound. Resolves
   * when that is written. Never rejects.
   */
  async nominate(pod: Pod, node: string): Promise<void> {
    const { uid } = pod.metadata;
    await this.settle(uid);
    if (pod.status.nominatedNodeName === node) return;
    const run = this.#patch(pod, { metadata: { uid }, status: { nominatedNodeName: node } });
    this.#run(uid, run);
    await run;
  }

  /** Drops everything that is not begun. */
  stop(): void {
    this.#waiting.clear();
  }

  #startMore(): void {
    for (const [uid, write] of this.#waiting) {
      if (this.#running.size >= this.#concurrency) return;
      // One at a time for one pod: the later one waits for its turn.
      if (this.#running.has(uid)) continue;
      this.#waiting.delete(uid);
      this.#run(uid, this.#write(write));
    }
  }

  /** Nothing else is written for the pod until it ends. */
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

/** Undefined if there is nothing to change. `now`: milliseconds since the epoch. */
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
    // With the UID, a pod of the same name that has come since is left alone.
    metadata: { uid: pod.metadata.uid },
    status: {
      ...(!same && { conditions: [condition] }),
      ...(renominated && { nominatedNodeName: why.nominatedNode || null }),
    },
  };
}
