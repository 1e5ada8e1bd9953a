// An index of pods that wait for an event, by the plugins that rejected them: an event visits only
// pods that it may help.

import type { QueuedPod } from './queued-pod.ts';

/** Replaces the plugin of pods that no plugin rejected. */
const NO_PLUGIN = '';

export class UnschedulablePods {
  readonly #byUid = new Map<string, QueuedPod>();
  /** Plugin → the pods that it rejected. It has no empty sets. */
  readonly #byPlugin = new Map<string, Set<QueuedPod>>();

  get size(): number {
    return this.#byUid.size;
  }

  values(): IterableIterator<QueuedPod> {
    return this.#byUid.values();
  }

  /** Adds a pod. Its plugins must not change while it is in the index. */
  add(pod: QueuedPod): void {
    this.#byUid.set(pod.info.uid, pod);
    for (const plugin of pluginsOf(pod)) {
      const pods = this.#byPlugin.get(plugin);
      if (pods === undefined) this.#byPlugin.set(plugin, new Set([pod]));
      else pods.add(pod);
    }
  }

  remove(pod: QueuedPod): void {
    if (!this.#byUid.delete(pod.info.uid)) return;
    for (const plugin of pluginsOf(pod)) {
      const pods = this.#byPlugin.get(plugin);
      pods?.delete(pod);
      if (pods?.size === 0) this.#byPlugin.delete(plugin);
    }
  }

  /**
   * Returns the pods that one of these plugins rejected, and pods that no plugin rejected, each
   * once.
   */
  refusedBy(plugins: readonly string[]): readonly QueuedPod[] {
    const sets = [NO_PLUGIN, ...plugins].flatMap((plugin) => this.#byPlugin.get(plugin) ?? []);
    if (sets.length <= 1) return sets.length === 0 ? [] : [...sets[0]!];
    const pods = new Set<QueuedPod>();
    for (const set of sets) for (const pod of set) pods.add(pod);
    return [...pods];
  }
}

function pluginsOf(pod: QueuedPod): Iterable<string> {
  if (pod.pendingPlugins.size === 0)
    return pod.unschedulablePlugins.size === 0 ? [NO_PLUGIN] : pod.unschedulablePlugins;
  return new Set([...pod.unschedulablePlugins, ...pod.pendingPlugins]);
}
