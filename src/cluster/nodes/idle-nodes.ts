// Finds nodes at which nothing has happened for some time. One timer for all nodes is set for the
// node that has been idle longest.

import type { Clock, Timer } from '#machinery/clock.ts';

export interface IdleNodesConfig {
  readonly clock: Clock;
  /** How long nothing must have happened, in milliseconds. */
  readonly idleMs: number;
  /** Called with a node that has been idle, which is forgotten. */
  readonly onIdle: (node: string) => void;
}

export class IdleNodes {
  readonly #config: IdleNodesConfig;
  /** The monotonic time of the last activity of each node, oldest first. */
  readonly #activeAt = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(config: IdleNodesConfig) {
    this.#config = config;
  }

  /** Records that something happens at the node now. The node is remembered from then on. */
  touch(node: string): void {
    this.#activeAt.delete(node);
    this.#activeAt.set(node, this.#config.clock.monotonic());
    this.#arm();
  }

  /** No node is found any more, until one is touched. */
  clear(): void {
    this.#activeAt.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    const { clock, idleMs } = this.#config;
    for (const activeAt of this.#activeAt.values()) {
      // Nodes that were touched meanwhile only make the timer fire too early.
      this.#timer = clock.setTimer(activeAt + idleMs - clock.monotonic(), () => this.#fire());
      return;
    }
  }

  #fire(): void {
    this.#timer = undefined;
    const { clock, idleMs, onIdle } = this.#config;
    const before = clock.monotonic() - idleMs;
    for (const [node, activeAt] of this.#activeAt) {
      if (activeAt > before) break;
      this.#activeAt.delete(node);
      onIdle(node);
    }
    this.#arm();
  }
}
