// Renewals of the Leases of many nodes as one call: kubelets that share a process renew at common
// instants (heartbeats.ts). A kubelet whose Lease does not exist yet makes the first renewal itself, and
// each kubelet every one that the call refuses: then it is asked to take the next one over again.

import type { Clock, Timer } from '#machinery/clock.ts';
import type { Heartbeat, HeartbeatKeeper } from './heartbeats.ts';

/** Renewals at one time. */
export interface RenewalBatch {
  readonly nodes: readonly string[];
  /** The renewTime, in milliseconds since the epoch. */
  readonly renewedMs: number;
  readonly leaseDurationSeconds: number;
}

/**
 * Renews the Leases. Resolves with the nodes whose kubelets have to make the request themselves.
 * Never rejects.
 */
export type RenewLeases = (batch: RenewalBatch) => Promise<readonly string[]>;

export interface RenewalBatchesConfig {
  readonly clock: Clock;
  readonly renew: RenewLeases;
  /** The time between two of the instants, in milliseconds. */
  readonly tickMs: number;
}

/** A Lease that is renewed here. */
interface KeptLease {
  readonly nodeName: string;
  readonly periodMs: number;
  readonly leaseDurationSeconds: number;
  readonly onReleased: (nextDue: number) => void;
  nextDue: number;
  /** When the last renewal here was made, on the monotonic scale. Undefined: none was. */
  renewedAt: number | undefined;
  /** Absent: a renewal is in flight. */
  instant: Instant | undefined;
  isEnded: boolean;
}

/** The renewals at one instant, and the timer for it. */
interface Instant {
  readonly number: number;
  readonly leases: Set<KeptLease>;
  readonly timer: Timer;
}

export class RenewalBatches implements HeartbeatKeeper {
  readonly makesFirst = true;
  readonly #config: RenewalBatchesConfig;
  /** By number. None is empty. */
  readonly #instants = new Map<number, Instant>();
  /** By node: the Leases that are renewed here, or were last. */
  readonly #latest = new Map<string, KeptLease>();
  /** The instant with the number 0, on the monotonic scale. */
  #origin: number | undefined;

  constructor(config: RenewalBatchesConfig) {
    this.#config = config;
  }

  takeOver(
    { kind, nodeName, nextDue, periodMs, leaseDurationSeconds }: Heartbeat,
    onReleased: (nextDue: number) => void,
  ): (() => void) | undefined {
    if (kind !== 'lease' || leaseDurationSeconds === undefined) return undefined;
    const lease: KeptLease = {
      nodeName,
      periodMs,
      leaseDurationSeconds,
      onReleased,
      nextDue,
      renewedAt: this.#latest.get(nodeName)?.renewedAt,
      instant: undefined,
      isEnded: false,
    };
    this.#latest.set(nodeName, lease);
    this.#plan(lease);
    return () => this.#end(lease);
  }

  /**
   * Returns when a renewal of the node's Lease that was made here, and is stored, was begun last, on
   * the monotonic scale. Undefined: none was made.
   */
  renewedAt(nodeName: string): number | undefined {
    return this.#latest.get(nodeName)?.renewedAt;
  }

  #plan(lease: KeptLease): void {
    const { clock, tickMs } = this.#config;
    this.#origin ??= lease.nextDue;
    // Grids of nodes may differ by a millisecond.
    const number = Math.round((lease.nextDue - this.#origin) / tickMs);
    let instant = this.#instants.get(number);
    if (instant === undefined) {
      instant = {
        number,
        leases: new Set(),
        timer: clock.setTimer(Math.max(0, lease.nextDue - clock.monotonic()), () =>
          this.#renew(number),
        ),
      };
      this.#instants.set(number, instant);
    }
    instant.leases.add(lease);
    lease.instant = instant;
  }

  #renew(number: number): void {
    const due = this.#instants.get(number)?.leases ?? [];
    this.#instants.delete(number);
    const byDuration = new Map<number, KeptLease[]>();
    for (const lease of due) {
      lease.instant = undefined;
      const { leaseDurationSeconds } = lease;
      const others = byDuration.get(leaseDurationSeconds);
      if (others === undefined) byDuration.set(leaseDurationSeconds, [lease]);
      else others.push(lease);
    }
    for (const [leaseDurationSeconds, leases] of byDuration)
      void this.#renewAll(leases, leaseDurationSeconds);
  }

  async #renewAll(leases: readonly KeptLease[], leaseDurationSeconds: number): Promise<void> {
    const { clock, renew } = this.#config;
    const nodes = leases.map(({ nodeName }) => nodeName);
    const began = clock.monotonic();
    const refused = new Set(await renew({ nodes, renewedMs: clock.now(), leaseDurationSeconds }));
    const now = clock.monotonic();
    for (const lease of leases) {
      const isRefused = refused.has(lease.nodeName);
      if (!isRefused) {
        lease.nextDue = dueAfter(now, lease);
        lease.renewedAt = began;
      }
      if (isRefused || lease.isEnded) lease.onReleased(lease.nextDue);
      else this.#plan(lease);
    }
  }

  /** A renewal in flight is awaited, so that none follows what the kubelet does next. */
  #end(lease: KeptLease): void {
    if (lease.isEnded) return;
    lease.isEnded = true;
    const { instant } = lease;
    if (instant === undefined) return;
    instant.leases.delete(lease);
    if (instant.leases.size === 0) {
      instant.timer.cancel();
      this.#instants.delete(instant.number);
    }
    lease.onReleased(lease.nextDue);
  }
}

/** Returns when the next renewal is due. Those that were missed meanwhile are left out. */
function dueAfter(now: number, { nextDue, periodMs }: KeptLease): number {
  const next = nextDue + periodMs;
  return next > now ? next : next + (Math.floor((now - next) / periodMs) + 1) * periodMs;
}
