// The interface of clocks, and what components may do with one besides waiting.

/** A timer that was set. Cancelling has no effect after it has fired or was cancelled. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /**
   * Returns the wall-clock time in milliseconds since the epoch. It may jump when the system's time
   * is set.
   */
  now(): number;
  /**
   * Returns monotonic milliseconds from an arbitrary origin: for durations and deadlines, not for
   * timestamps.
   */
  monotonic(): number;
  /**
   * Runs `callback` once, after `delayMs`. With 0 or less it runs in a later turn of the event
   * loop, never synchronously.
   */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Runs `callback` every `intervalMs`, first after one interval. */
  setInterval(intervalMs: number, callback: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
  /** Implements `setPoll`, `pause` and `stir`. Absent: every period elapses. */
  readonly polls?: Polls;
  /**
   * Resolves when nothing more can happen before something else moves the time, so that waiting for
   * a timer would be in vain. Absent: time moves by itself.
   */
  readonly atRest?: () => Promise<void>;
}

/** Periodic work that a lazy clock may skip while nothing changes. */
export interface Polls {
  setPoll(intervalMs: number, callback: () => void, options: PollOptions): Timer;
  pause(periodMs: number, since: number, options: PauseOptions): Promise<void>;
  stir(topic: string): void;
  addBackground(background: Background): () => void;
  /** Disables skipping until the returned function is called. */
  keepAwake(): () => void;
}

/**
 * Writes, or other effects, that depend on the time only. A clock catches up on them when it stops,
 * before timers fire.
 */
export interface Background {
  /** The monotonic time at which the next effect is due; infinite if there is none. */
  readonly nextDue: number;
  /** Performs all effects that are due up to `now`. */
  catchUp(now: number): void;
  /**
   * Reports whether an effect has been read since the last call of this function. If it has, the
   * clock stops at each effect.
   */
  takeRead(): boolean;
}

export interface PollOptions {
  /** The topic of the changes that the work looks for: see `stir`. Default: ANYTHING. */
  readonly topic?: string;
  /**
   * Reports whether the work also depends on the time, so that the next call must not be skipped.
   * Default: it does not.
   */
  readonly mustRun?: () => boolean;
}

export interface PauseOptions {
  readonly topic?: string;
  readonly signal?: AbortSignal;
}

/**
 * The topic of work that looks at any object of the API. Heartbeats of nodes do not stir it (see
 * storage/mvcc/beats.ts).
 */
export const ANYTHING = 'anything';
/** The topic of work that looks at the resources that the API server serves. */
export const DISCOVERY = 'discovery';

/**
 * Does the same as `clock.setInterval`, for work that only looks for changes and has no effect
 * without them. A lazy VirtualClock skips calls until the topic stirs. Later calls are at the times
 * that they would have had without skipping.
 */
export function setPoll(
  clock: Clock,
  intervalMs: number,
  callback: () => void,
  options: PollOptions = {},
): Timer {
  const { polls } = clock;
  return polls?.setPoll(intervalMs, callback, options) ?? clock.setInterval(intervalMs, callback);
}

/**
 * Does the same as `clock.sleep`, for a loop that looks for changes once per period. A lazy
 * VirtualClock prolongs the pause by whole periods until the topic stirs. It does not prolong the
 * pause if the topic has stirred since `since`, the monotonic time at which the loop began to look.
 */
export function pause(
  clock: Clock,
  periodMs: number,
  since: number,
  options: PauseOptions = {},
): Promise<void> {
  return clock.polls?.pause(periodMs, since, options) ?? clock.sleep(periodMs, options.signal);
}

/** Reports a change that work of the topic may have to notice. */
export function stir(clock: Clock, topic: string): void {
  clock.polls?.stir(topic);
}
