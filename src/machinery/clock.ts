// Time for all components. This file alone reads the system clock and sets timers, so a whole
// cluster can run on a VirtualClock: a test waits a simulated day in milliseconds.

import { toMilliseconds } from './text/duration.ts';
import { KeyedHeap } from './collections/heap.ts';

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
}

/** The longest delay of the platform's timers. They fire at once for a longer one. */
const MAX_PLATFORM_DELAY_MS = 2 ** 31 - 1;

/**
 * The time of this machine. A pending `setTimer` or `sleep` keeps the process alive. A
 * `setInterval` does not: periodic housekeeping alone is not a reason to keep running.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    checkDelay(delayMs);
    if (delayMs <= 0) {
      // The platform's shortest timer takes a millisecond, which is long for code that only yields.
      const turn = setImmediate(callback);
      return { cancel: () => clearImmediate(turn) };
    }
    const deadline = performance.now() + delayMs;
    let handle: NodeJS.Timeout;
    const arm = (remaining: number): void => {
      handle = setTimeout(
        () => {
          const left = deadline - performance.now();
          // A rest below a millisecond is the platform's rounding; a longer one is the next piece
          // of a long delay.
          if (left >= 1) arm(left);
          else callback();
        },
        Math.min(Math.max(remaining, 0), MAX_PLATFORM_DELAY_MS),
      );
    };
    arm(delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
  setInterval(intervalMs, callback) {
    checkInterval(intervalMs);
    if (intervalMs <= MAX_PLATFORM_DELAY_MS) {
      const handle = setInterval(callback, intervalMs);
      handle.unref();
      return { cancel: () => clearInterval(handle) };
    }
    // An interval that is too long for the platform's timers must not fire at once.
    let handle: NodeJS.Timeout;
    let due = performance.now() + intervalMs;
    const arm = (): void => {
      handle = setTimeout(
        () => {
          if (due - performance.now() < 1) {
            due += intervalMs;
            callback();
          }
          arm();
        },
        Math.min(Math.max(due - performance.now(), 1), MAX_PLATFORM_DELAY_MS),
      );
      handle.unref();
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
  sleep(delayMs, signal) {
    return sleepOn(systemClock, delayMs, signal);
  },
};

export interface VirtualClockConfig {
  /**
   * The wall-clock time at the beginning, in milliseconds since the epoch. Default:
   * 2026-01-01T00:00:00Z.
   */
  readonly start?: number;
  /**
   * The number of idle turns of the event loop after which the clock counts as settled. Default: 2.
   */
  readonly settleTurns?: number;
  /**
   * Resolves when work outside the event loop (threads, sockets, files) is done. Awaited each time
   * the clock settles. Default: no such work.
   */
  readonly settle?: () => Promise<void>;
}

interface VirtualTimer {
  readonly id: number;
  due: number;
  readonly intervalMs: number | undefined;
  readonly callback: () => void;
}

/** More rounds of timers than this at one instant mean an endless loop without delay. */
const MAX_ROUNDS_PER_INSTANT = 100_000;

/**
 * A clock that moves only by `advance` and `runUntil`.
 *
 * Timers fire in the order in which they are due; timers of the same instant fire in the order in
 * which they were set. After each instant the clock lets promise chains and immediates settle
 * before time moves on. A chain of sleeps inside an `advance` therefore takes exactly its nominal
 * time.
 *
 * A timer with a delay of 0 or less needs no `advance`: it fires in a later turn of the event
 * loop, as on the system clock. Not guaranteed: that work outside the event loop is done before
 * time moves on (see `settle` in the config).
 */
export class VirtualClock implements Clock {
  readonly #start: number;
  readonly #settleTurns: number;
  readonly #settleHook: (() => Promise<void>) | undefined;
  /** Milliseconds since the clock was created. */
  #elapsed = 0;
  #lastId = 0;
  readonly #timers = new KeyedHeap<number, VirtualTimer>({
    keyOf: (timer) => timer.id,
    less: (a, b) => a.due < b.due || (a.due === b.due && a.id < b.id),
  });
  /**
   * The number of timers without delay that have not fired yet. They wait in the event loop, not in
   * #timers.
   */
  #immediates = 0;
  /** Grows with each event on this clock. If it is unchanged after a turn, the turn was idle. */
  #activity = 0;
  /** The last `advance` or `runUntil`. The next one starts when it has finished. */
  #moving: Promise<void> = Promise.resolve();

  constructor(config: VirtualClockConfig = {}) {
    this.#start = config.start ?? Date.UTC(2026, 0, 1);
    this.#settleTurns = config.settleTurns ?? 2;
    this.#settleHook = config.settle;
  }

  now(): number {
    return this.#start + Math.floor(this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    checkDelay(delayMs);
    this.#activity++;
    if (delayMs <= 0) return this.#setImmediate(callback);
    return this.#add({
      id: ++this.#lastId,
      due: this.#elapsed + delayMs,
      intervalMs: undefined,
      callback,
    });
  }

  setInterval(intervalMs: number, callback: () => void): Timer {
    checkInterval(intervalMs);
    this.#activity++;
    return this.#add({ id: ++this.#lastId, due: this.#elapsed + intervalMs, intervalMs, callback });
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, delayMs, signal);
  }

  /** The number of timers with a delay that are set, intervals included. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * The wall-clock time, in milliseconds, at which the next timer is due; undefined if none is set.
   */
  get nextTimer(): number | undefined {
    const next = this.#timers.peek();
    return next === undefined ? undefined : this.#start + next.due;
  }

  /**
   * Moves time forward by `duration` (milliseconds, or text such as '10m' or '1h30m') and fires
   * every timer that comes due, also timers set meanwhile. Resolves when everything has settled.
   * Rejects with the error of a timer's callback; time then stays at that timer. Calls run one
   * after the other, so a timer's callback must not await one.
   */
  advance(duration: number | string): Promise<void> {
    const delayMs = toMilliseconds(duration);
    checkDelay(delayMs);
    if (delayMs < 0) throw new RangeError('a clock cannot go back');
    return this.#enqueue(async () => {
      const target = this.#elapsed + delayMs;
      await this.settle();
      await this.#fireUpTo(target, undefined);
      this.#elapsed = Math.max(this.#elapsed, target);
      await this.settle();
    });
  }

  /**
   * Moves time forward from timer to timer until `condition` holds. The condition is checked after
   * each instant has settled. Rejects when no timer is left, or after `timeout` (default '24h') of
   * virtual time.
   */
  runUntil(
    condition: () => boolean | Promise<boolean>,
    timeout: number | string = '24h',
  ): Promise<void> {
    const limitMs = toMilliseconds(timeout);
    return this.#enqueue(async () => {
      const deadline = this.#elapsed + limitMs;
      await this.settle();
      if (await this.#fireUpTo(deadline, condition)) return;
      throw new Error(
        this.#timers.size === 0
          ? 'virtual clock: the condition does not hold, and no timer is set that could change it'
          : `virtual clock: the condition did not hold within ${limitMs} ms of virtual time`,
      );
    });
  }

  /**
   * Lets promise chains, immediates and timers without delay run until this clock is idle. Time
   * does not move.
   */
  async settle(): Promise<void> {
    let idle = 0;
    while (idle < this.#settleTurns) {
      const before = this.#activity;
      if (this.#settleHook !== undefined) await this.#settleHook();
      await turn();
      idle = this.#activity === before && this.#immediates === 0 ? idle + 1 : 0;
    }
  }

  /**
   * Fires the timers that are due up to `target`, one instant at a time. Returns true as soon as
   * the condition holds.
   */
  async #fireUpTo(
    target: number,
    condition: (() => boolean | Promise<boolean>) | undefined,
  ): Promise<boolean> {
    let rounds = 0;
    for (;;) {
      if (condition !== undefined && (await condition())) return true;
      const next = this.#timers.peek();
      if (next === undefined || next.due > target) return false;
      if (next.due > this.#elapsed) rounds = 0;
      else if (++rounds > MAX_ROUNDS_PER_INSTANT) {
        throw new Error(
          'virtual clock: time does not advance, because timers are set for the same instant repeatedly',
        );
      }
      this.#elapsed = Math.max(this.#elapsed, next.due);
      this.#fireInstant();
      await this.settle();
    }
  }

  /**
   * Fires the timers that are due now. Timers that their callbacks set for now wait for the next
   * round.
   */
  #fireInstant(): void {
    const lastId = this.#lastId;
    for (;;) {
      const next = this.#timers.peek();
      if (next === undefined || next.due > this.#elapsed || next.id > lastId) return;
      if (next.intervalMs === undefined) this.#timers.pop();
      else this.#timers.put({ ...next, due: next.due + next.intervalMs });
      this.#activity++;
      next.callback();
    }
  }

  #add(timer: VirtualTimer): Timer {
    this.#timers.put(timer);
    return { cancel: () => void this.#timers.delete(timer.id) };
  }

  #setImmediate(callback: () => void): Timer {
    this.#immediates++;
    const handle = setImmediate(() => {
      pending = false;
      this.#immediates--;
      this.#activity++;
      callback();
    });
    let pending = true;
    return {
      cancel: () => {
        if (!pending) return;
        pending = false;
        this.#immediates--;
        clearImmediate(handle);
      },
    };
  }

  #enqueue(move: () => Promise<void>): Promise<void> {
    const result = this.#moving.then(move);
    // A failure belongs to the caller of this call; the next call starts anyway.
    this.#moving = result.catch(() => undefined);
    return result;
  }
}

/** Waits for one turn of the event loop. Every promise chain that could run has run then. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function sleepOn(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function checkDelay(delayMs: number): void {
  if (Number.isNaN(delayMs)) throw new RangeError('a delay must be a number of milliseconds');
}

function checkInterval(intervalMs: number): void {
  if (!(intervalMs > 0))
    throw new RangeError(`an interval must be more than 0 ms, not ${intervalMs}`);
}
