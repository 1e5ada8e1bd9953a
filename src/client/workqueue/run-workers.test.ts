import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { RateLimitingQueue } from './rate-limiting-queue.ts';
import {
  reconciled,
  requeue,
  requeueAfter,
  runWorkers,
  type ReconcileResult,
} from './run-workers.ts';

function setUp() {
  const clock = new VirtualClock();
  return {
    clock,
    queue: new RateLimitingQueue({ clock }),
    stop: new AbortController(),
    logger: recordingLogger(),
  };
}

describe('runWorkers', () => {
  test('handles every result: done, requeue, requeueAfter, failed', async () => {
    const { clock, queue, stop, logger } = setUp();
    const calls: [key: string, atMs: number][] = [];
    const plans: Record<string, (ReconcileResult | Error)[]> = {
      done: [reconciled],
      again: [requeue, requeue, reconciled],
      later: [requeueAfter(1000), reconciled],
      fails: [new Error('first'), new Error('second'), reconciled],
    };
    const running = runWorkers(
      queue,
      2,
      async (key) => {
        calls.push([key, clock.monotonic()]);
        const next = plans[key]?.shift();
        if (next instanceof Error) throw next;
        return next ?? reconciled;
      },
      stop.signal,
      { logger },
    );
    for (const key of Object.keys(plans)) queue.add(key);
    await clock.advance(5000);
    const times = (key: string) => calls.filter(([called]) => called === key).map(([, at]) => at);
    expect(times('done')).toEqual([0]);
    expect(times('again')).toEqual([0, 5, 15]);
    expect(times('later')).toEqual([0, 1000]);
    expect(times('fails')).toEqual([0, 5, 15]);
    expect(queue.numRequeues('fails')).toBe(0);
    expect(
      logger.records.map(({ level, values }) => [level, values['key'], String(values['err'])]),
    ).toEqual([
      ['warn', 'fails', 'Error: first'],
      ['warn', 'fails', 'Error: second'],
    ]);
    stop.abort();
    await running;
  });

  test('processes as many keys at once as there are workers, and no key twice', async () => {
    const { clock, queue, stop, logger } = setUp();
    const active = new Set<string>();
    let most = 0;
    let runs = 0;
    const running = runWorkers(
      queue,
      3,
      async (key) => {
        expect(active.has(key)).toBe(false);
        active.add(key);
        most = Math.max(most, active.size);
        await clock.sleep(100);
        active.delete(key);
        runs++;
        return reconciled;
      },
      stop.signal,
      { logger },
    );
    for (const key of 'abcdef') queue.add(key);
    await clock.advance(50);
    queue.add('a');
    await clock.advance(1000);
    expect([most, runs]).toEqual([3, 7]);
    stop.abort();
    await running;
  });

  test('drops a key after maxRetries', async () => {
    const { clock, queue, stop, logger } = setUp();
    let calls = 0;
    const failed: string[] = [];
    const running = runWorkers(
      queue,
      1,
      async () => Promise.reject(new Error(`try ${++calls}`)),
      stop.signal,
      {
        logger,
        maxRetries: 2,
        onError: (key) => failed.push(key),
      },
    );
    queue.add('a');
    await clock.advance('1h');
    expect(calls).toBe(3);
    expect(failed).toEqual(['a', 'a', 'a']);
    expect(logger.records.at(-1)?.level).toBe('error');
    stop.abort();
    await running;
  });

  test('waits for running reconciles when it stops, and starts no others', async () => {
    const { clock, queue, stop, logger } = setUp();
    const begun: string[] = [];
    const ended: string[] = [];
    const running = runWorkers(
      queue,
      1,
      async (key, signal) => {
        begun.push(key);
        await clock.sleep(1000);
        expect(signal.aborted).toBe(true);
        ended.push(key);
        throw new Error('cut short');
      },
      stop.signal,
      { logger },
    );
    queue.add('a');
    queue.add('b');
    await clock.advance(10);
    stop.abort();
    await clock.advance(10_000);
    await running;
    expect([begun, ended, logger.records]).toEqual([['a'], ['a'], []]);
    await runWorkers(new RateLimitingQueue({ clock }), 1, async () => reconciled, stop.signal, {
      logger,
    });
  });
});
