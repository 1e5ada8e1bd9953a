// Pods that are gone from the API and still exist in the runtime, until they are removed.

import type { Logger } from '#machinery/log.ts';
import type { GarbageCollector } from './garbage.ts';
import type { Pleg } from './pleg.ts';
import type { RuntimePodStatus } from './pod/pod-status.ts';

export interface LeftoversConfig {
  readonly garbage: GarbageCollector;
  readonly pleg: Pleg;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export class Leftovers {
  readonly #config: LeftoversConfig;
  readonly #waiting = new Map<string, RuntimePodStatus>();
  /** UIDs of pods that are being removed: a pod is removed once at a time. */
  readonly #removing = new Set<string>();

  constructor(config: LeftoversConfig) {
    this.#config = config;
  }

  /** How many pods wait to be removed. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Removes the pod in the background; a failed removal is kept for `retry`. */
  remove(status: RuntimePodStatus): void {
    this.#waiting.set(status.uid, status);
    void this.#attempt(status);
  }

  async retry(): Promise<void> {
    await Promise.all([...this.#waiting.values()].map((status) => this.#attempt(status)));
  }

  async #attempt(status: RuntimePodStatus): Promise<void> {
    const { garbage, pleg, logger, signal } = this.#config;
    const { uid } = status;
    if (this.#removing.has(uid)) return;
    this.#removing.add(uid);
    try {
      await garbage.removePod(status);
      this.#waiting.delete(uid);
      pleg.forget(uid);
    } catch (error) {
      if (!signal.aborted) logger.warn('pod not removed from the runtime', { uid, err: error });
    } finally {
      this.#removing.delete(uid);
    }
  }
}
