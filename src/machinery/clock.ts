// Time for everything. This is the only file that reads the system clock or sets a timer, so that a whole
// cluster can run on a VirtualClock: a test waits a simulated day in milliseconds.

import { toMilliseconds } from './text/duration.ts';
import { KeyedHeap } from './collections/heap.ts';

/** A timer that was set. Cancelling one that has fired, or twice, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump when the system's time is set. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary origin: for durations and deadlines, never for timestamps. */
  monotonic(): number;
  /** Runs `callback` once, `delayMs` from now (0 or less: on a later turn of the event loop, never synchronously). */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Runs `callback` every `intervalMs`, first after one interval. */
  setInterval(intervalMs: number, callback: () => void): Timer;
  /** Resolves after `delayMs`; rejects with the signal's reason as soon as the signal aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay that the platform's timers take; they fire at once for a longer one. */
const MAX_PLATFORM_DELAY_MS = 2 ** 31 - 1;

/**
 * The time of this machine. A pending `setTimer` or `sleep` keeps the process alive, since something waits for it; a
 * `setInterval` does not: it is housekeeping, and housekeeping alone is no reason to stay.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    checkDelay(delayMs);
    if (delayMs <= 0) {
      // The platform's shortest timer takes a millisecond, which is long for code that only yields to others.
      const turn = setImmediate(callback);
      return { cancel: () => clearImmediate(turn) };
    }
    const deadline = performance.now() + delayMs;
    let handle: NodeJS.Timeout;
    const arm = (remaining: number): void => {
      handle = setTimeout(
        () => {
          const left = deadline - performance.now();
          // Under a millisecond is the platform's rounding, not a delay that was cut in pieces.
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
    // Too long for the platform: it could never fire twice in the life of a process that matters, but must not fire at once.
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
  /** The wall-clock time to begin at, in milliseconds since the epoch. Default: 2026-01-01T00:00:00Z. */
  readonly start?: number;
  /** How many idle turns of the event loop count as settled. Default: 2. */
  readonly settleTurns?: number;
  /**
   * Also awaited each time things have to settle, for work that turns of the event loop do not finish (threads, sockets,
   * files): resolves once that work is done. Default: nothing.
   */
  readonly settle?: () => Promise<void>;
}

interface VirtualTimer {
  readonly id: number;
  due: number;
  readonly intervalMs: number | undefined;
  readonly callback: () => void;
}

/** So many rounds of timers at one instant mean that something waits in a loop for no time at all. */
const MAX_ROUNDS_PER_INSTANT = 100_000;

/**
 * Time that moves only by `advance` and `runUntil`. Timers fire in the order in which they are due (those of one instant in the order in
 * which they were set), and after each instant everything that they set off settles (promise chains, immediates) before time
 * moves on, so that a chain of sleeps inside an `advance` takes exactly as long as it says.
 *
 * A timer with a delay of 0 or less needs no `advance`: it fires on a later turn of the event loop, as on the system clock.
 * Not promised: that work outside the event loop is done before time moves on (see `settle` in the config).
 */
export class VirtualClock implements Clock {
  #start: number;
  readonly #settleTurns: number;
  readonly #settleHook: (() => Promise<void>) | undefined;
  /** Milliseconds since the clock was made. */
  #elapsed = 0;
  #lastId = 0;
  readonly #timers = new KeyedHeap<number, VirtualTimer>({
    keyOf: (timer) => timer.id,
    less: (a, b) => a.due < b.due || (a.due === b.due && a.id < b.id),
  });
  /** Timers without delay that have not fired yet: they wait in the event loop, not in #timers. */
  #immediates = 0;
  /** Grows with everything that happens on this clock; if it stands still over a turn, nothing happened. */
  #activity = 0;
  /** The last `advance` or `runUntil`: each begins when the one before is done. */
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

  /**
   * Sets the wall-clock time, forward or back, to milliseconds since the epoch. No timer fires: timers keep their delays, up to a fraction of
   * a millisecond.
   */
  jumpTo(now: number): void {
    this.#elapsed = Math.ceil(this.#elapsed);
    this.#start = now - this.#elapsed;
  }

  /** Timers that are set and have a delay (intervals included). */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** When the next timer is due, as a wall-clock time in milliseconds; undefined if none is set. */
  get nextTimer(): number | undefined {
    const next = this.#timers.peek();
    return next === undefined ? undefined : this.#start + next.due;
  }

  /**
   * Moves time forward by `duration` (milliseconds, or text such as '10m' or '1h30m'), firing every timer that comes due on
   * the way, those set meanwhile included. Resolves when all has settled; rejects with what a timer's callback throws (time
   * then stands at that timer). Calls queue up: never await one inside a timer's callback.
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
   * Moves time forward from timer to timer until `condition` holds (looked at after each instant has settled). Rejects when
   * no timer is left that could change anything, or when `timeout` (default '24h') of virtual time has gone by.
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

  /** Lets promise chains, immediates and timers without delay run until nothing more happens on this clock. Time stands. */
  async settle(): Promise<void> {
    let idle = 0;
    while (idle < this.#settleTurns) {
      const before = this.#activity;
      if (this.#settleHook !== undefined) await this.#settleHook();
      await turn();
      idle = this.#activity === before && this.#immediates === 0 ? idle + 1 : 0;
    }
  }

  /** Fires what is due up to `target`, an instant at a time. True as soon as the condition holds. */
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
          'virtual clock: time does not move on, timers keep being set for the same instant',
        );
      }
      this.#elapsed = Math.max(this.#elapsed, next.due);
      this.#fireInstant();
      await this.settle();
    }
  }

  /** Fires the timers that are due now; those that they set for now wait for the next round. */
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
    // The next one begins whether or not this one fails; the failure belongs to this one's caller.
    this.#moving = result.catch(() => undefined);
    return result;
  }
}

/** One turn of the event loop: afterwards every promise chain that could run has run. */
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
