import { describe, expect, test } from 'vitest';
import { SeededRandom, systemRandom, type Random } from './random.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe.each<[string, () => Random]>([
  ['systemRandom', () => systemRandom],
  ['SeededRandom', () => new SeededRandom('test')],
])('%s', (_name, make) => {
  test('returns floats in [0, 1), evenly distributed', () => {
    const random = make();
    let sum = 0;
    for (let i = 0; i < 10_000; i++) {
      const value = random.float();
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThan(1);
      sum += value;
    }
    // Ten standard deviations: the test practically never fails by chance.
    expect(Math.abs(sum / 10_000 - 0.5)).toBeLessThan(0.03);
  });

  test('returns integers, evenly distributed', () => {
    const random = make();
    const counts = [0, 0, 0, 0, 0, 0, 0];
    for (let i = 0; i < 14_000; i++) {
      const index = random.int(7);
      counts[index] = counts[index]! + 1;
    }
    for (const count of counts) expect(Math.abs(count - 2000)).toBeLessThan(450);
    expect(random.int(1)).toBe(0);
    expect(random.int(2 ** 40)).toBeLessThan(2 ** 40);
    expect(() => random.int(0)).toThrow(RangeError);
    expect(() => random.int(1.5)).toThrow(RangeError);
  });

  test('returns version 4 UUIDs, all different', () => {
    const random = make();
    const seen = new Set<string>();
    for (let i = 0; i < 1000; i++) {
      const uuid = random.uuid();
      expect(uuid).toMatch(UUID);
      seen.add(uuid);
    }
    expect(seen.size).toBe(1000);
  });

  test("returns suffixes of Kubernetes' alphabet", () => {
    const random = make();
    expect(random.nameSuffix(5)).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(random.nameSuffix(0)).toBe('');
  });

  test('returns the requested number of bytes', () => {
    const random = make();
    expect(random.bytes(0)).toHaveLength(0);
    expect(random.bytes(13)).toHaveLength(13);
    expect(new Set(random.bytes(4096)).size).toBeGreaterThan(250);
  });
});

describe('SeededRandom', () => {
  test('repeats its sequence', () => {
    const draw = (seed: number | string) => {
      const random = new SeededRandom(seed);
      return [
        random.uuid(),
        random.int(1000),
        random.float(),
        random.nameSuffix(5),
        ...random.bytes(5),
      ];
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw('a')).toEqual(draw('a'));
    expect(draw(1)).not.toEqual(draw(2));
    expect(draw(1)).not.toEqual(draw(1.5));
    expect(draw(1)).not.toEqual(draw(1 + 2 ** 32));
  });

  test('keeps the sequence of a seed from release to release', () => {
    const random = new SeededRandom(1);
    expect([random.uuid(), random.nameSuffix(5), random.int(10)]).toEqual([
      'd4197117-e52d-4681-b39a-60e37ac1bc7c',
      'jjgrg',
      4,
    ]);
  });

  test('derives sequences that do not depend on earlier draws', () => {
    const fresh = new SeededRandom(7);
    const used = new SeededRandom(7);
    used.uuid();
    expect(used.derive('kubelet').uuid()).toBe(fresh.derive('kubelet').uuid());
    expect(fresh.derive('kubelet').uuid()).not.toBe(fresh.derive('scheduler').uuid());
  });

  test('continues from a state, with what was derived', () => {
    const random = new SeededRandom('s');
    random.uuid();
    const derived = random.derive('a');
    derived.uuid();
    random.derive('b').derive('c').uuid();
    const state = random.state();
    const copy = SeededRandom.fromState(state);
    const again = SeededRandom.fromState(copy.state());
    for (const other of [copy, again]) {
      const restored = SeededRandom.fromState(state);
      expect(other.uuid()).toBe(restored.uuid());
      expect(other.derive('b').derive('c').uuid()).toBe(restored.derive('b').derive('c').uuid());
      expect(other.derive('a').uuid()).not.toBe(new SeededRandom('s').derive('a').uuid());
    }
    const next = SeededRandom.fromState(state).derive('a').uuid();
    expect(next).toBe(derived.uuid());
  });
});
