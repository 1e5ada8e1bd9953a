// Pods that wait for Permit: their node is chosen, but their binding waits until every plugin that
// returned Wait has allowed it.

import type { Clock, Timer } from '#machinery/clock.ts';
import { formatDuration } from '#machinery/text/duration.ts';
import type { PodInfo } from './pod-info.ts';
import { Status } from './status.ts';

/** A pod that waits in Permit. Plugins allow or reject it. */
export class WaitingPod {
  readonly pod: PodInfo;
  /**
   * Resolves with undefined once all plugins have allowed it, with a status after a rejection or
   * the timeout.
   */
  readonly done: Promise<Status | undefined>;
  readonly #pending = new Map<string, Timer>();
  #resolve: (status: Status | undefined) => void = () => undefined;

  /**
   * Creates a waiting pod. `timeouts`: how long each plugin may delay the pod, in milliseconds. Not
   * empty.
   */
  constructor(pod: PodInfo, timeouts: ReadonlyMap<string, number>, clock: Clock) {
    this.pod = pod;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    for (const [plugin, timeoutMs] of timeouts) {
      const message = `rejected due to timeout after waiting ${formatDuration(timeoutMs)} at plugin ${plugin}`;
      const expire = (): void => this.reject(plugin, message);
      this.#pending.set(plugin, clock.setTimer(timeoutMs, expire));
    }
  }

  /** The plugins that have not allowed the pod yet. */
  get pendingPlugins(): readonly string[] {
    return [...this.#pending.keys()];
  }

  allow(plugin: string): void {
    this.#pending.get(plugin)?.cancel();
    if (this.#pending.delete(plugin) && this.#pending.size === 0) this.#resolve(undefined);
  }

  reject(plugin: string, message: string): void {
    if (this.#pending.size === 0) return;
    for (const timer of this.#pending.values()) timer.cancel();
    this.#pending.clear();
    this.#resolve(new Status('Unschedulable', [message], plugin));
  }
}

export class WaitingPods {
  readonly #byUid = new Map<string, WaitingPod>();

  add(pod: WaitingPod): void {
    this.#byUid.set(pod.pod.uid, pod);
    void pod.done.then(() => this.#byUid.delete(pod.pod.uid));
  }

  get(uid: string): WaitingPod | undefined {
    return this.#byUid.get(uid);
  }

  values(): readonly WaitingPod[] {
    return [...this.#byUid.values()];
  }
}
