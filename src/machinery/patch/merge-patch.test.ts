import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deepEqual, deepFreeze } from '../deep.ts';
import { applyMergePatch, createMergePatch, MergePatchDepthError } from './merge-patch.ts';

describe('applyMergePatch', () => {
  test.each<[unknown, unknown, unknown]>([
    // The examples of RFC 7386, appendix A.
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    // Additional examples.
    [{ a: null }, { a: null }, {}],
    [undefined, { a: 1 }, { a: 1 }],
    [{ a: 1 }, { a: { b: null } }, { a: {} }],
    [{ a: [{ b: 1 }] }, { a: [{ b: null }] }, { a: [{ b: null }] }],
    [{ a: 1 }, { toString: null }, { a: 1 }],
  ])('%j and %j', (target, patch, expected) => {
    expect(applyMergePatch(deepFreeze(target), deepFreeze(patch))).toEqual(expected);
  });

  test('shares unchanged parts, and returns the target if nothing changes', () => {
    const target = deepFreeze({ a: { b: 1 }, c: { d: 1 } });
    const result = applyMergePatch(target, { c: { d: 2 } }) as typeof target;
    expect(result.a).toBe(target.a);
    expect(applyMergePatch(target, { a: { b: 1 }, x: null })).toBe(target);
    expect(applyMergePatch(target, {})).toBe(target);
  });

  test('treats __proto__ as an ordinary key', () => {
    const patch: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const result = applyMergePatch({ a: 1 }, patch) as Record<string, unknown>;
    expect(JSON.stringify(result)).toBe('{"a":1,"__proto__":{"polluted":true}}');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(
      JSON.stringify(applyMergePatch(result, JSON.parse('{"__proto__":{"polluted":null,"x":1}}'))),
    ).toBe('{"a":1,"__proto__":{"x":1}}');
    expect(JSON.stringify(applyMergePatch(result, JSON.parse('{"__proto__":null}')))).toBe(
      '{"a":1}',
    );
  });

  test('is bounded in depth', () => {
    const nested = (depth: number): unknown =>
      JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth));
    expect(applyMergePatch({}, nested(5), 5)).toEqual(nested(5));
    expect(() => applyMergePatch({}, nested(6), 5)).toThrow(MergePatchDepthError);
    expect(() => applyMergePatch({}, nested(5000))).toThrow('exceeded max depth of 512');
  });
});

describe('createMergePatch', () => {
  const key = fc.constantFrom('a', 'b', 'c', '__proto__');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(0, 1, 'x', true),
      fc.array(tie('value'), { maxLength: 3 }),
      fc
        .array(fc.tuple(key, tie('value')), { maxLength: 3 })
        .map((entries): unknown => Object.fromEntries(entries)),
    ),
  }));

  test('returns a patch that applyMergePatch turns into the modified document', () => {
    fc.assert(
      fc.property(value, value, (original, modified) => {
        const patch = createMergePatch(original, modified);
        if (patch === undefined) expect(deepEqual(original, modified)).toBe(true);
        else expect(deepEqual(applyMergePatch(original, patch), modified)).toBe(true);
        expect(createMergePatch(original, original)).toBeUndefined();
      }),
    );
  });

  test('returns a minimal patch', () => {
    const original = { a: { b: 1, c: [1] }, d: 1, e: 1 };
    expect(createMergePatch(original, { a: { b: 2, c: [1] }, d: 1 })).toEqual({
      a: { b: 2 },
      e: null,
    });
  });
});
