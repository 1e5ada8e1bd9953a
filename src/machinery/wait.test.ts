import { describe, expect, test } from 'vitest';
import { VirtualClock } from './clock.ts';
import { SeededRandom } from './random.ts';
import * as wait from './wait.ts';

/** Returns a condition that holds at its n-th call, and the times of the calls. */
function holdsAt(n: number, clock: VirtualClock) {
  const calls: number[] = [];
  const condition = () => {
    calls.push(clock.monotonic());
    return calls.length >= n;
  };
  return { calls, condition };
}

/** Advances virtual time while `promise` is pending. */
async function run<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = promise.finally(() => (settled = true));
  done.catch(() => undefined);
  await clock.runUntil(() => settled);
  return done;
}

describe('poll', () => {
  test('checks after each interval until the condition holds', async () => {
    const clock = new VirtualClock();
    const { calls, condition } = holdsAt(3, clock);
    await run(clock, wait.poll({ clock, intervalMs: 100, timeoutMs: 1000 }, condition));
    expect(calls).toEqual([100, 200, 300]);
  });

  test('pollImmediately checks at once', async () => {
    const clock = new VirtualClock();
    const { calls, condition } = holdsAt(2, clock);
    await run(clock, wait.pollImmediately({ clock, intervalMs: 100, timeoutMs: 1000 }, condition));
    expect(calls).toEqual([0, 100]);
  });

  test('checks a last time when the timeout has passed, then rejects', async () => {
    const clock = new VirtualClock();
    const { calls, condition } = holdsAt(99, clock);
    await expect(
      run(clock, wait.poll({ clock, intervalMs: 100, timeoutMs: 250 }, condition)),
    ).rejects.toBeInstanceOf(wait.WaitTimeoutError);
    expect(calls).toEqual([100, 200, 250]);
  });

  test('does not wait at all with a timeout of 0', async () => {
    const clock = new VirtualClock();
    await expect(
      wait.pollImmediately({ clock, intervalMs: 1, timeoutMs: 0 }, () => false),
    ).rejects.toThrow('timed out waiting for the condition');
    await wait.pollImmediately({ clock, intervalMs: 1, timeoutMs: 0 }, () => true);
  });

  test('counts the interval from the end of a slow condition', async () => {
    const clock = new VirtualClock();
    const starts: number[] = [];
    await run(
      clock,
      wait.poll({ clock, intervalMs: 100, timeoutMs: 1000 }, async () => {
        starts.push(clock.monotonic());
        await clock.sleep(50);
        return starts.length === 2;
      }),
    );
    expect(starts).toEqual([100, 250]);
  });

  test('rejects with the error of the condition', async () => {
    const clock = new VirtualClock();
    const poll = wait.pollImmediately({ clock, intervalMs: 1, timeoutMs: 10 }, () => {
      throw new Error('pointless');
    });
    await expect(poll).rejects.toThrow('pointless');
  });

  test('rejects with the reason of its signal', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const polling = wait.pollUntil(
      { clock, intervalMs: 1000, signal: controller.signal },
      () => false,
    );
    polling.catch(() => undefined);
    await clock.advance('1h');
    controller.abort(new Error('shutting down'));
    await expect(polling).rejects.toThrow('shutting down');
    expect(clock.pendingTimers).toBe(0);
    const late = wait.poll(
      { clock, intervalMs: 1, timeoutMs: 1, signal: controller.signal },
      () => true,
    );
    await expect(late).rejects.toThrow('shutting down');
  });

  test('pollUntil has no timeout', async () => {
    const clock = new VirtualClock();
    const { calls, condition } = holdsAt(1000, clock);
    await run(clock, wait.pollUntil({ clock, intervalMs: 1000 }, condition));
    expect(calls).toHaveLength(1000);
  });

  test('rejects an interval of 0, which would never yield', async () => {
    const clock = new VirtualClock();
    await expect(wait.poll({ clock, intervalMs: 0, timeoutMs: 1 }, () => true)).rejects.toThrow(
      RangeError,
    );
  });
});

describe('until', () => {
  test('repeats an action until the signal aborts, then resolves', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const times: number[] = [];
    const loop = wait.until(
      { clock, signal: controller.signal, periodMs: 1000 },
      () => void times.push(clock.monotonic()),
    );
    await clock.advance(2500);
    controller.abort();
    await loop;
    expect(times).toEqual([0, 1000, 2000]);
  });

  test('adds jitter to its periods', async () => {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const times: number[] = [];
    const config = {
      clock,
      signal: controller.signal,
      periodMs: 1000,
      jitterFactor: 0.5,
      random: new SeededRandom(1),
    };
    const loop = wait.until(config, () => void times.push(clock.monotonic()));
    await clock.advance('20s');
    controller.abort();
    await loop;
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    expect(new Set(gaps).size).toBeGreaterThan(5);
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(1000);
      expect(gap).toBeLessThan(1500);
    }
  });

  test('rejects with the error of the action', async () => {
    const clock = new VirtualClock();
    const signal = new AbortController().signal;
    const loop = wait.until({ clock, signal, periodMs: 1 }, () => {
      throw new Error('broken');
    });
    await expect(loop).rejects.toThrow('broken');
    await expect(
      wait.until({ clock, signal, periodMs: 1, jitterFactor: 1 }, () => undefined),
    ).rejects.toThrow('requires `random`');
  });
});

describe('Backoff', () => {
  const delays = (config: wait.BackoffConfig, count: number) => {
    const backoff = new wait.Backoff(config);
    return Array.from({ length: count }, () => backoff.next());
  };

  test('grows by its factor, up to its cap', () => {
    expect(delays({ durationMs: 10, factor: 2 }, 5)).toEqual([10, 20, 40, 80, 160]);
    expect(delays({ durationMs: 10, factor: 2, capMs: 50 }, 5)).toEqual([10, 20, 40, 50, 50]);
    expect(delays({ durationMs: 10, factor: 3, steps: 3 }, 5)).toEqual([10, 30, 90, 90, 90]);
    expect(delays({ durationMs: 10 }, 3)).toEqual([10, 10, 10]);
    expect(delays({ durationMs: 100, capMs: 5 }, 2)).toEqual([5, 5]);
  });

  test('adds jitter to each delay', () => {
    const random = new SeededRandom('jitter');
    for (const delay of delays({ durationMs: 100, jitter: 0.1, random }, 50)) {
      expect(delay).toBeGreaterThanOrEqual(100);
      expect(delay).toBeLessThan(110);
    }
    expect(() => new wait.Backoff({ durationMs: 1, jitter: 1 })).toThrow('requires `random`');
    expect(wait.jitter(random, 100, 0)).toBe(100);
  });

  test('restarts after reset', () => {
    const backoff = new wait.Backoff({ durationMs: 10, factor: 2, steps: 2 });
    backoff.next();
    backoff.next();
    expect(backoff.stepsLeft).toBe(0);
    backoff.reset();
    expect([backoff.stepsLeft, backoff.next(), backoff.next()]).toEqual([2, 10, 20]);
  });
});

describe('exponentialBackoff', () => {
  test('checks once per step', async () => {
    const clock = new VirtualClock();
    const { calls, condition } = holdsAt(99, clock);
    const waiting = wait.exponentialBackoff(
      { clock, backoff: { durationMs: 10, factor: 2, steps: 4 } },
      condition,
    );
    await expect(run(clock, waiting)).rejects.toBeInstanceOf(wait.WaitTimeoutError);
    expect(calls).toEqual([0, 10, 30, 70]);
  });

  test('stops when the condition holds', async () => {
    const clock = new VirtualClock();
    const { calls, condition } = holdsAt(2, clock);
    await run(
      clock,
      wait.exponentialBackoff({ clock, backoff: { durationMs: 10, steps: 4 } }, condition),
    );
    expect(calls).toEqual([0, 10]);
  });
});

describe('retryOnError', () => {
  const backoff = { durationMs: 10, factor: 2, steps: 3 };

  test('resolves with the result of the action', async () => {
    const clock = new VirtualClock();
    let calls = 0;
    const action = () => {
      if (++calls < 3) throw new Error('conflict');
      return 'done';
    };
    expect(
      await run(
        clock,
        wait.retryOnError({ clock, backoff }, () => true, action),
      ),
    ).toBe('done');
    expect(clock.monotonic()).toBe(30);
  });

  test('rejects with the last error, or at once with one that is not retriable', async () => {
    const clock = new VirtualClock();
    let calls = 0;
    const action = () => {
      calls++;
      throw new Error(`try ${calls}`);
    };
    await expect(
      run(
        clock,
        wait.retryOnError({ clock, backoff }, () => true, action),
      ),
    ).rejects.toThrow('try 3');
    calls = 0;
    await expect(wait.retryOnError({ clock, backoff }, () => false, action)).rejects.toThrow(
      'try 1',
    );
    expect(calls).toBe(1);
  });
});
