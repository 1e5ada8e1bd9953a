import { describe, expect, test } from 'vitest';
import { ALL_IDS, IdRangeError, IdRanges } from './id-ranges.ts';

const UNIT = 65_536;
const all = (): IdRanges => new IdRanges({ first: UNIT, length: ALL_IDS - UNIT }, UNIT, 110);
const two = (): IdRanges => new IdRanges({ first: 4 * UNIT, length: 2 * UNIT }, UNIT, 2);

test('ranges are aligned and disjoint, and none contains root', () => {
  const ranges = all();
  const firsts = Array.from({ length: 500 }, (_, index) => ranges.allocate(`pod-${index}`).first);
  expect(new Set(firsts).size).toBe(500);
  for (const first of firsts) {
    expect(first % UNIT).toBe(0);
    expect(first).toBeGreaterThanOrEqual(UNIT);
    expect(first + UNIT).toBeLessThanOrEqual(ALL_IDS);
  }
});

test('ranges run out, and come back', () => {
  const ranges = two();
  expect(ranges.allocate('a')).toEqual({ first: 4 * UNIT, length: UNIT });
  expect(ranges.allocate('b')).toEqual({ first: 5 * UNIT, length: UNIT });
  expect(() => ranges.allocate('c')).toThrow(
    'could not find an empty slot to allocate a user namespace',
  );
  ranges.release('b');
  ranges.release('b');
  ranges.release('unknown');
  expect(ranges.allocate('c').first).toBe(5 * UNIT);
  expect([...ranges.pods()]).toEqual(['a', 'c']);
});

test('a released range is not the next one to be used', () => {
  const ranges = all();
  const { first } = ranges.allocate('a');
  ranges.release('a');
  expect(ranges.allocate('b').first).not.toBe(first);
});

describe('a range of a former run', () => {
  test('is not given to others', () => {
    const ranges = two();
    ranges.record('old', { first: 4 * UNIT, length: UNIT });
    ranges.record('old', { first: 4 * UNIT, length: UNIT });
    expect(ranges.allocate('new').first).toBe(5 * UNIT);
  });

  test.each([
    [{ first: 4 * UNIT, length: 2 * UNIT }, 'wrong user namespace length 131072'],
    [{ first: 4 * UNIT + 1, length: UNIT }, 'wrong user namespace offset specified 262145'],
    [{ first: 0, length: UNIT }, 'id 0 is out of range'],
    [{ first: 6 * UNIT, length: UNIT }, 'id 393216 is out of range'],
    [{ first: 5 * UNIT, length: UNIT }, 'range picked for pod "new" already taken'],
  ])('%j is rejected', (range, message) => {
    const ranges = two();
    ranges.record('old', { first: 5 * UNIT, length: UNIT });
    expect(() => ranges.record('new', range)).toThrow(message);
  });

  test('cannot be a second one of the pod', () => {
    const ranges = two();
    ranges.record('old', { first: 5 * UNIT, length: UNIT });
    expect(() => ranges.record('old', { first: 4 * UNIT, length: UNIT })).toThrow(
      'different user namespace range already used by pod "old"',
    );
  });
});

test.each([
  [{ first: UNIT + 1, length: 200 * UNIT }, 'kubelet user assigned ID 65537 is not a multiple of'],
  [{ first: 0, length: 200 * UNIT }, 'kubelet user assigned ID 0 must be greater or equal to'],
  [{ first: UNIT, length: 200 * UNIT + 1 }, 'IDs length 13107201 is not a multiple of 65536'],
  [{ first: UNIT, length: 109 * UNIT }, 'are not enough to support 110 pods'],
])('the available IDs %j are rejected', (available, message) => {
  expect(() => new IdRanges(available, UNIT, 110)).toThrow(IdRangeError);
  expect(() => new IdRanges(available, UNIT, 110)).toThrow(message);
});
