// Heartbeats of many nodes as one call: kubelets that share a process have theirs at common instants
// (heartbeats.ts). A kubelet whose Lease does not exist yet makes the first renewal itself, and each
// kubelet every heartbeat that the call refuses: then it is asked to take the next one over again.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Heartbeat, HeartbeatKeeper } from './heartbeats.ts';

/** Heartbeats of one kind at one time. */
export interface HeartbeatBatch {
  readonly kind: Heartbeat['kind'];
  readonly nodes: readonly string[];
  /** Only for statuses: the `Heartbeat.version` of each node. */
  readonly versions?: readonly string[];
  /** The time that they report, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Only of Leases. */
  readonly leaseDurationSeconds?: number;
}

/**
 * Makes the heartbeats. Resolves with the nodes whose kubelets have to make the request themselves.
 * Never rejects.
 */
export type MakeHeartbeats = (batch: HeartbeatBatch) => Promise<readonly string[]>;

export interface HeartbeatBatchesConfig {
  readonly clock: Clock;
  readonly make: MakeHeartbeats;
  /** The time between two of the instants, in milliseconds. */
  readonly tickMs: number;
}

/** A heartbeat that is made here, period after period. */
interface KeptHeartbeat {
  readonly heartbeat: Heartbeat;
  readonly onReleased: (nextDue: number) => void;
  nextDue: number;
  /** When the last one here was made, on the monotonic scale. Undefined: none was. */
  madeAt: number | undefined;
  /** Absent: one is in flight. */
  instant: Instant | undefined;
  isEnded: boolean;
}

/** The heartbeats at one instant, and the timer for it. */
interface Instant {
  readonly number: number;
  readonly kept: Set<KeptHeartbeat>;
  readonly timer: Timer;
}

export class HeartbeatBatches implements HeartbeatKeeper {
  readonly makesFirst = true;
  readonly #config: HeartbeatBatchesConfig;
  /** By number. None is empty. */
  readonly #instants = new Map<number, Instant>();
  /** By node: the Leases that are renewed here, or were last. */
  readonly #latest = new Map<string, KeptHeartbeat>();
  /** The instant with the number 0, on the monotonic scale. */
  #origin: number | undefined;

  constructor(config: HeartbeatBatchesConfig) {
    this.#config = config;
  }

  takeOver(heartbeat: Heartbeat, onReleased: (nextDue: number) => void): (() => void) | undefined {
    const { kind, nodeName, nextDue, leaseDurationSeconds, version } = heartbeat;
    if ((kind === 'lease' ? leaseDurationSeconds : version) === undefined) return undefined;
    const kept: KeptHeartbeat = {
      heartbeat,
      onReleased,
      nextDue,
      madeAt: undefined,
      instant: undefined,
      isEnded: false,
    };
    if (kind === 'lease') {
      kept.madeAt = this.#latest.get(nodeName)?.madeAt;
      this.#latest.set(nodeName, kept);
    }
    this.#plan(kept);
    return () => this.#end(kept);
  }

  /**
   * Returns when a renewal of the node's Lease that was made here, and is stored, was begun last, on
   * the monotonic scale. Undefined: none was made.
   */
  renewedAt(nodeName: string): number | undefined {
    return this.#latest.get(nodeName)?.madeAt;
  }

  #plan(kept: KeptHeartbeat): void {
    const { clock, tickMs } = this.#config;
    this.#origin ??= kept.nextDue;
    // Grids of nodes may differ by a millisecond.
    const number = Math.round((kept.nextDue - this.#origin) / tickMs);
    let instant = this.#instants.get(number);
    if (instant === undefined) {
      instant = {
        number,
        kept: new Set(),
        timer: clock.setTimer(Math.max(0, kept.nextDue - clock.monotonic()), () =>
          this.#beat(number),
        ),
      };
      this.#instants.set(number, instant);
    }
    instant.kept.add(kept);
    kept.instant = instant;
  }

  #beat(number: number): void {
    const due = this.#instants.get(number)?.kept ?? [];
    this.#instants.delete(number);
    /** By duration; that of a status is undefined. */
    const alike = new Map<number | undefined, KeptHeartbeat[]>();
    for (const kept of due) {
      kept.instant = undefined;
      const { leaseDurationSeconds } = kept.heartbeat;
      const others = alike.get(leaseDurationSeconds);
      if (others === undefined) alike.set(leaseDurationSeconds, [kept]);
      else others.push(kept);
    }
    for (const batch of alike.values()) void this.#make(batch, batch[0]!.heartbeat);
  }

  /** `leaseDurationSeconds` and `kind`: of all of them. */
  async #make(
    batch: readonly KeptHeartbeat[],
    { kind, leaseDurationSeconds }: Heartbeat,
  ): Promise<void> {
    const { clock, make } = this.#config;
    const nodes = batch.map(({ heartbeat }) => heartbeat.nodeName);
    const versions = batch.flatMap(({ heartbeat }) => heartbeat.version ?? []);
    const began = clock.monotonic();
    const refused = new Set(
      await make({
        kind,
        nodes,
        atMs: clock.now(),
        ...(kind === 'status' && { versions }),
        ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }),
      }),
    );
    const now = clock.monotonic();
    for (const kept of batch) {
      const isRefused = refused.has(kept.heartbeat.nodeName);
      if (!isRefused) {
        kept.nextDue = dueAfter(now, kept);
        kept.madeAt = began;
      }
      if (kept.isEnded && kind === 'status') continue;
      if (isRefused || kept.isEnded) kept.onReleased(kept.nextDue);
      else this.#plan(kept);
    }
  }

  /**
   * A renewal in flight is awaited, so that none follows what the kubelet does next. A status in flight
   * is refused if the kubelet's next one is stored before it.
   */
  #end(kept: KeptHeartbeat): void {
    if (kept.isEnded) return;
    kept.isEnded = true;
    const { instant, heartbeat } = kept;
    if (instant !== undefined) {
      instant.kept.delete(kept);
      if (instant.kept.size === 0) {
        instant.timer.cancel();
        this.#instants.delete(instant.number);
      }
    } else if (heartbeat.kind === 'lease') return;
    kept.onReleased(kept.nextDue);
  }
}

/** Returns when the next heartbeat is due. Those that were missed meanwhile are left out. */
function dueAfter(now: number, { nextDue, heartbeat: { periodMs } }: KeptHeartbeat): number {
  const next = nextDue + periodMs;
  return next > now ? next : next + (Math.floor((now - next) / periodMs) + 1) * periodMs;
}
