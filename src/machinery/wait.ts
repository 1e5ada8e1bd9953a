// Waiting for something to become true: the one way to do it, so that every wait has a deadline, can be aborted and runs on
// a virtual clock. Meant for `import * as wait`.

import { pause, type Clock } from './clock.ts';
import type { Random } from './random.ts';

/** True: done. False: not yet. Throws: waiting is pointless, and the error is the waiter's. */
export type Condition = () => boolean | Promise<boolean>;

/** The condition did not hold in time. */
export class WaitTimeoutError extends Error {
  constructor(message = 'timed out waiting for the condition') {
    super(message);
    this.name = 'WaitTimeoutError';
  }
}

export interface WaitConfig {
  readonly clock: Clock;
  /** Ends the wait: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface PollConfig extends WaitConfig {
  readonly intervalMs: number;
  /** Infinity: as long as it takes, until the signal aborts. */
  readonly timeoutMs: number;
}

/**
 * Asks after one interval, then each interval, until the condition holds; the last time when the timeout is over. The
 * interval runs from the end of one call to the beginning of the next. Throws WaitTimeoutError, or what the condition throws.
 */
export function poll(config: PollConfig, condition: Condition): Promise<void> {
  return pollFrom(config, condition, false);
}

/** As `poll`, but asks at once first. */
export function pollImmediately(config: PollConfig, condition: Condition): Promise<void> {
  return pollFrom(config, condition, true);
}

/** Asks at once, then each interval, for as long as it takes: ends when the condition holds or the signal aborts. */
export function pollUntil(
  config: WaitConfig & { readonly intervalMs: number },
  condition: Condition,
): Promise<void> {
  return pollFrom({ ...config, timeoutMs: Number.POSITIVE_INFINITY }, condition, true);
}

async function pollFrom(
  config: PollConfig,
  condition: Condition,
  immediately: boolean,
): Promise<void> {
  const { clock, signal, intervalMs, timeoutMs } = config;
  if (!(intervalMs > 0))
    throw new RangeError(`an interval must be more than 0 ms, not ${intervalMs}`);
  const deadline = clock.monotonic() + timeoutMs;
  signal?.throwIfAborted();
  if (immediately && (await condition())) return;
  for (;;) {
    const left = deadline - clock.monotonic();
    if (left <= 0) throw new WaitTimeoutError();
    await clock.sleep(Math.min(intervalMs, left), signal);
    if (await condition()) return;
    signal?.throwIfAborted();
  }
}

/**
 * Calls `action` again and again, `periodMs` after each call has ended, until the signal aborts; resolves then. What the
 * action throws is thrown, so an action that may fail handles that itself. `jitterFactor`: see `jitter`.
 */
export async function until(
  config: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly periodMs: number;
    readonly jitterFactor?: number;
    /** Needed with a jitterFactor. */
    readonly random?: Random;
    /** Returns the topic of which the next action only looks for changes: see `pause` of the clock. Default: it does more. */
    readonly looksAt?: () => string | undefined;
  },
  action: () => void | Promise<void>,
): Promise<void> {
  const { clock, signal, periodMs, jitterFactor = 0, random, looksAt } = config;
  if (jitterFactor > 0 && random === undefined)
    throw new TypeError('a jitterFactor needs a source of randomness');
  while (!signal.aborted) {
    const began = clock.monotonic();
    await action();
    if (signal.aborted) return;
    const delayMs = random === undefined ? periodMs : jitter(random, periodMs, jitterFactor);
    try {
      const topic = looksAt?.();
      if (topic === undefined) await clock.sleep(delayMs, signal);
      else await pause(clock, delayMs, began, { topic, signal });
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
  }
}

/** A duration between `durationMs` and `durationMs * (1 + maxFactor)`, so that many waiters do not all wake at once. */
export function jitter(random: Random, durationMs: number, maxFactor: number): number {
  return maxFactor <= 0 ? durationMs : durationMs + random.float() * maxFactor * durationMs;
}

export interface BackoffConfig {
  /** The first delay. */
  readonly durationMs: number;
  /** Each delay is the one before times this. Default: 1. */
  readonly factor?: number;
  /** Each delay is lengthened by up to this share of itself, at random. Default: 0. */
  readonly jitter?: number;
  /** How many delays grow; the ones after them stay as long as the last. Default: no limit. */
  readonly steps?: number;
  /** The longest delay before jitter. Default: no limit. */
  readonly capMs?: number;
  /** Needed with a jitter. */
  readonly random?: Random;
}

/** A series of growing delays. */
export class Backoff {
  readonly #config: BackoffConfig;
  readonly #factor: number;
  readonly #capMs: number;
  #nextMs = 0;
  #stepsLeft = 0;

  constructor(config: BackoffConfig) {
    if ((config.jitter ?? 0) > 0 && config.random === undefined)
      throw new TypeError('a jitter needs a source of randomness');
    this.#config = config;
    this.#factor = config.factor ?? 1;
    this.#capMs = config.capMs ?? Number.POSITIVE_INFINITY;
    this.reset();
  }

  /** How many delays are still to come before the series stands still. */
  get stepsLeft(): number {
    return this.#stepsLeft;
  }

  /** The next delay in milliseconds. */
  next(): number {
    const base = Math.min(this.#nextMs, this.#capMs);
    if (this.#stepsLeft > 0) {
      this.#stepsLeft--;
      if (this.#stepsLeft > 0) this.#nextMs = Math.min(base * this.#factor, this.#capMs);
    }
    const { random, jitter: factor = 0 } = this.#config;
    return random === undefined ? base : jitter(random, base, factor);
  }

  /** Begins again with the first delay. */
  reset(): void {
    this.#nextMs = this.#config.durationMs;
    this.#stepsLeft = this.#config.steps ?? Number.POSITIVE_INFINITY;
  }
}

/**
 * Asks at once, then after each delay of the series, `backoff.steps` times in all (which must be given here). Throws
 * WaitTimeoutError after the last, or what the condition throws.
 */
export async function exponentialBackoff(
  config: WaitConfig & { readonly backoff: BackoffConfig & { readonly steps: number } },
  condition: Condition,
): Promise<void> {
  const backoff = new Backoff(config.backoff);
  for (let left = config.backoff.steps; left > 0; left--) {
    config.signal?.throwIfAborted();
    if (await condition()) return;
    if (left > 1) await config.clock.sleep(backoff.next(), config.signal);
  }
  throw new WaitTimeoutError();
}

/**
 * Calls `action` until it does not throw, or throws what `isRetriable` refuses, or the series of delays is over (the last
 * error is thrown then).
 */
export async function retryOnError<T>(
  config: WaitConfig & { readonly backoff: BackoffConfig & { readonly steps: number } },
  isRetriable: (error: unknown) => boolean,
  action: () => T | Promise<T>,
): Promise<T> {
  const backoff = new Backoff(config.backoff);
  for (let left = config.backoff.steps; ; left--) {
    config.signal?.throwIfAborted();
    try {
      return await action();
    } catch (error) {
      if (left <= 1 || !isRetriable(error)) throw error;
    }
    await config.clock.sleep(backoff.next(), config.signal);
  }
}
