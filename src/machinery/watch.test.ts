import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  endedBy,
  forEachEvent,
  mapWatch,
  WatchOverflowError,
  WatchQueue,
  type WatchStream,
} from './watch.ts';

async function collect<E>(stream: WatchStream<E>): Promise<E[]> {
  const events: E[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Returns the events before the error, and the error. */
async function collectToError<E>(stream: WatchStream<E>): Promise<{ events: E[]; error: unknown }> {
  const events: E[] = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    return { events, error };
  }
  throw new Error('the stream ended without an error');
}

describe('WatchQueue', () => {
  test('yields events pushed before and during the iteration, in order, and ends when closed', async () => {
    const queue = new WatchQueue<number>();
    queue.push(1);
    queue.push(2);
    const events = collect(queue);
    await Promise.resolve();
    queue.push(3);
    queue.close();
    expect(queue.push(4)).toBe(false);
    expect(await events).toEqual([1, 2, 3]);
    expect(queue.ended).toBe(true);
  });

  test('throws the error of fail once, after the pushed events', async () => {
    const queue = new WatchQueue<number>();
    const failure = new Error('compacted');
    queue.push(1);
    queue.fail(failure);
    queue.close();
    const iterator = queue[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    await expect(iterator.next()).rejects.toBe(failure);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test('rejects one waiting call, and ends the others', async () => {
    const queue = new WatchQueue<number>();
    const iterator = queue[Symbol.asyncIterator]();
    const [first, second] = [iterator.next(), iterator.next()];
    queue.fail(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(await second).toEqual({ done: true, value: undefined });
  });

  test('serves calls of next() in their order', async () => {
    const queue = new WatchQueue<number>();
    const iterator = queue[Symbol.asyncIterator]();
    const calls = [iterator.next(), iterator.next()];
    queue.push(1);
    queue.push(2);
    expect((await Promise.all(calls)).map((result) => result.value)).toEqual([1, 2]);
  });

  test('calls onStop once when the consumer stops, and drops waiting events', async () => {
    let stopped = 0;
    const queue = new WatchQueue<number>({ onStop: () => stopped++ });
    queue.push(1);
    queue.push(2);
    queue.stop();
    queue.stop();
    expect(stopped).toBe(1);
    expect(queue.length).toBe(0);
    expect(await collect(queue)).toEqual([]);
  });

  test('stops when the consumer leaves its loop', async () => {
    let stopped = 0;
    const queue = new WatchQueue<number>({ onStop: () => stopped++ });
    queue.push(1);
    queue.push(2);
    for await (const event of queue) {
      expect(event).toBe(1);
      break;
    }
    expect(stopped).toBe(1);
    expect(queue.push(3)).toBe(false);
  });

  test('ends a waiting consumer when another caller stops the queue', async () => {
    const queue = new WatchQueue<number>();
    const events = collect(queue);
    await Promise.resolve();
    queue.stop();
    expect(await events).toEqual([]);
  });

  test('does not call onStop when the producer ends the queue', async () => {
    let stopped = 0;
    const queue = new WatchQueue<number>({ onStop: () => stopped++ });
    queue.fail(new Error('x'));
    queue.stop();
    expect(stopped).toBe(0);
    // The queue was stopped, so the consumer does not see the error.
    expect(await collect(queue)).toEqual([]);
  });

  test('ends with an overflow error when more events wait than the limit', async () => {
    const queue = new WatchQueue<number>({ limit: 2 });
    expect([queue.push(1), queue.push(2), queue.push(3), queue.push(4)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const { events, error } = await collectToError(queue);
    expect(events).toEqual([1, 2]);
    expect(error).toBeInstanceOf(WatchOverflowError);
  });

  test('onOverflow may choose the error', async () => {
    let calls = 0;
    const queue = new WatchQueue<number>({
      limit: 1,
      onOverflow: (overflowing) => {
        calls++;
        overflowing.fail(new Error('slow watcher'));
      },
    });
    queue.push(1);
    queue.push(2);
    queue.push(3);
    expect(calls).toBe(1);
    expect((await collectToError(queue)).error).toEqual(new Error('slow watcher'));
  });

  test('does not count events that a waiting consumer receives', async () => {
    const queue = new WatchQueue<number>({ limit: 1 });
    const iterator = queue[Symbol.asyncIterator]();
    for (let i = 0; i < 5; i++) {
      const next = iterator.next();
      expect(queue.push(i)).toBe(true);
      expect((await next).value).toBe(i);
    }
  });

  test('has one consumer', () => {
    const queue = new WatchQueue<number>();
    queue[Symbol.asyncIterator]();
    expect(() => queue[Symbol.asyncIterator]()).toThrow('one consumer');
  });

  test('keeps the order of many events with interleaved pushes and reads', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 12 }),
        async (bursts) => {
          const queue = new WatchQueue<number>();
          const iterator = queue[Symbol.asyncIterator]();
          let pushed = 0;
          let taken = 0;
          for (const burst of bursts) {
            for (let i = 0; i < burst; i++) queue.push(pushed++);
            for (let i = 0; i < burst - 3; i++) expect((await iterator.next()).value).toBe(taken++);
          }
          expect(queue.length).toBe(pushed - taken);
          queue.close();
          while (taken < pushed) expect((await iterator.next()).value).toBe(taken++);
          expect((await iterator.next()).done).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('mapWatch', () => {
  test('maps events and leaves out those that map to undefined', async () => {
    const queue = new WatchQueue<number>();
    for (const event of [1, 2, 3, 4]) queue.push(event);
    queue.close();
    expect(
      await collect(mapWatch(queue, (event) => (event % 2 === 0 ? `${event}!` : undefined))),
    ).toEqual(['2!', '4!']);
  });

  test('passes on errors and stops', async () => {
    const queue = new WatchQueue<number>();
    queue.push(1);
    queue.fail(new Error('lost'));
    const { events, error } = await collectToError(mapWatch(queue, (event) => event));
    expect([events, (error as Error).message]).toEqual([[1], 'lost']);

    let stopped = 0;
    const other = new WatchQueue<number>({ onStop: () => stopped++ });
    mapWatch(other, (event) => event).stop();
    expect(stopped).toBe(1);
  });

  test('stops the source when the map throws or the consumer leaves its loop', async () => {
    let stopped = 0;
    const failing = new WatchQueue<number>({ onStop: () => stopped++ });
    failing.push(1);
    const mapped = mapWatch(failing, () => {
      throw new Error('bad event');
    });
    expect((await collectToError(mapped)).error).toEqual(new Error('bad event'));
    expect(stopped).toBe(1);

    const left = new WatchQueue<number>({ onStop: () => stopped++ });
    left.push(1);
    for await (const _ of mapWatch(left, (event) => event)) break;
    expect(stopped).toBe(2);
  });

  test('ends a waiting consumer when it is stopped', async () => {
    const queue = new WatchQueue<number>();
    const mapped = mapWatch(queue, (event) => event);
    const events = collect(mapped);
    await Promise.resolve();
    mapped.stop();
    expect(await events).toEqual([]);
  });
});

describe('iterators', () => {
  test.each<[string, (queue: WatchQueue<number>) => WatchStream<number>]>([
    ['WatchQueue', (queue) => queue],
    ['mapWatch', (queue) => mapWatch(queue, (event) => event)],
  ])('of %s end at once when they are returned while they wait', async (_name, wrap) => {
    let stopped = 0;
    const iterator = wrap(new WatchQueue<number>({ onStop: () => stopped++ }))[
      Symbol.asyncIterator
    ]();
    const waiting = iterator.next();
    await iterator.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(stopped).toBe(1);
  });
});

describe('drain', () => {
  const filled = (...events: number[]): WatchQueue<number> => {
    const queue = new WatchQueue<number>();
    for (const event of events) queue.push(event);
    return queue;
  };

  test('returns waiting events in order, and leaves the end to the iterator', async () => {
    const queue = filled(1, 2, 3);
    const iterator = queue[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    queue.fail(new Error('gone'));
    expect(queue.drain()).toEqual([2, 3]);
    expect(queue.drain()).toEqual([]);
    await expect(iterator.next()).rejects.toThrow('gone');
  });

  test('returns a part of a long backlog', async () => {
    const queue = filled(...Array.from({ length: 1000 }, (_, n) => n));
    expect(queue.drain().length).toBeLessThan(500);
    const left = queue.length;
    queue.close();
    const seen: number[] = [];
    await forEachEvent(queue, (event) => seen.push(event));
    expect(seen).toEqual(Array.from({ length: left }, (_, n) => 1000 - left + n));
  });

  test('makes room for more', () => {
    const queue = new WatchQueue<number>({ limit: 2 });
    expect([queue.push(1), queue.push(2)]).toEqual([true, true]);
    expect(queue.drain()).toEqual([1, 2]);
    expect([queue.push(3), queue.push(4), queue.push(5)]).toEqual([true, true, false]);
  });

  test('maps events, and an error of the map ends the iteration', async () => {
    const queue = filled(1, 2, 3, -1, 5);
    const stream = mapWatch(queue, (event) => {
      if (event < 0) throw new Error('negative');
      return event === 2 ? undefined : event * 10;
    });
    const iterator = stream[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 10 });
    expect(stream.drain?.()).toEqual([30]);
    await expect(iterator.next()).rejects.toThrow('negative');
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  test('forEachEvent passes on each event once, batched or single', async () => {
    const queue = filled(1, 2, 3);
    const seen: number[] = [];
    const consumed = forEachEvent(queue, (event) => {
      seen.push(event);
      if (event === 2) queue.push(4);
    });
    for (const event of [5, 6]) {
      await expect.poll(() => seen.length).toBe(event - 1);
      queue.push(event);
    }
    queue.close();
    await consumed;
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('stops the stream when its consumer throws', async () => {
    let stops = 0;
    const queue = new WatchQueue<number>({ onStop: () => stops++ });
    queue.push(1);
    queue.push(2);
    await expect(
      forEachEvent(queue, (event) => {
        if (event === 2) throw new Error('two');
      }),
    ).rejects.toThrow('two');
    expect([stops, queue.ended]).toEqual([1, true]);
  });
});

describe('endedBy', () => {
  const ways: Readonly<
    Record<string, (queue: WatchQueue<number>, stream: WatchStream<number>) => unknown>
  > = {
    'its source is closed': (queue) => queue.close(),
    'its source fails': (queue) => queue.fail(new Error('gone')),
    'it is stopped': (_queue, stream) => stream.stop(),
  };
  for (const [way, end] of Object.entries(ways)) {
    test(`passes on events, and calls end when ${way}`, async () => {
      const queue = new WatchQueue<number>();
      let ended = 0;
      const stream = endedBy(queue, () => {
        ended++;
        queue.stop();
      });
      const seen: number[] = [];
      const consumed = forEachEvent(stream, (event) => seen.push(event)).catch(
        (error: Error) => error.message,
      );
      for (const event of [1, 2, 3]) queue.push(event);
      await expect.poll(() => seen).toEqual([1, 2, 3]);
      expect(ended).toBe(0);
      end(queue, stream);
      expect(await consumed).toBe(way === 'its source fails' ? 'gone' : undefined);
      expect([ended > 0, queue.ended]).toEqual([true, true]);
    });
  }

  test('calls end when its consumer leaves', async () => {
    const queue = new WatchQueue<number>();
    let ended = 0;
    const stream = endedBy(queue, () => {
      ended++;
      queue.stop();
    });
    queue.push(1);
    for await (const event of stream) if (event === 1) break;
    expect([ended > 0, queue.ended]).toEqual([true, true]);
  });
});

describe('read', () => {
  test('ready is called once for each time the reader waits', () => {
    const queue = new WatchQueue<number>();
    let calls = 0;
    const reader = queue.read(() => calls++);
    queue.push(1);
    expect(calls).toBe(0);
    expect(reader.rearm()).toBe(false);
    expect(reader.take()).toEqual([1]);
    expect(reader.rearm()).toBe(true);
    queue.push(2);
    queue.push(3);
    expect(calls).toBe(1);
    expect(reader.take()).toEqual([2, 3]);
    queue.push(4);
    expect(calls).toBe(1);
  });

  test('the end comes after the events, and calls ready', () => {
    const queue = new WatchQueue<number>();
    let calls = 0;
    const reader = queue.read(() => calls++);
    expect(reader.rearm()).toBe(true);
    queue.close();
    expect(calls).toBe(1);
    expect(reader.rearm()).toBe(false);
    expect(reader.end()).toBe('closed');
  });

  test('an error comes after the events', () => {
    const queue = new WatchQueue<number>();
    const error = new Error('gone');
    queue.push(1);
    queue.fail(error);
    const reader = queue.read(() => undefined);
    expect(reader.end()).toBeUndefined();
    expect(reader.take()).toEqual([1]);
    expect(reader.end()).toEqual({ error });
  });

  test('a stream has one consumer', () => {
    const queue = new WatchQueue<number>();
    queue.read(() => undefined);
    expect(() => queue[Symbol.asyncIterator]()).toThrow('only one consumer');
    expect(() => queue.read(() => undefined)).toThrow('only one consumer');
  });

  test('through mapWatch: events that are left out, and an error of the map', () => {
    const queue = new WatchQueue<number>();
    const mapped = mapWatch(queue, (event) => {
      if (event === 3) throw new Error('three');
      return event % 2 === 0 ? event * 10 : undefined;
    });
    const reader = mapped.read!(() => undefined);
    for (const event of [1, 2, 3, 4]) queue.push(event);
    expect(reader.take()).toEqual([20]);
    expect(reader.rearm()).toBe(false);
    expect(reader.end()).toMatchObject({ error: { message: 'three' } });
    expect(reader.take()).toEqual([]);
    expect(queue.ended).toBe(true);
  });

  test('through endedBy: the end is reported when it is read', () => {
    const queue = new WatchQueue<number>();
    let ends = 0;
    const reader = endedBy(queue, () => ends++).read!(() => undefined);
    queue.push(1);
    queue.close();
    expect(reader.take()).toEqual([1]);
    expect(ends).toBe(0);
    expect(reader.end()).toBe('closed');
    expect(ends).toBe(1);
  });
});
