import { fileURLToPath } from 'node:url';
import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ANYTHING, DISCOVERY, pause, setPoll, stir, systemClock, VirtualClock } from './clock.ts';
import { outsideWork } from './pending-work.ts';

describe('VirtualClock', () => {
  test('begins at a fixed time and moves only by advance', async () => {
    const clock = new VirtualClock();
    expect(new Date(clock.now()).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    expect(clock.monotonic()).toBe(0);
    await clock.advance('1h30m');
    expect(new Date(clock.now()).toISOString()).toBe('2026-01-01T01:30:00.000Z');
    expect(clock.monotonic()).toBe(5_400_000);
    expect(new VirtualClock({ start: 5 }).now()).toBe(5);
  });

  test('fires timers in the order of their due times, then of their creation', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    const set = (name: string, delay: number) =>
      clock.setTimer(delay, () => fired.push(`${name}@${clock.monotonic()}`));
    set('c', 30);
    set('a', 10);
    set('b1', 20);
    set('b2', 20);
    await clock.advance(20);
    expect(fired).toEqual(['a@10', 'b1@20', 'b2@20']);
    expect(clock.pendingTimers).toBe(1);
    expect(clock.nextTimer).toBe(clock.now() + 10);
    await clock.advance(10);
    expect(fired.at(-1)).toBe('c@30');
    expect(clock.nextTimer).toBeUndefined();
  });

  test('a chain of sleeps takes exactly its nominal time', async () => {
    const clock = new VirtualClock();
    const wakes: number[] = [];
    const chain = (async () => {
      for (let i = 0; i < 5; i++) {
        await clock.sleep(1000);
        // More microtasks than any fixed number that a wait could count, and one turn of the event
        // loop.
        for (let hop = 0; hop < 20; hop++) await Promise.resolve();
        await new Promise((resolve) => setImmediate(resolve));
        wakes.push(clock.monotonic());
      }
    })();
    await clock.advance('4s');
    expect(wakes).toEqual([1000, 2000, 3000, 4000]);
    await clock.advance('1s');
    await chain;
    expect(wakes.at(-1)).toBe(5000);
  });

  test('repeats an interval until it is cancelled, also by its own callback', async () => {
    const clock = new VirtualClock();
    let ticks = 0;
    const timer = clock.setInterval(100, () => {
      if (++ticks === 3) timer.cancel();
    });
    await clock.advance('10s');
    expect(ticks).toBe(3);
    expect(clock.pendingTimers).toBe(0);
    timer.cancel();
  });

  test('cancels timers; cancelling a fired one has no effect', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    const first = clock.setTimer(1, () => {
      fired.push('first');
      second.cancel();
    });
    const second = clock.setTimer(1, () => fired.push('second'));
    const immediate = clock.setTimer(0, () => fired.push('immediate'));
    immediate.cancel();
    await clock.advance(5);
    first.cancel();
    expect(fired).toEqual(['first']);
  });

  test('fires a timer without delay in a later turn, without an advance', async () => {
    const clock = new VirtualClock();
    let fired = false;
    clock.setTimer(0, () => (fired = true));
    expect(fired).toBe(false);
    await clock.settle();
    expect(fired).toBe(true);
    await clock.sleep(-5);
    expect(clock.monotonic()).toBe(0);
  });

  test('rejects a sleep with the reason of its signal, at once and later', async () => {
    const clock = new VirtualClock();
    const reason = new Error('stop');
    await expect(clock.sleep(10, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const sleep = clock.sleep(1000, controller.signal);
    controller.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    expect(clock.pendingTimers).toBe(0);
  });

  test('rejects advance with the error of a callback, and stays at that time', async () => {
    const clock = new VirtualClock();
    clock.setTimer(10, () => {
      throw new Error('boom');
    });
    let later = false;
    clock.setTimer(20, () => (later = true));
    await expect(clock.advance(100)).rejects.toThrow('boom');
    expect(clock.monotonic()).toBe(10);
    await clock.advance(10);
    expect(later).toBe(true);
  });

  test('queues advances', async () => {
    const clock = new VirtualClock();
    const seen: number[] = [];
    clock.setTimer(5, () => seen.push(clock.monotonic()));
    clock.setTimer(15, () => seen.push(clock.monotonic()));
    await Promise.all([clock.advance(10), clock.advance(10)]);
    expect(seen).toEqual([5, 15]);
    expect(clock.monotonic()).toBe(20);
  });

  test('runUntil stops as soon as the condition holds', async () => {
    const clock = new VirtualClock();
    let ticks = 0;
    clock.setInterval(1000, () => ticks++);
    await clock.runUntil(() => ticks === 7);
    expect(clock.monotonic()).toBe(7000);
    await clock.runUntil(() => ticks === 7);
    expect(clock.monotonic()).toBe(7000);
  });

  test('runUntil names the reason why a condition cannot become true', async () => {
    const clock = new VirtualClock();
    await expect(clock.runUntil(() => false)).rejects.toThrow('no timer is set');
    clock.setInterval(1000, () => undefined);
    await expect(clock.runUntil(() => false, '10s')).rejects.toThrow('within 10000 ms');
    expect(clock.monotonic()).toBe(10_000);
  });

  test('waits for the settle hook before time moves on', async () => {
    let work = Promise.resolve();
    const clock = new VirtualClock({ settle: () => work });
    const order: string[] = [];
    clock.setTimer(1, () => {
      // Simulates work of another thread: several turns of the event loop.
      work = (async () => {
        for (let turns = 0; turns < 5; turns++)
          await new Promise((resolve) => setImmediate(resolve));
        order.push('work');
      })();
    });
    clock.setTimer(2, () => order.push('next'));
    await clock.advance(5);
    expect(order).toEqual(['work', 'next']);
  });

  test('moves by a day quickly', async () => {
    const clock = new VirtualClock({ settleTurns: 1 });
    let ticks = 0;
    clock.setInterval(10_000, () => ticks++);
    await clock.advance('24h');
    expect(ticks).toBe(8640);
  });

  test('rejects invalid durations', async () => {
    const clock = new VirtualClock();
    expect(() => clock.setTimer(Number.NaN, () => undefined)).toThrow(RangeError);
    expect(() => clock.setInterval(0, () => undefined)).toThrow(RangeError);
    expect(() => clock.advance(-1)).toThrow('cannot go back');
    expect(() => clock.advance('1x')).toThrow('unknown unit');
  });
});

describe('systemClock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('reads the time', () => {
    const before = Date.now();
    expect(systemClock.now()).toBeGreaterThanOrEqual(before);
    const start = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(start);
  });

  test('a sleep can be aborted', async () => {
    const start = performance.now();
    await systemClock.sleep(5);
    expect(performance.now() - start).toBeGreaterThan(3);
    const controller = new AbortController();
    const sleep = systemClock.sleep(60_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
  });

  test('a sleep without delay yields to other work', async () => {
    const fired: string[] = [];
    systemClock.setTimer(0, () => fired.push('turn'));
    const cancelled = systemClock.setTimer(0, () => fired.push('cancelled'));
    cancelled.cancel();
    expect(fired).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(fired).toEqual(['turn']);
  });

  test('accepts delays beyond the limit of the platform', () => {
    vi.useFakeTimers();
    const month = 30 * 24 * 3_600_000;
    let fired = 0;
    systemClock.setTimer(month, () => fired++);
    const cancelled = systemClock.setTimer(month, () => (fired += 100));
    let ticks = 0;
    const interval = systemClock.setInterval(month, () => ticks++);
    vi.advanceTimersByTime(month - 1000);
    expect([fired, ticks]).toEqual([0, 0]);
    cancelled.cancel();
    vi.advanceTimersByTime(2000);
    expect([fired, ticks]).toEqual([1, 1]);
    vi.advanceTimersByTime(month);
    expect([fired, ticks]).toEqual([1, 2]);
    interval.cancel();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('repeats a short interval', () => {
    vi.useFakeTimers();
    let ticks = 0;
    const interval = systemClock.setInterval(1000, () => ticks++);
    vi.advanceTimersByTime(3500);
    interval.cancel();
    vi.advanceTimersByTime(5000);
    expect(ticks).toBe(3);
  });
});

describe('a lazy virtual clock', () => {
  const calls = (clock: VirtualClock): { readonly at: number[]; note(): void } => {
    const at: number[] = [];
    return { at, note: () => void at.push(clock.monotonic()) };
  };

  test('leaves polls out until their topic stirs, and keeps their times', async () => {
    const clock = new VirtualClock({ lazy: true });
    const { at, note } = calls(clock);
    const poll = setPoll(clock, 10, note);
    await clock.advance(95);
    // The first call may see what was there before.
    expect(at).toEqual([10]);
    stir(clock, DISCOVERY);
    await clock.advance(10);
    expect(at).toEqual([10]);
    stir(clock, ANYTHING);
    await clock.advance(100);
    expect(at).toEqual([10, 110]);
    poll.cancel();
    stir(clock, ANYTHING);
    await clock.advance(100);
    expect(at).toEqual([10, 110]);
  });

  test('calls polls that must run, and all of them while it is kept awake', async () => {
    const clock = new VirtualClock({ lazy: true });
    const { at, note } = calls(clock);
    setPoll(clock, 10, note, { mustRun: () => clock.monotonic() < 30 });
    await clock.advance(100);
    expect(at).toEqual([10, 20, 30]);
    const end = clock.polls?.keepAwake();
    await clock.advance(25);
    end?.();
    await clock.advance(100);
    expect(at).toEqual([10, 20, 30, 110, 120, 130]);
  });

  test('prolongs a pause by whole periods, unless something has stirred since', async () => {
    const clock = new VirtualClock({ lazy: true });
    const { at, note } = calls(clock);
    void (async () => {
      for (let since = clock.monotonic(); ; since = clock.monotonic()) {
        await pause(clock, 10, since, { topic: 'x' });
        note();
      }
    })();
    await clock.advance(34);
    expect(at).toEqual([10]);
    stir(clock, 'x');
    await clock.advance(50);
    expect(at).toEqual([10, 40]);
  });

  test('makes up for background work before timers fire', async () => {
    const clock = new VirtualClock({ lazy: true });
    const done: number[] = [];
    let read = false;
    const end = clock.polls?.addBackground({
      get nextDue() {
        return (done.at(-1) ?? 0) + 7;
      },
      catchUp: (now) => {
        while ((done.at(-1) ?? 0) + 7 <= now) done.push((done.at(-1) ?? 0) + 7);
      },
      takeRead: () => read,
    });
    clock.setTimer(15, () => expect(done).toEqual([7, 14]));
    await clock.advance(20);
    expect(done).toEqual([7, 14]);
    // A condition that reads an effect is called after each.
    read = true;
    await clock.runUntil(() => done.length === 4);
    expect(clock.monotonic()).toBe(28);
    end?.();
  });

  test('settles when work outside of the event loop has ended', async () => {
    const clock = new VirtualClock();
    let ended = false;
    void outsideWork(readFile(fileURLToPath(import.meta.url))).then(() => (ended = true));
    await clock.settle();
    expect(ended).toBe(true);
  });
});

test('is at rest when it has settled and nothing moves it', async () => {
  const clock = new VirtualClock();
  const order: string[] = [];
  const moves = (async () => {
    for (const step of ['first', 'second']) {
      await clock.advance('1m');
      order.push(step);
    }
  })();
  const atRest = clock.atRest().then(() => order.push('at rest'));
  await Promise.all([moves, atRest]);
  expect(order).toEqual(['first', 'second', 'at rest']);
  // A timer that is set does not count: it waits for the time.
  clock.setTimer(1000, () => order.push('fired'));
  await clock.atRest();
  expect(order).toHaveLength(3);
});
