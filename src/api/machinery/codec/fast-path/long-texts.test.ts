import { describe, expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { encodePlain } from '../plain-encoding.ts';
import { decodeFromStorage, encodeForStorage, spliceResourceVersion } from '../storage-codec.ts';

const metadata = { name: 'a', namespace: 'b', uid: 'u', creationTimestamp: '2026-01-02T03:04:05Z' };

/** Returns the JSON for clients as text. */
function served(object: object): string {
  return spliceResourceVersion(encodeForStorage(object), 12).toString();
}

function expected(object: { readonly metadata: object; readonly [key: string]: unknown }): string {
  const { name, namespace, uid, ...rest } = object.metadata as typeof metadata;
  return JSON.stringify({
    ...object,
    metadata: { name, namespace, uid, resourceVersion: '12', ...rest },
  });
}

describe('objects with long texts', () => {
  test('equal JSON.stringify for any texts', () => {
    const random = new SeededRandom(1);
    const below = (count: number): number => random.int(count);
    const odd = [
      '"',
      '\\',
      '\n',
      '\0',
      '\x1f',
      '\x7f',
      'é',
      '€',
      '\ud83d\ude00',
      '\ud83d',
      '\ude00',
      '\u2028',
      ' ',
      '~',
    ];
    for (let round = 0; round < 3000; round++) {
      const texts: Record<string, string> = {};
      for (let count = below(4) + 1; count > 0; count--) {
        let text = 'abcdefghijklmnop'.repeat(below(100)) + 'x'.repeat(below(16));
        for (let times = below(3); times > 0; times--) {
          const at = below(text.length + 1);
          text = text.slice(0, at) + odd[below(odd.length)] + text.slice(at);
        }
        texts[`key${odd[below(odd.length)]}${count}`] = text;
      }
      const name = `n${odd[below(odd.length)]}`;
      const object = {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { ...metadata, name },
        immutable: true,
        data: texts,
        after: ['é'],
      };
      expect(served(object)).toBe(expected(object));
      const value = encodeForStorage(object);
      expect(Buffer.compare(value, encodePlain(object, object.metadata))).toBe(0);
      const { name: first, namespace, uid, ...rest } = object.metadata;
      expect(decodeFromStorage(value, 12)).toEqual({
        ...object,
        metadata: { name: first, namespace, uid, resourceVersion: '12', ...rest },
      });
    }
  });

  test.each([20, 31])(
    'encodes every character of one byte and longer ones as JSON does, after %i others',
    (ahead) => {
      for (let code = 0; code < 0x202; code++) {
        for (let at = 0; at < 8; at++) {
          const data = { long: `${'x'.repeat(ahead * 20 + at)}${String.fromCharCode(code)}` };
          expect(served({ metadata, data })).toBe(expected({ metadata, data }));
        }
      }
    },
  );

  test('may be large, then small again', () => {
    for (const length of [60_000, 70_000, 600_000, 600, 200_000, 513]) {
      for (const text of ['x'.repeat(length), 'é'.repeat(length), '\ud800'.repeat(length)]) {
        const object = {
          kind: 'Secret',
          metadata,
          binaryData: { a: text, b: 'short', c: text },
          data: {},
        };
        expect(served(object) === expected(object)).toBe(true);
      }
    }
  });

  test('leave out undefined values, and a resourceVersion', () => {
    const data = { long: 'x'.repeat(1000) };
    const object = {
      metadata: { ...metadata, labels: undefined, resourceVersion: '3' },
      gone: undefined,
      data,
    };
    expect(served(object)).toBe(expected({ metadata, data }));
    expect(JSON.parse(served({ metadata: { name: 'only' }, data }))).toEqual({
      metadata: { name: 'only', resourceVersion: '12' },
      data,
    });
    expect(() => encodeForStorage({ metadata: {}, data })).toThrow('empty metadata');
  });

  test('keep their managed fields', () => {
    const data = { long: 'x'.repeat(1000) };
    const shared = [{ manager: 'one', operation: 'Update' }];
    for (const managedFields of [shared, shared, [{ manager: 'two' }], undefined, shared]) {
      const object = { metadata: { ...metadata, managedFields }, data };
      expect(served(object)).toBe(expected(object));
    }
  });

  test('that cannot be encoded do not affect the next one', () => {
    const data = { long: 'x'.repeat(1000) };
    expect(() => encodeForStorage({ metadata, data, more: { number: 1n } })).toThrow(TypeError);
    expect(served({ metadata, data })).toBe(expected({ metadata, data }));
  });
});
