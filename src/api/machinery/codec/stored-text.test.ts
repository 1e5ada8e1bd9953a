import { describe, expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { decodeFromStorage, encodeForStorage } from './storage-codec.ts';
import { storedLabels, storedText } from './stored-text.ts';

type Json = Readonly<Record<string, unknown>>;

/** The plain form: decodes the object. */
function decodedText(value: Uint8Array, path: readonly string[]): string | undefined {
  let at: unknown = decodeFromStorage(value, 7);
  for (const name of path) {
    if (typeof at !== 'object' || at === null || Array.isArray(at)) return undefined;
    at = Object.hasOwn(at, name) ? (at as Json)[name] : undefined;
  }
  return typeof at === 'string' ? at : undefined;
}

const metadata = { name: 'a', uid: 'u', labels: { nodeName: 'of a label', '"spec"': '{"spec":{' } };

describe('storedText', () => {
  test.each<[string, Json]>([
    ['a text', { metadata, spec: { nodeName: 'node-1' } }],
    ['an empty text', { metadata, spec: { nodeName: '' } }],
    ['escapes and characters of several bytes', { metadata, spec: { nodeName: 'ä"\\\n\u2028😀' } }],
    [
      'after other members',
      { metadata, spec: { a: [1, { nodeName: 'x' }], b: null, nodeName: 'y' } },
    ],
    ['after numbers and literals', { metadata, spec: { a: 1.5e7, b: true, c: -1, nodeName: 'z' } }],
    ['no such member', { metadata, spec: { other: 'x', nodeNames: 'y' } }],
    ['no container', { metadata, status: { spec: { nodeName: 'x' } } }],
    ['a container that is not an object', { metadata, spec: ['nodeName', 'x'] }],
    ['a container that is a text', { metadata, spec: '"nodeName":"x"' }],
    ['a number', { metadata, spec: { nodeName: 7 } }],
    ['an object', { metadata, spec: { nodeName: { a: 'b' } } }],
    ['an empty object', { metadata, spec: {} }],
    ['a large integer elsewhere', { metadata, spec: { n: 2n ** 60n, nodeName: 'x' } }],
  ])('returns what the decoded object has: %s', (_, object) => {
    const value = encodeForStorage(object);
    const path = ['spec', 'nodeName'];
    expect(storedText(value, path)).toBe(decodedText(value, path));
    expect(storedText(new Uint8Array(value), path)).toBe(decodedText(value, path));
  });

  test('returns what the decoded object has, for random objects', () => {
    const random = new SeededRandom('texts');
    const names = ['spec', 'nodeName', 'status', 'a"b', '\\', 'é'];
    const texts = ['', 'x', '"', '\\', '{"spec":', 'ü', '\u0000', ']}'];
    const pick = <T>(from: readonly T[]): T => from[random.int(from.length)]!;
    const make = (depth: number): unknown => {
      const kind = random.int(depth === 0 ? 3 : 5);
      if (kind === 0) return pick(texts);
      if (kind === 1) return pick([0, -1.5, 12, 1e21]);
      if (kind === 2) return pick([true, false, null]);
      const length = random.int(4);
      if (kind === 3) return Array.from({ length }, () => make(depth - 1));
      return Object.fromEntries(Array.from({ length }, () => [pick(names), make(depth - 1)]));
    };
    for (let i = 0; i < 3000; i++) {
      const value = encodeForStorage({ metadata, ...(make(0) === null ? {} : { spec: make(3) }) });
      for (const path of [['spec'], ['spec', 'nodeName'], ['spec', 'spec', 'nodeName']])
        expect(storedText(value, path)).toBe(decodedText(value, path));
    }
  });

  test('throws for a value that ends early', () => {
    const value = encodeForStorage({ metadata, spec: { a: { b: 1 }, nodeName: 'x' } });
    const cut = value.subarray(0, value.length - 25);
    expect(() => storedText(cut, ['status', 'phase'])).toThrow('ends early');
  });
});

describe('storedLabels', () => {
  test.each<[string, Json]>([
    ['labels', { kind: 'Pod', metadata: { name: 'a', labels: { app: 'web', tier: '' } } }],
    ['no labels', { metadata: { name: 'a', uid: 'u' } }],
    ['empty labels', { metadata: { name: 'a', labels: {} } }],
    [
      'labels after and before others',
      {
        spec: { labels: { of: 'the spec' } },
        metadata: {
          annotations: { labels: '{"app":"}"}', '"labels":{': 'x\\' },
          ownerReferences: [{ labels: { of: 'an owner' } }],
          labels: { 'example.com/a': 'ä"}' },
          managedFields: [{ fieldsV1: { 'f:metadata': { 'f:labels': { '.': {} } } } }],
        },
      },
    ],
    [
      'no labels, but parts that look like them',
      { metadata: { name: 'a', annotations: { labels: 'x' } } },
    ],
  ])('reads %s', (_, object) => {
    const { labels } = object['metadata'] as { readonly labels?: unknown };
    expect(storedLabels(encodeForStorage(object))).toEqual(labels);
  });
});
