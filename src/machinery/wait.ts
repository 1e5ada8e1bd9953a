// Waiting for a condition: the only way to do it, so that every wait has a deadline, can be aborted
// and runs on a virtual clock. Meant for `import * as wait`.

import { pause, type Clock } from './clock.ts';
import type { Random } from './random.ts';

/**
 * Returns true when the wait is over, false to continue it. An error ends the wait and is thrown to
 * the waiter.
 */
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
  /** Ends the wait when it aborts. The wait rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface PollConfig extends WaitConfig {
  readonly intervalMs: number;
  /** Milliseconds. Infinity: no limit; only the signal ends the wait. */
  readonly timeoutMs: number;
}

/**
 * Checks the condition after each interval until it holds, a last time when the timeout has passed.
 * The interval runs from the end of one check to the beginning of the next. Throws
 * WaitTimeoutError, or the error of the condition.
 */
export function poll(config: PollConfig, condition: Condition): Promise<void> {
  return pollFrom(config, condition, false);
}

/** Does the same as `poll`, with an additional first check at once. */
export function pollImmediately(config: PollConfig, condition: Condition): Promise<void> {
  return pollFrom(config, condition, true);
}

/**
 * Checks the condition at once and after each interval, without a timeout. Ends when it holds or
 * the signal aborts.
 */
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
 * Calls `action` repeatedly, `periodMs` after the end of the call before, until the signal aborts;
 * resolves then. An error of the action is thrown and ends the loop. `jitterFactor`: see `jitter`.
 */
export async function until(
  config: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly periodMs: number;
    readonly jitterFactor?: number;
    /** Required with a jitterFactor. */
    readonly random?: Random;
    /**
     * Returns the topic if the next action only looks for changes: see `pause` in clock.ts.
     * Default: the action does more.
     */
    readonly looksAt?: () => string | undefined;
  },
  action: () => void | Promise<void>,
): Promise<void> {
  const { clock, signal, periodMs, jitterFactor = 0, random, looksAt } = config;
  if (jitterFactor > 0 && random === undefined)
    throw new TypeError('jitterFactor requires `random`');
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

/**
 * Returns a duration between `durationMs` and `durationMs * (1 + maxFactor)`, so that many waiters
 * do not wake at once.
 */
export function jitter(random: Random, durationMs: number, maxFactor: number): number {
  return maxFactor <= 0 ? durationMs : durationMs + random.float() * maxFactor * durationMs;
}

export interface BackoffConfig {
  /** The first delay. */
  readonly durationMs: number;
  /** The factor from one delay to the next. Default: 1. */
  readonly factor?: number;
  /** The share of itself by which each delay is lengthened at most, at random. Default: 0. */
  readonly jitter?: number;
  /** The number of delays that grow; later ones equal the last of them. Default: no limit. */
  readonly steps?: number;
  /** The longest delay before jitter. Default: no limit. */
  readonly capMs?: number;
  /** Required with a jitter. */
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
      throw new TypeError('jitter requires `random`');
    this.#config = config;
    this.#factor = config.factor ?? 1;
    this.#capMs = config.capMs ?? Number.POSITIVE_INFINITY;
    this.reset();
  }

  /** The number of delays before the series stops growing. */
  get stepsLeft(): number {
    return this.#stepsLeft;
  }

  /** Returns the next delay in milliseconds. */
  next(): number {
    const base = Math.min(this.#nextMs, this.#capMs);
    if (this.#stepsLeft > 0) {
      this.#stepsLeft--;
      if (this.#stepsLeft > 0) this.#nextMs = Math.min(base * this.#factor, this.#capMs);
    }
    const { random, jitter: factor = 0 } = this.#config;
    return random === undefined ? base : jitter(random, base, factor);
  }

  /** Restarts the series with the first delay. */
  reset(): void {
    this.#nextMs = this.#config.durationMs;
    this.#stepsLeft = this.#config.steps ?? Number.POSITIVE_INFINITY;
  }
}

/**
 * Checks the condition at once, then after each delay of the series, `backoff.steps` times in all.
 * Throws WaitTimeoutError after the last check, or the error of the condition.
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
 * Calls `action` until it succeeds. Throws the last error when `isRetriable` rejects it or the
 * series of delays ends.
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
