import { describe, expect, test } from 'vitest';
import { WorkQueue } from './work-queue.ts';

describe('WorkQueue', () => {
  test('returns keys in the order in which they were first added, each once', async () => {
    const queue = new WorkQueue();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    expect(queue.length).toBe(3);
    expect([await queue.get(), await queue.get(), await queue.get()]).toEqual(['a', 'b', 'c']);
    expect(queue.length).toBe(0);
  });

  test('never returns a key to two workers; one added meanwhile comes again after done', async () => {
    const queue = new WorkQueue();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    expect(queue.length).toBe(0);
    const second = queue.get();
    queue.add('b');
    expect(await second).toBe('b');
    queue.done('a');
    expect(await queue.get()).toBe('a');
    queue.done('a');
    expect(queue.length).toBe(0);
  });

  test('returns a key to the worker that has waited longest', async () => {
    const queue = new WorkQueue();
    const [first, second] = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    expect(await first).toBe('a');
    expect(await second).toBe('b');
    queue.add('a');
    queue.done('a');
    expect(queue.length).toBe(1);
  });

  test('returns queued keys when it shuts down, then undefined, and accepts no more', async () => {
    const queue = new WorkQueue();
    queue.add('a');
    queue.shutDown();
    queue.add('b');
    expect(await queue.get()).toBe('a');
    expect(await queue.get()).toBeUndefined();
    const waiting = new WorkQueue();
    const get = waiting.get();
    waiting.shutDown();
    expect(await get).toBeUndefined();
  });

  test('shutDownWithDrain waits for queued keys and those added while a worker has them', async () => {
    const queue = new WorkQueue();
    queue.add('a');
    queue.add('b');
    await queue.get();
    queue.add('a');
    let drained = false;
    const drain = queue.shutDownWithDrain().then(() => {
      drained = true;
    });
    queue.done('a');
    for (const key of ['b', 'a']) {
      await Promise.resolve();
      expect(drained).toBe(false);
      expect(await queue.get()).toBe(key);
      queue.done(key);
    }
    await drain;
    expect(await queue.get()).toBeUndefined();
    await new WorkQueue().shutDownWithDrain();
  });

  test('keeps its order over many keys', async () => {
    const queue = new WorkQueue<number>();
    const taken: (number | undefined)[] = [];
    for (let i = 0; i < 5000; i++) {
      queue.add(i);
      if (i % 3 === 2) taken.push(await queue.get());
    }
    while (queue.length > 0) taken.push(await queue.get());
    expect(taken).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  });
});
