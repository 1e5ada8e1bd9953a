// When a node's heartbeats are due, and what may make them in its place. Both kinds, the Lease and
// the unchanged status, are due on a grid of the node's own. Its phase has a fraction of a
// millisecond, so that on a virtual clock no heartbeat falls on another node's, or on an instant at
// which something else happens: their order does not depend on whether they are computed later.
//
// Many kubelets in one process share instants instead (`tickMs`): what they send then goes to the
// API server's thread as one message, and to the disk as one transaction.

import type { Clock } from '#machinery/clock.ts';
import { fnv32a } from '#machinery/text/hash.ts';

export interface Heartbeat {
  readonly kind: 'lease' | 'status';
  readonly nodeName: string;
  /** When the next one is due, on the clock's monotonic scale. */
  readonly nextDue: number;
  readonly periodMs: number;
  /** Only of a Lease. */
  readonly leaseDurationSeconds?: number;
  /** Only of a status: the version of the Node with it. */
  readonly version?: string;
}

/**
 * Makes heartbeats that say nothing new in the place of a kubelet: on a clock on which they can be
 * computed later, or together with those of other kubelets.
 */
export interface HeartbeatKeeper {
  /** Whether it makes a heartbeat without one of the kubelet before it. Default: false. */
  readonly makesFirst?: boolean;
  /**
   * Called after each heartbeat of the kubelet. Returns a function that ends it; undefined: the kubelet makes the
   * next one. Once it has ended, for whatever reason, `onReleased` gets the time of the next
   * heartbeat.
   */
  takeOver(heartbeat: Heartbeat, onReleased: (nextDue: number) => void): (() => void) | undefined;
}

/**
 * A status is due so long before the Lease: too short a time for anything to happen between them.
 */
const STATUS_LEAD_MS = 1 / 2048;

/** The times at which a node's heartbeats are due. */
export class HeartbeatGrid {
  readonly #periodMs: number;
  readonly #origin: number;
  readonly #leadMs: number;

  /**
   * `tickMs`: the heartbeats of all nodes are at multiples of it, spread over the period. Absent:
   * no two nodes share an instant.
   */
  constructor(clock: Clock, periodMs: number, nodeName: string, tickMs?: number) {
    this.#periodMs = periodMs;
    // The grid is the same whenever it is made: it begins with the epoch, and depends on the name.
    const epoch = -((clock.now() - Math.floor(clock.monotonic())) % periodMs);
    if (tickMs !== undefined) {
      const ticks = Math.max(1, Math.floor(periodMs / tickMs));
      this.#leadMs = 0;
      this.#origin = epoch + (fnv32a(nodeName) % ticks) * tickMs;
      return;
    }
    this.#leadMs = STATUS_LEAD_MS;
    const steps = Math.max(1, Math.floor(periodMs * 256));
    this.#origin = epoch + (2 * (fnv32a(nodeName) % steps) + 1) / 512;
  }

  /** Returns the first time after `now` at which a heartbeat of this kind is due. */
  after(now: number, kind: Heartbeat['kind']): number {
    const origin = kind === 'lease' ? this.#origin : this.#origin - this.#leadMs;
    return origin + (Math.floor((now - origin) / this.#periodMs) + 1) * this.#periodMs;
  }

  /** Returns a time shortly before the first heartbeat after `now`, in which nothing can happen. */
  before(now: number): number {
    return Math.min(this.after(now, 'status'), this.after(now, 'lease')) - STATUS_LEAD_MS / 2;
  }

  /** Returns the first time at or after `at` at which a status may be reported. */
  statusFrom(at: number): number {
    const next = this.after(at, 'status');
    return next - this.#periodMs >= at ? next - this.#periodMs : next;
  }
}
