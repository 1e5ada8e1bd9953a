// Time that moves only when a test, or a simulation, moves it.

import { KeyedHeap } from '../collections/heap.ts';
import { pendingWork } from '../pending-work.ts';
import { toMilliseconds } from '../text/duration.ts';
import { checkDelay, checkInterval, sleepOn } from './delays.ts';
import { ANYTHING, type Background, type Clock, type Polls, type Timer } from './interface.ts';

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
  /** Skip work that `setPoll` and `pause` repeat while nothing stirs. Default: false. */
  readonly lazy?: boolean;
  /**
   * Wait for sockets and threads, too: the clock has settled only when the event loop has no events
   * from them. The events of the whole process count. Default: false.
   */
  readonly sockets?: boolean;
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
  /** Set for a timer of `setPoll`. */
  readonly poll?: { readonly topic: Topic; readonly mustRun: (() => boolean) | undefined };
}

/** A skipped poll or pause, which waits until its topic stirs. */
interface Dozing {
  /** A time at which it was due, on the monotonic scale. It is due again after each period. */
  readonly base: number;
  readonly periodMs: number;
  /** Ends the skipping. `due`: the first due time that has not passed. */
  wake(due: number): void;
}

interface Topic {
  /** The monotonic time at which the topic last stirred. */
  stirredAt: number;
  /** The skipped work by the ID of its timer. */
  readonly dozing: Map<number, Dozing>;
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
  #start: number;
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
  /** The number of calls of `advance` and `runUntil` that have not finished. */
  #moves = 0;
  readonly #sockets: boolean;
  /** Absent: this clock skips nothing. */
  readonly polls?: Polls;
  readonly #topics = new Map<string, Topic>();
  readonly #backgrounds = new Set<Background>();
  /** The number of calls of keepAwake() that have not ended. */
  #keptAwake = 0;

  constructor(config: VirtualClockConfig = {}) {
    this.#start = config.start ?? Date.UTC(2026, 0, 1);
    this.#settleTurns = config.settleTurns ?? 2;
    this.#settleHook = config.settle;
    this.#sockets = config.sockets ?? false;
    if (config.lazy === true) this.polls = this.#makePolls();
  }

  /** Reports whether periodic work is skipped while nothing stirs. */
  get lazy(): boolean {
    return this.polls !== undefined;
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
   * Sets the wall-clock time, forward or back, to milliseconds since the epoch. No timer fires:
   * timers keep their delays, up to a fraction of a millisecond.
   */
  jumpTo(now: number): void {
    this.#elapsed = Math.ceil(this.#elapsed);
    this.#start = now - this.#elapsed;
  }

  /** The number of timers with a delay that are set. Intervals count, including skipped ones. */
  get pendingTimers(): number {
    let count = this.#timers.size;
    for (const { dozing } of this.#topics.values()) count += dozing.size;
    return count;
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
      this.#catchUp();
      await this.settle();
    });
  }

  /**
   * Advances time from timer to timer until `condition` holds. The condition is checked when an
   * instant has settled. After an instant with background work only (heartbeats), it is checked
   * only if it has read an effect of that work. Rejects when no timer is left that could change
   * anything, or after `timeout` (default '24h') of virtual time.
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
   * Resolves when nothing more can happen before time advances. Promise chains have run; no
   * callback for the next turn of the event loop, no timer without delay and no operation outside
   * of the loop is pending (see pending-work.ts). With `sockets`, no data has arrived. Not
   * guaranteed: another process may be about to send data.
   */
  async settle(): Promise<void> {
    let idle = 0;
    while (idle < this.#settleTurns) {
      const activity = this.#activity;
      const events = this.#sockets ? loopEvents() : 0;
      if (this.#settleHook !== undefined) await this.#settleHook();
      await turn();
      const quiet =
        this.#activity === activity &&
        this.#immediates === 0 &&
        pendingWork() === 0 &&
        (!this.#sockets || loopEvents() === events);
      idle = quiet ? idle + 1 : 0;
    }
  }

  /** Resolves when this clock has settled, and no `advance` or `runUntil` is in flight. */
  readonly atRest = async (): Promise<void> => {
    do {
      await this.#moving;
      await this.settle();
      // The caller of the last move may begin the next one when it has settled, too.
      await this.settle();
    } while (this.#moves > 0);
  };

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
      let waitForBackground = false;
      if (condition !== undefined) {
        this.#takeRead();
        if (await condition()) return true;
        waitForBackground = this.#takeRead();
      }
      const timerDue = this.#timers.peek()?.due ?? Number.POSITIVE_INFINITY;
      const due = waitForBackground ? Math.min(timerDue, this.#nextBackground()) : timerDue;
      if (due > target || due === Number.POSITIVE_INFINITY) return false;
      if (due > this.#elapsed) {
        rounds = 0;
        this.#elapsed = due;
        // A timer's callback must see the state as if the background work had been done in time.
        if (this.#catchUp()) await this.settle();
      } else if (++rounds > MAX_ROUNDS_PER_INSTANT) {
        throw new Error(
          'virtual clock: time does not advance, because timers are set for the same instant repeatedly',
        );
      }
      if (timerDue > due) continue;
      this.#fireInstant();
      await this.settle();
    }
  }

  #nextBackground(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { nextDue } of this.#backgrounds) next = Math.min(next, nextDue);
    return next;
  }

  /** Performs the background work that is due. Reports whether there was any. */
  #catchUp(): boolean {
    let any = false;
    for (const background of this.#backgrounds) {
      if (background.nextDue > this.#elapsed) continue;
      background.catchUp(this.#elapsed);
      any = true;
    }
    return any;
  }

  #takeRead(): boolean {
    let any = false;
    for (const background of this.#backgrounds) if (background.takeRead()) any = true;
    return any;
  }

  /** Fires the timers that are due now. Timers that they set for now fire in the next round. */
  #fireInstant(): void {
    const lastId = this.#lastId;
    for (;;) {
      const next = this.#timers.peek();
      if (next === undefined || next.due > this.#elapsed || next.id > lastId) return;
      if (next.intervalMs === undefined) this.#timers.pop();
      else this.#timers.put({ ...next, due: next.due + next.intervalMs });
      this.#activity++;
      next.callback();
      if (next.poll !== undefined) this.#mayDoze(next, next.poll);
    }
  }

  #makePolls(): Polls {
    return {
      setPoll: (intervalMs, callback, { topic: name = ANYTHING, mustRun }) => {
        checkInterval(intervalMs);
        this.#activity++;
        const id = ++this.#lastId;
        const topic = this.#topic(name);
        const due = this.#elapsed + intervalMs;
        this.#timers.put({ id, due, intervalMs, callback, poll: { topic, mustRun } });
        return {
          cancel: () => {
            this.#timers.delete(id);
            topic.dozing.delete(id);
          },
        };
      },
      pause: (periodMs, since, { topic: name = ANYTHING, signal }) => {
        const topic = this.#topic(name);
        if (topic.stirredAt >= since || this.#keptAwake > 0) return this.sleep(periodMs, signal);
        return this.#doze(topic, periodMs, signal);
      },
      stir: (name) => this.#stir(this.#topic(name)),
      addBackground: (background) => {
        this.#backgrounds.add(background);
        return () => void this.#backgrounds.delete(background);
      },
      keepAwake: () => {
        this.#keptAwake++;
        for (const topic of this.#topics.values()) this.#stir(topic);
        let ended = false;
        return () => {
          if (!ended) this.#keptAwake--;
          ended = true;
        };
      },
    };
  }

  #topic(name: string): Topic {
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = { stirredAt: this.#elapsed, dozing: new Map() };
      this.#topics.set(name, topic);
    }
    return topic;
  }

  /**
   * Skips further calls of a poll that has been called, if its topic has not stirred since the call
   * before, until the topic stirs.
   */
  #mayDoze(timer: VirtualTimer, { topic, mustRun }: NonNullable<VirtualTimer['poll']>): void {
    if (topic.stirredAt >= timer.due || this.#keptAwake > 0 || mustRun?.() === true) return;
    // The callback has cancelled the timer.
    if (!this.#timers.delete(timer.id)) return;
    topic.dozing.set(timer.id, {
      base: timer.due,
      periodMs: timer.intervalMs as number,
      wake: (due) => this.#timers.put({ ...timer, due }),
    });
  }

  #doze(topic: Topic, periodMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      let timer: Timer | undefined;
      const id = ++this.#lastId;
      const onAbort = (): void => {
        topic.dozing.delete(id);
        timer?.cancel();
        reject(signal?.reason);
      };
      topic.dozing.set(id, {
        base: this.#elapsed,
        periodMs,
        wake: (due) => {
          timer = this.setTimer(due - this.#elapsed, () => {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          });
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #stir(topic: Topic): void {
    topic.stirredAt = this.#elapsed;
    if (topic.dozing.size === 0) return;
    const woken = [...topic.dozing.values()];
    topic.dozing.clear();
    for (const { base, periodMs, wake } of woken) {
      const periods = Math.floor((this.#elapsed - base) / periodMs) + 1;
      wake(base + periods * periodMs);
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
    this.#moves++;
    const result = this.#moving.then(move).finally(() => this.#moves--);
    // A failure belongs to the caller of this call; the next call starts anyway.
    this.#moving = result.catch(() => undefined);
    return result;
  }
}

/**
 * Returns the number of events that the process's event loop has handled, from sockets, threads and
 * the thread pool.
 */
function loopEvents(): number {
  return performance.nodeTiming.uvMetricsInfo.events;
}

/** Waits for one turn of the event loop. Every promise chain that could run has run then. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
