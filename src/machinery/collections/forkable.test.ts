// Compares the forkable collections with plain ones: random operations on many forks, each of which
// is compared with a copy.

import { describe, expect, test } from 'vitest';
import { SeededRandom } from '../random.ts';
import { ForkableLog } from './forkable-log.ts';
import { ForkableMap } from './forkable-map.ts';

describe('a forkable map', () => {
  test('is a plain map until it is forked', () => {
    const map = new ForkableMap<{ n: number }>();
    map.set('a', { n: 1 });
    map.set('a', { n: 2 });
    expect([map.get('a'), map.size, map.delete('a'), map.delete('a'), map.size]).toEqual([
      { n: 2 },
      1,
      true,
      false,
      0,
    ]);
  });

  test('and its forks change without each other', () => {
    const random = new SeededRandom('maps');
    const pairs = [
      { map: new ForkableMap<{ n: number }>(), plain: new Map<string, { n: number }>() },
    ];
    for (let step = 0; step < 20_000; step++) {
      const { map, plain } = pairs[random.int(pairs.length)] as (typeof pairs)[0];
      const key = `key-${random.int(700)}`;
      const action = random.int(1000);
      if (action < 5) {
        const fork = { map: map.fork(), plain: new Map(plain) };
        if (pairs.length < 12) pairs.push(fork);
        else pairs[random.int(pairs.length)] = fork;
      } else if (action < 600) {
        const value = { n: step };
        map.set(key, value);
        plain.set(key, value);
      } else expect(map.delete(key)).toBe(plain.delete(key));
      expect(map.size).toBe(plain.size);
    }
    for (const { map, plain } of pairs)
      for (let n = 0; n < 700; n++) expect(map.get(`key-${n}`)).toBe(plain.get(`key-${n}`));
  });
});

describe('a forkable log', () => {
  test('and its forks change without each other', () => {
    const random = new SeededRandom('logs');
    const pairs: { log: ForkableLog<number>; plain: number[] }[] = [
      { log: new ForkableLog(), plain: [] },
    ];
    for (let step = 0; step < 30_000; step++) {
      const { log, plain } = pairs[random.int(pairs.length)] as (typeof pairs)[0];
      const action = random.int(1000);
      if (action < 10) {
        const fork = { log: log.fork(), plain: plain.slice() };
        if (pairs.length < 12) pairs.push(fork);
        else pairs[random.int(pairs.length)] = fork;
      } else if (action < 980) {
        log.push(step);
        plain.push(step);
      } else if (action < 990) {
        const count = random.int(400);
        log.dropFirst(count);
        plain.splice(0, count);
      } else {
        const count = random.int(300);
        log.dropLast(count);
        plain.splice(Math.max(0, plain.length - count));
      }
      expect(log.length).toBe(plain.length);
    }
    for (const { log, plain } of pairs) {
      expect(Array.from({ length: log.length }, (_, index) => log.at(index))).toEqual(plain);
      expect([log.at(-1), log.at(log.length)]).toEqual([undefined, undefined]);
    }
  });
});
