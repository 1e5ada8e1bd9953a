// A pod that waits to be scheduled, with what the queue remembers of its attempts.

import type { Queued } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';

/**
 * Where a pod is. `active`: next to be scheduled. `backoff` and `errorBackoff`: becomes active when
 * its backoff is over; the second holds those that came back because something broke, which must
 * wait that long in any case. `unschedulable`: waits for an event that may help it. `gated`: the
 * same, refused by PreEnqueue, so that it has not been tried at all. `out`: with the scheduler, or
 * nowhere.
 */
export type Place = 'active' | 'backoff' | 'errorBackoff' | 'unschedulable' | 'gated' | 'out';

export class QueuedPod implements Queued {
  /** Replaced when the pod changes. */
  info: PodInfo;
  place: Place = 'out';
  timestampMs: number;
  readonly sequence: number;
  /** How often it has been taken out to be scheduled. */
  attempts = 0;
  /** When it first became active, on the monotonic clock. */
  initialAttemptMs: number | undefined = undefined;
  /** When the attempt began that is under way or was the last, as SchedulerMetrics.now says. */
  attemptStart = 0;
  /** The plugins that refused it last; empty if something broke instead. */
  unschedulablePlugins: ReadonlySet<string> = NONE;
  /** The plugins that returned Pending: their event requeues the pod without backoff. */
  pendingPlugins: ReadonlySet<string> = NONE;
  /** No event has brought it to its attempt: it had waited too long for one. */
  wasFlushed = false;
  /** How often it was refused. */
  unschedulableCount = 0;
  /** How often in a row something broke. */
  consecutiveErrors = 0;
  /** When its backoff is over, on the monotonic clock. */
  backoffUntilMs = 0;

  constructor(info: PodInfo, timestampMs: number, sequence: number) {
    this.info = info;
    this.timestampMs = timestampMs;
    this.sequence = sequence;
  }
}

export const NONE: ReadonlySet<string> = new Set();

export interface BackoffConfig {
  readonly initialMs: number;
  readonly maxMs: number;
}

/**
 * How long a pod has to wait after its last attempt: the initial backoff, doubled with each failure
 * up to the longest.
 */
export function backoffMs(
  pod: Pick<QueuedPod, 'unschedulableCount' | 'consecutiveErrors'>,
  config: BackoffConfig,
): number {
  const failures = pod.consecutiveErrors > 0 ? pod.consecutiveErrors : pod.unschedulableCount;
  if (failures === 0) return 0;
  return Math.min(config.initialMs * 2 ** (failures - 1), config.maxMs);
}
