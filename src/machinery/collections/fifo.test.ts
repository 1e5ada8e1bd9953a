import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fifo } from './fifo.ts';

describe('Fifo', () => {
  test('returns items in order, as an array does', () => {
    const command = fc.oneof(
      { weight: 3, arbitrary: fc.constant('push') },
      { weight: 2, arbitrary: fc.constant('shift') },
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(command, fc.constant('clear')), { maxLength: 300 }),
        (commands) => {
          const fifo = new Fifo<number>();
          const model: number[] = [];
          commands.forEach((name, index) => {
            if (name === 'push') {
              fifo.push(index);
              model.push(index);
            } else if (name === 'shift') expect(fifo.shift()).toBe(model.shift());
            else if (index % 50 === 0) {
              fifo.clear();
              model.length = 0;
            }
            expect(fifo.length).toBe(model.length);
          });
          while (model.length > 0) expect(fifo.shift()).toBe(model.shift());
          expect(fifo.shift()).toBeUndefined();
        },
      ),
    );
  });

  test('keeps its order over many bursts of any size', () => {
    const fifo = new Fifo<number>();
    let pushed = 0;
    let shifted = 0;
    for (let burst = 1; burst < 5000; burst = burst * 3 + 1) {
      for (let i = 0; i < burst; i++) fifo.push(pushed++);
      for (let i = 0; i < burst - 1; i++) expect(fifo.shift()).toBe(shifted++);
    }
    while (fifo.length > 0) expect(fifo.shift()).toBe(shifted++);
    expect(shifted).toBe(pushed);
  });

  test('does not retain removed items, though it never is empty', async () => {
    const fifo = new Fifo<object>();
    const taken: WeakRef<object>[] = [];
    fifo.push({});
    for (let i = 0; i < 100; i++) {
      fifo.push({});
      taken.push(new WeakRef(fifo.shift()!));
    }
    // A WeakRef keeps its target until the end of the turn in which the WeakRef was created.
    await new Promise((resolve) => setImmediate(resolve));
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(taken.filter((reference) => reference.deref() !== undefined).length).toBeLessThanOrEqual(
      1,
    );
    expect(fifo.length).toBe(1);
  });
});
