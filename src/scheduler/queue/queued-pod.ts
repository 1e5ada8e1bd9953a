// A pod that waits to be scheduled, with the queue's data about its attempts.

import type { Queued } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';

/**
 * The place of a pod.
 * - `active`: scheduled next.
 * - `backoff`, `errorBackoff`: becomes active after its back-off; in the latter because of an
 *   error, so that the back-off cannot be skipped.
 * - `unschedulable`: waits for an event that may help it.
 * - `gated`: the same, rejected by PreEnqueue and so never attempted.
 * - `out`: in flight, or not in the queue.
 */
export type Place = 'active' | 'backoff' | 'errorBackoff' | 'unschedulable' | 'gated' | 'out';

export class QueuedPod implements Queued {
  /** Replaced when the pod changes. */
  info: PodInfo;
  place: Place = 'out';
  timestampMs: number;
  readonly sequence: number;
  /** The number of scheduling attempts. */
  attempts = 0;
  /** When the pod first became active, on the monotonic clock. */
  initialAttemptMs: number | undefined = undefined;
  /** When the last or current attempt began, by SchedulerMetrics.now. */
  attemptStart = 0;
  /** The plugins that rejected the pod last; empty after an error. */
  unschedulablePlugins: ReadonlySet<string> = NONE;
  /** The plugins that returned Pending: their event requeues the pod without backoff. */
  pendingPlugins: ReadonlySet<string> = NONE;
  /** The pod was queued because it had waited too long, not by an event. */
  wasFlushed = false;
  /** The number of rejections. */
  unschedulableCount = 0;
  /** The number of consecutive errors. */
  consecutiveErrors = 0;
  /** When the back-off ends, on the monotonic clock. */
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
 * Returns the back-off after the last attempt in milliseconds: the initial back-off, doubled with
 * each failure up to the maximum.
 */
export function backoffMs(
  pod: Pick<QueuedPod, 'unschedulableCount' | 'consecutiveErrors'>,
  config: BackoffConfig,
): number {
  const failures = pod.consecutiveErrors > 0 ? pod.consecutiveErrors : pod.unschedulableCount;
  if (failures === 0) return 0;
  return Math.min(config.initialMs * 2 ** (failures - 1), config.maxMs);
}
