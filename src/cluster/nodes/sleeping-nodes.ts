// Nodes of a copied cluster whose kubelets have nothing to do. A kubelet costs nothing until it
// begins: shortly before its next heartbeat, when its Node or a pod of it changes, or when something
// connects to it. A kubelet that begins takes over silently (see KubeletConfig.takesOver), so that
// clients cannot see whether it has slept.

import { HeartbeatGrid } from '#kubelet/node/heartbeats.ts';
import { NODE_CHECK_MS } from '#kubelet/config.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Simulation } from '#simulation/index.ts';

export interface SleepingNodesConfig {
  readonly names: ReadonlySet<string>;
  /**
   * Calls `onChange` with each node that has changed, or whose pods have. Resolves when the signal
   * aborts.
   */
  readonly watch: (onChange: (node: string) => void, signal: AbortSignal) => Promise<void>;
}

interface Config extends SleepingNodesConfig {
  readonly clock: Clock;
  readonly simulation: Simulation | undefined;
  /** Ends everything. */
  readonly signal: AbortSignal;
  /** Starts the kubelet of a node. */
  readonly begin: (node: string) => Promise<void>;
  readonly onError: (error: Error) => void;
}

export class SleepingNodes {
  readonly #config: Config;
  /** By node that is asleep: the timer of its next heartbeat, once it is set. */
  readonly #asleep = new Map<string, Timer | undefined>();
  /** Kubelets that are beginning. */
  readonly #waking = new Map<string, Promise<void>>();
  readonly #watching = new AbortController();

  constructor(config: Config) {
    this.#config = config;
    for (const name of config.names) this.#asleep.set(name, undefined);
    config.signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  has(node: string): boolean {
    return this.#asleep.has(node);
  }

  names(): readonly string[] {
    return [...this.#asleep.keys()];
  }

  /** Once: nodes are woken from now on. */
  start(): void {
    const { clock, simulation, watch, onError } = this.#config;
    if (this.#asleep.size === 0) return;
    const now = clock.monotonic();
    const wake = (node: string): void => void this.wake(node)?.catch(onError);
    for (const node of this.#asleep.keys()) {
      const due = new HeartbeatGrid(clock, NODE_CHECK_MS, node).before(now);
      this.#asleep.set(
        node,
        clock.setTimer(due - now, () => wake(node)),
      );
      simulation?.register(kubeletOf(node), async (down) => {
        await this.forget(node);
        await down();
        if (!this.#config.signal.aborted) await this.#begin(node);
      });
    }
    watch(wake, this.#watching.signal).catch(onError);
  }

  /** Resolves when the kubelet has begun. Undefined: the node is awake. */
  wake(node: string): Promise<void> | undefined {
    if (this.#leave(node)) {
      const { simulation } = this.#config;
      const ended = simulation?.spare(kubeletOf(node));
      const waking = this.#begin(node).finally(() => {
        ended?.();
        this.#waking.delete(node);
      });
      this.#waking.set(node, waking);
    }
    return this.#waking.get(node);
  }

  /** The node is not woken any more. Resolves when it is not being woken, either. */
  async forget(node: string): Promise<void> {
    this.#leave(node);
    await this.#waking.get(node);
  }

  #begin(node: string): Promise<void> {
    return this.#config.begin(node);
  }

  /** Reports whether the node was asleep. */
  #leave(node: string): boolean {
    this.#asleep.get(node)?.cancel();
    const slept = this.#asleep.delete(node);
    if (this.#asleep.size === 0) this.#watching.abort();
    return slept;
  }

  #end(): void {
    for (const timer of this.#asleep.values()) timer?.cancel();
    this.#asleep.clear();
    this.#watching.abort();
  }
}

const kubeletOf = (node: string): string => `kubelet/${node}`;
