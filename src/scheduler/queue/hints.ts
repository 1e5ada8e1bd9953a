// Decides which events requeue a rejected pod, by the registrations of the plugins that rejected
// it.

import type { Logger } from '#machinery/log.ts';
import {
  type ClusterEvent,
  type ClusterEventWithHint,
  type EventObjects,
  isWildcard,
  matchesEvent,
} from '../framework/events.ts';
import type { SchedulerMetrics } from '../metrics/scheduler-metrics.ts';
import type { QueuedPod } from './queued-pod.ts';

/** Profile name → plugin name → its registrations. */
export type EventRegistrations = ReadonlyMap<
  string,
  ReadonlyMap<string, readonly ClusterEventWithHint[]>
>;

/**
 * `skip`: leaves the pod in its place. `afterBackoff`: queues it when its back-off is over.
 * `immediately`: queues it now.
 */
export type Requeue = 'skip' | 'afterBackoff' | 'immediately';

export class QueueingHints {
  readonly #registrations: EventRegistrations;
  readonly #logger: Logger;
  readonly #metrics: SchedulerMetrics | undefined;
  /**
   * Resource and action of an event → the plugins of any profile that registered for it. Filled on
   * demand.
   */
  readonly #interested = new Map<string, readonly string[]>();

  constructor(registrations: EventRegistrations, logger: Logger, metrics?: SchedulerMetrics) {
    this.#registrations = registrations;
    this.#logger = logger;
    this.#metrics = metrics;
  }

  /** Returns the plugins whose rejections the event may change. */
  interestedPlugins(event: ClusterEvent): readonly string[] {
    const key = `${event.resource} ${event.action}`;
    let plugins = this.#interested.get(key);
    if (plugins === undefined) {
      const names = new Set<string>();
      for (const byPlugin of this.#registrations.values()) {
        for (const [plugin, registered] of byPlugin) {
          if (registered.some((registration) => matchesEvent(registration.event, event)))
            names.add(plugin);
        }
      }
      plugins = [...names];
      this.#interested.set(key, plugins);
    }
    return plugins;
  }

  /** Returns whether the event may have made the pod schedulable. */
  worthRequeuing(pod: QueuedPod, event: ClusterEvent, objects: EventObjects): Requeue {
    // No plugin rejected it: an error occurred, and only a retry can help.
    if (pod.unschedulablePlugins.size === 0 && pod.pendingPlugins.size === 0) return 'afterBackoff';
    if (isWildcard(event)) {
      // If the event has a pod, it is meant for that pod only.
      const target = objects.after as { readonly metadata?: { readonly uid?: string } } | undefined;
      return target === undefined || target.metadata?.uid === pod.info.uid
        ? 'afterBackoff'
        : 'skip';
    }
    for (const plugin of pod.pendingPlugins)
      if (this.#helps(plugin, pod, event, objects)) return 'immediately';
    for (const plugin of pod.unschedulablePlugins)
      if (this.#helps(plugin, pod, event, objects)) return 'afterBackoff';
    return 'skip';
  }

  #helps(plugin: string, pod: QueuedPod, event: ClusterEvent, objects: EventObjects): boolean {
    const profile = pod.info.pod.spec.schedulerName ?? '';
    for (const { event: registered, hint } of this.#registrations.get(profile)?.get(plugin) ?? []) {
      if (!matchesEvent(registered, event)) continue;
      const start = this.#metrics?.now() ?? 0;
      try {
        const helps = hint === undefined || hint(pod.info.pod, objects);
        this.#metrics?.hintAnswered(plugin, event.label, helps ? 'Queue' : 'QueueSkip', start);
        if (helps) return true;
      } catch (error) {
        this.#metrics?.hintAnswered(plugin, event.label, 'Error', start);
        this.#logger.error('a queueing hint failed; the pod is queued, so that it is not lost', {
          plugin,
          event: event.label,
          pod: pod.info.key,
          err: error,
        });
        return true;
      }
    }
    return false;
  }
}
