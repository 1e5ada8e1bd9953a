import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  deepCopy,
  deepEqual,
  deepFreeze,
  getOwn,
  isPlainObject,
  isWithinDepth,
  emptyMap,
  semanticEqual,
  setOwn,
  stableStringify,
} from './deep.ts';

describe('isPlainObject', () => {
  test('accepts objects with keys only', () => {
    expect([{}, Object.create(null), { a: 1 }].map((value) => isPlainObject(value))).toEqual([
      true,
      true,
      true,
    ]);
    const others = [null, undefined, 1, 'a', [], new Map(), new Date(0), new Uint8Array(1)];
    expect(others.some((value) => isPlainObject(value))).toBe(false);
  });
});

describe('own keys', () => {
  test('do not include inherited ones', () => {
    expect([getOwn({}, 'constructor'), getOwn({}, '__proto__'), getOwn({ a: 1 }, 'a')]).toEqual([
      undefined,
      undefined,
      1,
    ]);
  });

  test('may be __proto__, without changing the prototype', () => {
    const object: Record<string, unknown> = {};
    setOwn(object, '__proto__', { polluted: true });
    setOwn(object, 'a', 1);
    expect(Object.keys(object)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    expect(object.polluted).toBeUndefined();
    expect(JSON.stringify(object)).toBe('{"__proto__":{"polluted":true},"a":1}');
  });
});

describe('deepEqual', () => {
  test.each([
    [1, 1, true],
    [1, '1', false],
    [null, undefined, false],
    [null, {}, false],
    [[], {}, false],
    [[1, 2], [1, 2], true],
    [[1, 2], [2, 1], false],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: 1, b: undefined }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: null }, false],
    [{ a: {} }, { a: [] }, false],
    [{}, { constructor: Object }, false],
    [JSON.parse('{"__proto__":1}'), {}, false],
    [JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), true],
  ])('%j and %j: %s', (a, b, expected) => {
    expect(deepEqual(a, b)).toBe(expected);
    expect(deepEqual(b, a)).toBe(expected);
  });

  test('agrees with stableStringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        // JSON has no -0.
        const [x, y] = [
          JSON.parse(JSON.stringify(a)) as unknown,
          JSON.parse(JSON.stringify(b)) as unknown,
        ];
        expect(deepEqual(x, deepCopy(x))).toBe(true);
        expect(deepEqual(x, y)).toBe(stableStringify(x) === stableStringify(y));
      }),
    );
  });
});

describe('semanticEqual', () => {
  test.each([
    [{}, { a: null, b: [], d: undefined }, true],
    [undefined, null, true],
    [null, [], true],
    [[], {}, false],
    [{ labels: emptyMap() }, {}, true],
    [emptyMap(), [], true],
    [emptyMap(), {}, true],
    [emptyMap(), { a: 1 }, false],
    [{ emptyDir: {} }, {}, false],
    [{ a: { b: [] } }, { a: {} }, true],
    [{ a: 0 }, {}, false],
    [{ a: '' }, {}, false],
    [{ a: false }, {}, false],
    [[null], [], false],
    [[{ a: null }], [{}], true],
    [{ a: [1] }, { a: [1] }, true],
    [{ a: [1] }, { a: [2] }, false],
    [{ a: 1, b: [] }, { a: 1 }, true],
    [1, { a: 1 }, false],
    [[1], { 0: 1 }, false],
  ])('%j and %j: %s', (a, b, expected) => {
    expect(semanticEqual(a, b)).toBe(expected);
    expect(semanticEqual(b, a)).toBe(expected);
  });
});

describe('deepFreeze and deepCopy', () => {
  test('freeze everything below', () => {
    const value = deepFreeze({ a: [{ b: 1 }], bytes: new Uint8Array(2) });
    expect(() => ((value.a[0] as { b: number }).b = 2)).toThrow(TypeError);
    expect(() => value.a.push({ b: 2 })).toThrow(TypeError);
    expect(deepFreeze('text')).toBe('text');
    expect(deepFreeze(value)).toBe(value);
  });

  test('copy everything, and share nothing', () => {
    const value = deepFreeze(
      JSON.parse('{"a":[{"b":1}],"__proto__":{"c":2}}') as { a: { b: number }[] },
    );
    const copy = deepCopy(value);
    expect(deepEqual(copy, value)).toBe(true);
    (copy.a[0] as { b: number }).b = 5;
    expect(value.a[0]?.b).toBe(1);
    expect(Object.keys(copy)).toContain('__proto__');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });
});

describe('stableStringify', () => {
  test('sorts keys at every level', () => {
    expect(stableStringify({ b: [{ d: 1, c: undefined, a: null }], a: 'x' })).toBe(
      '{"a":"x","b":[{"a":null,"d":1}]}',
    );
    expect(stableStringify(undefined)).toBe('null');
    expect(stableStringify([undefined])).toBe('[null]');
  });
});

describe('isWithinDepth', () => {
  test('counts levels of objects and lists', () => {
    expect([isWithinDepth(1, 0), isWithinDepth({}, 0), isWithinDepth({}, 1)]).toEqual([
      true,
      false,
      true,
    ]);
    expect([
      isWithinDepth({ a: [1] }, 1),
      isWithinDepth({ a: [1] }, 2),
      isWithinDepth([[[]]], 3),
    ]).toEqual([false, true, true]);
  });
});
