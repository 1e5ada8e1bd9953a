// The eviction manager: observes the node every ten seconds, and acts on what `decide` returns. At
// most one pod is evicted for a lack of resources, then its end is awaited: its resources may be
// enough.

import { type Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { describePod, podUid, type Pod } from '../types.ts';
import { admitUnderPressure } from './admission.ts';
import {
  decide,
  type Eviction,
  type EvictionPolicy,
  type EvictionState,
  INITIAL_STATE,
  isRelieved,
  type NodeReclaim,
  pressing,
  type Reclaim,
} from './decide.ts';
import type { NodeObserver } from './observer.ts';
import type { Observations } from './observations.ts';
import { isDiskSignal, type PressureCondition } from './signals.ts';
import { hasStorageLimit } from './storage-limits.ts';
import { type Threshold, withContainerFs } from './thresholds.ts';

export interface EvictionManagerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: Pick<NodeObserver, 'layout' | 'observeNode' | 'observePods'>;
  readonly thresholds: readonly Threshold[];
  readonly pressureTransitionMs: number;
  readonly maxPodGracePeriodSeconds: number;
  /** Whether limits of local storage are enforced. */
  readonly localStorageIsolation: boolean;
  readonly monitoringMs: number;
  /** Returns the pods that have containers, or are about to have some. */
  readonly activePods: () => readonly Pod[];
  /** Ends the pod, and reports it as evicted. Resolves when its containers have ended. */
  readonly evict: (eviction: Eviction, signal: AbortSignal) => Promise<void>;
  /** Reports whether the resources of the pod are free again. */
  readonly isCleanedUp: (uid: string) => boolean;
  /** Frees what no pod needs. */
  readonly reclaim: Readonly<Record<NodeReclaim, (signal: AbortSignal) => Promise<void>>>;
  /** Called before the node reclaims a resource. */
  readonly onReclaim: (reclaim: Reclaim) => void;
  readonly onConditions: () => void;
}

/** How long the manager waits for the resources of evicted pods. */
const CLEANUP_MS = 30_000;
const CLEANUP_POLL_MS = 1000;

export class EvictionManager {
  readonly #config: EvictionManagerConfig;
  #state: EvictionState = INITIAL_STATE;
  /** Undefined until the file systems are known. */
  #policy: EvictionPolicy | undefined;

  constructor(config: EvictionManagerConfig) {
    this.#config = config;
  }

  get conditions(): readonly PressureCondition[] {
    return this.#state.conditions;
  }

  /** Returns the rejection of a pod; undefined if it may run despite the node's conditions. */
  admit(pod: Pod): { readonly reason: string; readonly message: string } | undefined {
    return admitUnderPressure(pod, this.#state.conditions);
  }

  /** Repeats `synchronize` until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, monitoringMs, thresholds, localStorageIsolation } = this.#config;
    if (thresholds.length === 0 && !localStorageIsolation) return;
    while (!signal.aborted) {
      try {
        const evicted = await this.synchronize(signal);
        if (evicted.length > 0) await this.#waitForCleanup(evicted, signal);
        else await clock.sleep(monitoringMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('eviction manager: failed to synchronize', { err: error });
        await clock.sleep(monitoringMs, signal).catch(() => undefined);
      }
    }
  }

  /** Observes, decides and acts once. Returns the evicted pods. */
  async synchronize(signal: AbortSignal): Promise<readonly Pod[]> {
    const { clock, observer, activePods, logger } = this.#config;
    const policy = (this.#policy ??= await this.#makePolicy());
    const observations = await observer.observeNode(signal);
    const pods = activePods();
    const decision = decide({
      state: this.#state,
      policy,
      observations,
      pods,
      stats: await this.#observePods(policy, observations, pods, signal),
      now: clock.now(),
    });
    const before = this.#state.conditions;
    this.#state = decision.state;
    if (!sameConditions(before, decision.state.conditions)) {
      logger.info('eviction manager: node conditions changed', {
        conditions: decision.state.conditions.join(','),
      });
      this.#config.onConditions();
    }
    for (const violation of decision.violations) await this.#evict(violation, signal);
    if (decision.violations.length > 0) return decision.violations.map(({ pod }) => pod);
    if (decision.reclaim === undefined) return [];
    return await this.#reclaim(policy, decision.reclaim, signal);
  }

  async #makePolicy(): Promise<EvictionPolicy> {
    const { observer, thresholds, pressureTransitionMs, maxPodGracePeriodSeconds } = this.#config;
    const layout = await observer.layout();
    return {
      thresholds: withContainerFs(thresholds, layout),
      layout,
      pressureTransitionMs,
      maxPodGracePeriodSeconds,
    };
  }

  /**
   * Observes the pods if a threshold is met, and those with limits of their own in any case. On a
   * node at rest without such pods, the runtime is not asked.
   */
  async #observePods(
    policy: EvictionPolicy,
    observations: Observations,
    pods: readonly Pod[],
    signal: AbortSignal,
  ): ReturnType<NodeObserver['observePods']> {
    const { observer, localStorageIsolation } = this.#config;
    const met = pressing(this.#state, policy, observations);
    const limited = new Set(localStorageIsolation ? pods.filter(hasStorageLimit) : []);
    const shortOfDisk = met.some((threshold) => isDiskSignal(threshold.signal));
    const relevant = met.length > 0 ? pods : [...limited];
    if (relevant.length === 0) return new Map();
    return await observer.observePods(relevant, (pod) => shortOfDisk || limited.has(pod), signal);
  }

  async #reclaim(
    policy: EvictionPolicy,
    reclaim: Reclaim,
    signal: AbortSignal,
  ): Promise<readonly Pod[]> {
    const { logger, onReclaim, observer } = this.#config;
    const { resource, nodeLevel, eviction } = reclaim;
    logger.info('eviction manager: attempting to reclaim', { resource });
    onReclaim(reclaim);
    for (const what of nodeLevel) await this.#reclaimFromNode(what, signal);
    if (nodeLevel.length > 0 && isRelieved(policy, await observer.observeNode(signal))) {
      logger.info('eviction manager: able to reduce resource pressure without evicting pods', {
        resource,
      });
      return [];
    }
    if (eviction === undefined) {
      logger.warn('eviction manager: unable to evict any pods from the node', { resource });
      return [];
    }
    await this.#evict(eviction, signal);
    return [eviction.pod];
  }

  async #reclaimFromNode(what: NodeReclaim, signal: AbortSignal): Promise<void> {
    try {
      await this.#config.reclaim[what](signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#config.logger.warn('eviction manager: node-level reclaim failed', { what, err: error });
    }
  }

  async #evict(eviction: Eviction, signal: AbortSignal): Promise<void> {
    const { logger, evict } = this.#config;
    const pod = describePod(eviction.pod);
    logger.info('eviction manager: evicting pod', { pod, signal: eviction.signal });
    try {
      await evict(eviction, signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('eviction manager: pod failed to evict', { pod, err: errorMessage(error) });
    }
  }

  async #waitForCleanup(pods: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { clock, logger, isCleanedUp } = this.#config;
    const deadline = clock.monotonic() + CLEANUP_MS;
    while (clock.monotonic() < deadline) {
      if (pods.every((pod) => isCleanedUp(podUid(pod)))) return;
      await clock.sleep(CLEANUP_POLL_MS, signal);
    }
    logger.warn('eviction manager: timed out waiting for pods to be cleaned up', {
      pods: pods.map(describePod).join(','),
    });
  }
}

function sameConditions(a: readonly PressureCondition[], b: readonly PressureCondition[]): boolean {
  return a.length === b.length && a.every((condition) => b.includes(condition));
}
