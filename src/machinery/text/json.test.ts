import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countKeys, JsonError, parseJson, parseJsonCounting } from './json.ts';

const encoder = new TextEncoder();

function kindOf(text: string, options?: Parameters<typeof parseJson>[1]): string {
  try {
    parseJson(encoder.encode(text), options);
  } catch (error) {
    if (error instanceof JsonError) return error.kind;
    throw error;
  }
  return 'ok';
}

describe('parseJson', () => {
  test('parses the same texts as JSON.parse', () => {
    fc.assert(
      fc.property(
        fc.json().filter((json) => !/\d{16}/.test(json)),
        (text) => {
          const value: unknown = JSON.parse(text);
          expect(parseJson(encoder.encode(text))).toEqual(value);
          expect(parseJson(text)).toEqual(value);
        },
      ),
    );
  });

  test('reads from the middle of a buffer', () => {
    const bytes = encoder.encode('xx{"a":"ä"}yy');
    expect(parseJson(bytes.subarray(2, bytes.length - 2))).toEqual({ a: 'ä' });
  });

  test('keeps __proto__ as an own key', () => {
    const value = parseJson('{"__proto__":{"a":1},"constructor":2}') as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test.each(['', '{', '[1,]', '{"a":}', 'nul', '"unterminated', '"\\', '{"a":1}}', "{'a':1}"])(
    'refuses %j',
    (text) => {
      expect(kindOf(text)).toBe('syntax');
    },
  );

  test('limits nesting before any value is created', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(kindOf(nested(256))).toBe('ok');
    expect(kindOf(nested(257))).toBe('limit');
    expect(kindOf(nested(3), { maxDepth: 2 })).toBe('limit');
    expect(kindOf('{"a":{"b":{}}}', { maxDepth: 2 })).toBe('limit');
    expect(() => parseJson('['.repeat(3_000_000))).toThrow('exceeded max depth of 256');
  });

  test('counts open brackets only, and none in strings', () => {
    expect(kindOf(`[${'[],'.repeat(1000)}[]]`, { maxDepth: 2 })).toBe('ok');
    expect(kindOf(JSON.stringify('[[[{{{'), { maxDepth: 1 })).toBe('ok');
    expect(kindOf(JSON.stringify({ 'a"[[[': '\\"[[[', b: '\\' }), { maxDepth: 1 })).toBe('ok');
    expect(kindOf('["\\\\",[1]]', { maxDepth: 1 })).toBe('limit');
    expect(kindOf('["\\\\\\"",[[1]]]', { maxDepth: 2 })).toBe('limit');
  });

  test('limits size', () => {
    expect(kindOf('[1,2,3]', { maxBytes: 7 })).toBe('ok');
    expect(kindOf('[1,2,3]', { maxBytes: 6 })).toBe('limit');
  });

  test.each([
    ['9007199254740991', 'ok'],
    ['-9007199254740991', 'ok'],
    ['9007199254740992', 'number'],
    ['[-9007199254740993]', 'number'],
    ['{"a":9223372036854775807}', 'number'],
    ['0.12345678901234567890', 'ok'],
    ['12345678901234567890.5', 'ok'],
    ['12345678901234567890e3', 'ok'],
    ['"12345678901234567890"', 'ok'],
    ['{"12345678901234567890":1}', 'ok'],
    ['1e400', 'ok'],
  ])('lets no integer lose its value: %s', (text, kind) => {
    expect(kindOf(text)).toBe(kind);
  });

  test('takes linear time, whatever the quotes and backslashes', () => {
    expect(kindOf(`"${'\\\\'.repeat(500_000)}"`)).toBe('ok');
    expect(kindOf(`"${'\\"'.repeat(500_000)}"`)).toBe('ok');
  });
});

test('surrogates without their other half become replacement characters', () => {
  const text = String.raw`{"\ud800":["a\uDC00b","\ud83d\ude00","\u0041",1,null]}`;
  expect(parseJson(text)).toEqual({ '\uFFFD': ['a\uFFFDb', '😀', 'A', 1, null] });
});

describe('the number of keys', () => {
  test.each([
    ['null', 0, 0],
    ['{"a":1,"b":{"c":null},"d":[{"e":1},[{"f":2}],null]}', 6, 6],
    ['{"a:b":"{\\"c\\":1}", "\\u0064" : 2}', 2, 2],
    ['{"__proto__":{"toString":1}}', 2, 2],
    ['{"a":1,"a":2}', 2, 1],
    ['{"a":1,"\\u0061":2,"b":{"c":1,"c":{"d":1}}}', 6, 4],
    ['{"a":{"b":1,"c":2},"a":3}', 4, 1],
  ])('of %s is %i, of which %i stay', (text, given, kept) => {
    const { value, keys } = parseJsonCounting(encoder.encode(text));
    expect([keys, countKeys(value)]).toEqual([given, kept]);
  });

  test('equals that of the value without duplicate keys', () => {
    fc.assert(
      fc.property(
        fc.object({ values: [fc.string(), fc.boolean(), fc.integer(), fc.constant(null)] }),
        (object) => {
          const once = JSON.stringify(object);
          const { value, keys } = parseJsonCounting(encoder.encode(once));
          expect(keys).toBe(countKeys(value));
        },
      ),
    );
  });
});
