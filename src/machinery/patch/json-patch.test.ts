import fastJsonPatch from 'fast-json-patch';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deepCopy, deepEqual, deepFreeze } from '../deep.ts';
import {
  applyJsonPatch,
  applyJsonPatchInParts,
  JsonPatchError,
  type JsonPatchErrorKind,
  type JsonPatchOperation,
  MAX_JSON_PATCH_OPERATIONS,
  parseJsonPatch,
  unknownFields,
} from './json-patch.ts';

function apply(document: unknown, patch: unknown): unknown {
  return applyJsonPatch(deepFreeze(document), parseJsonPatch(deepFreeze(patch)));
}

function failure(document: unknown, patch: unknown): { kind: JsonPatchErrorKind; message: string } {
  try {
    apply(document, patch);
  } catch (error) {
    if (error instanceof JsonPatchError) return { kind: error.kind, message: error.message };
    throw error;
  }
  throw new Error('the patch applied');
}

describe('operations', () => {
  test.each<[string, unknown, unknown[], unknown]>([
    [
      'what is missing is copied as null',
      { a: 1 },
      [{ op: 'copy', from: '/b', path: '/c' }],
      { a: 1, c: null },
    ],
    // The examples of RFC 6902, appendix A.
    [
      'A.1',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux' }],
      { baz: 'qux', foo: 'bar' },
    ],
    [
      'A.2',
      { foo: ['bar', 'baz'] },
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    ['A.3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    [
      'A.4',
      { foo: ['bar', 'qux', 'baz'] },
      [{ op: 'remove', path: '/foo/1' }],
      { foo: ['bar', 'baz'] },
    ],
    [
      'A.5',
      { baz: 'qux', foo: 'bar' },
      [{ op: 'replace', path: '/baz', value: 'boo' }],
      { baz: 'boo', foo: 'bar' },
    ],
    [
      'A.6',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'A.7',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'A.8',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'A.10',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    [
      'A.11',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }],
      { foo: 'bar', baz: 'qux' },
    ],
    ['A.14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [
      'A.16',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
    // Additional examples.
    ['the whole document', { a: 1 }, [{ op: 'replace', path: '', value: [1] }], [1]],
    ['the whole document, added', { a: 1 }, [{ op: 'add', path: '', value: {} }], {}],
    ['at the end of a list', [1, 2], [{ op: 'add', path: '/2', value: 3 }], [1, 2, 3]],
    ['from the end of a list', [1, 2, 3], [{ op: 'remove', path: '/-1' }], [1, 2]],
    [
      'an escaped key',
      { metadata: { labels: {} } },
      [{ op: 'add', path: '/metadata/labels/a.b~1c', value: 'd' }],
      { metadata: { labels: { 'a.b/c': 'd' } } },
    ],
    [
      'over an existing key',
      { a: { b: 1 } },
      [{ op: 'add', path: '/a/b', value: 2 }],
      { a: { b: 2 } },
    ],
    ['null where there is none', {}, [{ op: 'test', path: '/a', value: null }], {}],
    ['null', { a: 1 }, [{ op: 'replace', path: '/a', value: null }], { a: null }],
    ['what is not there', {}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    ['a value that is left out', { a: 1 }, [{ op: 'add', path: '/b' }], { a: 1, b: null }],
    [
      'copy',
      { a: { b: [1] } },
      [{ op: 'copy', from: '/a/b', path: '/a/c' }],
      { a: { b: [1], c: [1] } },
    ],
    ['move onto itself', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    [
      'test whatever the order of keys',
      { a: { b: 1, c: 2 } },
      [{ op: 'test', path: '/a', value: { c: 2, b: 1 } }],
      { a: { b: 1, c: 2 } },
    ],
    ['an empty key', { '': { a: 1 } }, [{ op: 'remove', path: '//a' }], { '': {} }],
    ['nothing', { a: 1 }, [], { a: 1 }],
  ])('%s', (_name, document, patch, expected) => {
    expect(apply(document, patch)).toEqual(expected);
  });

  test('share unchanged parts', () => {
    const document = deepFreeze({ a: { b: 1 }, c: { d: { e: 1 }, f: [1] } });
    const result = apply(document, [{ op: 'add', path: '/c/d/e', value: 2 }]) as typeof document;
    expect(result.a).toBe(document.a);
    expect(result.c.f).toBe(document.c.f);
    expect(document.c.d.e).toBe(1);
  });

  test('treat __proto__ as an ordinary key', () => {
    const result = apply({ a: 1 }, [
      { op: 'add', path: '/__proto__', value: { polluted: true } },
      { op: 'test', path: '/__proto__/polluted', value: true },
      { op: 'add', path: '/__proto__/more', value: 1 },
    ]) as Record<string, unknown>;
    expect(JSON.stringify(result)).toBe('{"a":1,"__proto__":{"polluted":true,"more":1}}');
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(apply(result, [{ op: 'remove', path: '/__proto__' }])).toEqual({ a: 1 });
    expect(failure({}, [{ op: 'add', path: '/constructor/prototype/x', value: 1 }]).kind).toBe(
      'failed',
    );
  });
});

describe('failures', () => {
  test.each<[unknown, unknown[], JsonPatchErrorKind, string]>([
    [
      { foo: 'bar' },
      [{ op: 'add', path: '/baz/bat', value: 1 }],
      'failed',
      'add operation does not apply: doc is missing path: "/baz/bat": missing value',
    ],
    [
      { foo: 'bar' },
      [{ op: 'add', path: '/foo/bat', value: 1 }],
      'failed',
      'add operation does not apply: doc is missing path: "/foo/bat": missing value',
    ],
    [
      { foo: [1] },
      [{ op: 'add', path: '/foo/3', value: 1 }],
      'failed',
      'Unable to access invalid index: 3: invalid index referenced',
    ],
    [
      { foo: [1] },
      [{ op: 'add', path: '/foo/x', value: 1 }],
      'failed',
      'Unable to access invalid index: x: invalid index referenced',
    ],
    [
      {},
      [{ op: 'remove', path: '/a' }],
      'failed',
      "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
    ],
    [
      { a: [1] },
      [{ op: 'remove', path: '/a/1' }],
      'failed',
      "error in remove for path: '/a/1': Unable to access invalid index: 1: invalid index referenced",
    ],
    [
      {},
      [{ op: 'remove', path: '/a/b' }],
      'failed',
      'remove operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    [
      { a: [] },
      [{ op: 'replace', path: '/a/0', value: 1 }],
      'failed',
      'replace operation does not apply: doc is missing key: /a/0: missing value',
    ],
    [
      {},
      [{ op: 'replace', path: '/a/b', value: 1 }],
      'failed',
      'replace operation does not apply: doc is missing path: /a/b: missing value',
    ],
    [
      { a: 1 },
      [{ op: 'test', path: '/a', value: 2 }],
      'failed',
      'testing value /a failed: test failed',
    ],
    [
      { a: 1 },
      [{ op: 'test', path: '/a', value: '1' }],
      'failed',
      'testing value /a failed: test failed',
    ],
    [
      {},
      [{ op: 'test', path: '/a/b', value: 1 }],
      'failed',
      'test operation does not apply: is missing path: /a/b: missing value',
    ],
    [
      {},
      [{ op: 'copy', from: '/a/b', path: '/b' }],
      'failed',
      'copy operation does not apply: doc is missing from path: /a/b: missing value',
    ],
    [
      { a: [] },
      [{ op: 'copy', from: '/a/0', path: '/b' }],
      'failed',
      "error in copy for from: '/a/0': Unable to access invalid index: 0: invalid index referenced",
    ],
    [
      {},
      [{ op: 'move', from: '/a', path: '/b' }],
      'failed',
      "error in move for path: 'a': Unable to remove nonexistent key: a: missing value",
    ],
    [
      {},
      [{ op: 'move', from: '/a/b', path: '/b' }],
      'failed',
      'move operation does not apply: doc is missing from path: /a/b: missing value',
    ],
    [
      { a: { b: 1 } },
      [{ op: 'move', from: '/a', path: '/a/b' }],
      'failed',
      'move operation does not apply: doc is missing destination path: /a/b: missing value',
    ],
    [{}, [{ op: 'spam', path: '/a' }], 'failed', 'Unexpected kind: spam'],
    [{}, [{ path: '/a' }], 'failed', 'Unexpected kind: unknown'],
    [{}, [{ op: 'remove' }], 'failed', 'a JSON patch operation needs "path"'],
    [{}, [{ op: 'copy', path: '/a' }], 'failed', 'a JSON patch operation needs "from"'],
    [
      {},
      [{ op: 'remove', path: 'a' }],
      'failed',
      '"a" is no JSON pointer: it must begin with \'/\'',
    ],
    [
      {},
      ['remove'],
      'malformed',
      'error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp',
    ],
    [
      {},
      [{ op: 'add', path: 1 }],
      'malformed',
      'error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string',
    ],
    [{}, [null], 'failed', 'a JSON patch operation needs "path"'],
  ])('%j %j', (document, patch, kind, message) => {
    expect(failure(document, patch)).toEqual({ kind, message });
  });

  test('of a patch that is no list', () => {
    expect(failure({}, { op: 'add' })).toEqual({
      kind: 'malformed',
      message:
        'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    });
  });

  test('of too many operations', () => {
    const patch = Array.from({ length: MAX_JSON_PATCH_OPERATIONS + 1 }, () => ({
      op: 'test',
      path: '',
      value: {},
    }));
    expect(failure({}, patch)).toEqual({
      kind: 'limit',
      message: 'The allowed maximum operations in a JSON patch is 10000, got 10001',
    });
    expect(apply({}, patch.slice(1))).toEqual({});
  });

  test('of copies that grow exponentially', () => {
    const patch = Array.from({ length: 60 }, (_, i) => ({
      op: 'copy',
      from: '/a',
      path: `/a/${i}`,
    }));
    expect(failure({ a: { x: 'x'.repeat(100) } }, patch)).toMatchObject({ kind: 'limit' });
  });

  test('leave the document unchanged', () => {
    const document = deepFreeze({ a: 1 });
    failure(document, [
      { op: 'add', path: '/b', value: 1 },
      { op: 'remove', path: '/c' },
    ]);
    expect(document).toEqual({ a: 1 });
  });
});

describe('against another implementation', () => {
  const key = fc.constantFrom('a', 'b', '0', '1', '-');
  const path = fc.array(key, { minLength: 1, maxLength: 2 }).map((steps) => `/${steps.join('/')}`);
  const leaf = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('x', true));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', '1'), tie('value'), {
        minKeys: 2,
        noNullPrototype: true,
      }),
    ),
  }));
  const operation = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path, value }),
    fc.record({ op: fc.constant('remove'), path }),
    fc.record({ op: fc.constantFrom('move', 'copy'), path, from: path }),
  ) as fc.Arbitrary<JsonPatchOperation>;

  test('gives the same document, or fails too', () => {
    let applied = 0;
    fc.assert(
      fc.property(value, fc.array(operation, { minLength: 1, maxLength: 4 }), (document, patch) => {
        let expected: { document: unknown } | undefined;
        try {
          const result = fastJsonPatch.applyPatch(
            deepCopy(document),
            deepCopy(patch) as fastJsonPatch.Operation[],
            true,
          );
          expected = { document: result.newDocument };
        } catch {
          expected = undefined;
        }
        // The other implementation is lenient about paths through scalars, and about '-' as an
        // index of existing items.
        if (
          patch.some((one) => one.path.includes('-') || ('from' in one && one.from.includes('-')))
        )
          return;
        let actual: { document: unknown } | undefined;
        try {
          actual = { document: apply(document, patch) };
        } catch (error) {
          expect(error).toBeInstanceOf(JsonPatchError);
        }
        if (expected === undefined || actual === undefined) return;
        applied++;
        expect(deepEqual(actual.document, expected.document)).toBe(true);
      }),
      { numRuns: 2000 },
    );
    expect(applied).toBeGreaterThan(20);
  });
});

describe('a patch that could take long', () => {
  const ops = (
    count: number,
    operation: (index: number) => JsonPatchOperation,
  ): JsonPatchOperation[] => Array.from({ length: count }, (_, index) => operation(index));

  test('does not modify the original', () => {
    const original = { list: [{ a: 1 }, { a: 2 }], map: { x: { y: 1 } }, other: { z: 1 } };
    const text = JSON.stringify(original);
    const patched = applyJsonPatch(original, [
      { op: 'copy', from: '/map', path: '/twice' },
      { op: 'replace', path: '/twice/x/y', value: 2 },
      { op: 'replace', path: '/map/x/y', value: 3 },
      { op: 'move', from: '/list/0', path: '/moved' },
      { op: 'replace', path: '/moved/a', value: 9 },
      { op: 'add', path: '/list/0/b', value: 5 },
    ]) as typeof original;
    expect(JSON.stringify(original)).toBe(text);
    expect(patched).toEqual({
      list: [{ a: 2, b: 5 }],
      map: { x: { y: 3 } },
      twice: { x: { y: 2 } },
      moved: { a: 9 },
      other: { z: 1 },
    });
    expect(patched.other).toBe(original.other);
  });

  test("does not modify the patch's values", () => {
    const value = { a: 1 };
    const patch: JsonPatchOperation[] = [
      { op: 'add', path: '/x', value },
      { op: 'add', path: '/y', value },
      { op: 'replace', path: '/x/a', value: 2 },
    ];
    expect(applyJsonPatch({}, patch)).toEqual({ x: { a: 2 }, y: { a: 1 } });
    expect(applyJsonPatch({}, patch)).toEqual({ x: { a: 2 }, y: { a: 1 } });
    expect(value).toEqual({ a: 1 });
  });

  test('copies a container once, however many operations change it', () => {
    let reads = 0;
    const counted = (): object =>
      new Proxy(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, 'v'])), {
        ownKeys: (target) => {
          reads++;
          return Reflect.ownKeys(target);
        },
      });
    applyJsonPatch(
      { data: counted() },
      ops(1000, (i) => ({ op: 'add', path: `/data/n${i}`, value: 'x' })),
    );
    expect(reads).toBe(1);
  });

  test('may move only so many items of lists', () => {
    const list = Array.from({ length: 100_000 }, (_, i) => i);
    const insertions = ops(10_000, (i) => ({ op: 'add', path: '/0', value: i }));
    expect(() => applyJsonPatch(list, insertions)).toThrow(
      'may move at most 20000000 items of lists',
    );
    expect(
      applyJsonPatch(
        list,
        ops(10_000, (i) => ({ op: 'add', path: '/-', value: i })),
      ),
    ).toHaveLength(110_000);
  });

  test('may not nest the document too deeply', () => {
    const deeper = ops(300, () => ({ op: 'copy', from: '', path: '/a' }));
    expect(() => applyJsonPatch({}, deeper)).toThrow('exceeded max depth of 256');
    const wrapping = ops(300, (i) =>
      i % 2 === 0 ? { op: 'add', path: '/b', value: {} } : { op: 'move', from: '/a', path: '/b/a' },
    );
    expect(() => applyJsonPatch({ a: 1 }, wrapping.slice(0, 2))).not.toThrow();
  });

  test('is applied in parts', async () => {
    let pauses = 0;
    const pause = async (): Promise<void> => void pauses++;
    const patched = applyJsonPatchInParts(
      {},
      ops(1200, (i) => ({ op: 'add', path: `/n${i}`, value: i })),
      pause,
    );
    expect(Object.keys((await patched) as object)).toHaveLength(1200);
    expect(pauses).toBeGreaterThan(0);
    expect(
      applyJsonPatchInParts(
        {},
        ops(10, (i) => ({ op: 'add', path: `/n${i}`, value: i })),
        pause,
      ),
    ).toHaveProperty('n9', 9);
    const failing = [
      ...ops(1200, (i) => ({ op: 'add', path: `/n${i}`, value: i })),
      { op: 'remove', path: '/x' } as const,
    ];
    await expect(applyJsonPatchInParts({}, failing, pause)).rejects.toThrow('nonexistent key');
  });
});

test('fields that operations do not have', () => {
  expect(
    unknownFields([{ op: 'test', path: '', value: 1, from: '', extra: 1 }, null, { OP: 1 }]),
  ).toEqual(['[0].extra', '[2].OP']);
  expect(unknownFields(null)).toEqual([]);
});
