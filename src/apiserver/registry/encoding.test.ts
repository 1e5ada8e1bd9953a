import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import type { DecodedValues, KeyValue } from '#storage/interface.ts';
import {
  FreshObject,
  ObjectFormat,
  type ServedObject,
  SharedWatchEvent,
} from './encoded-object.ts';
import { ObjectCache } from './object-cache.ts';
import { ConversionError, functionConverter, type ObjectConverter } from './object-converter.ts';

const format = new ObjectFormat('apps/v1', 'Thing');

/** Returns the object of a state in the served version, which needs no conversion. */
const read = (cache: ObjectCache, kv: KeyValue): ServedObject => cache.readNow(kv)!;

function stored(name: string, revision: number, more: object = {}): KeyValue {
  const object = {
    kind: 'Thing',
    metadata: { name, uid: 'u', resourceVersion: '7', creationTimestamp: 'c' },
    ...more,
  } as KubeObject;
  return {
    key: `/registry/things/${name}`,
    value: format.encode(object),
    createRevision: 1,
    modRevision: revision,
  };
}

describe('decoded values', () => {
  test('are those of another cache, as long as it keeps them', () => {
    const decoded: DecodedValues = new WeakMap();
    const first = new ObjectCache({ format, decoded });
    const second = new ObjectCache({ format, decoded });
    const kv = stored('a', 12);
    const object = read(first, kv).object();
    expect(read(second, kv).object()).toBe(object);
  });

  test('are not mistaken for those of another revision', () => {
    const decoded: DecodedValues = new WeakMap();
    const kv = stored('a', 12);
    read(new ObjectCache({ format, decoded }), kv).object();
    const later = read(new ObjectCache({ format, decoded }), { ...kv, modRevision: 13 }).object();
    expect(later.metadata.resourceVersion).toBe('13');
  });
});

describe('StoredObject', () => {
  const cache = new ObjectCache({ format });

  test('has the resourceVersion of its revision, in every form', () => {
    const object = read(cache, stored('ä', 12, { spec: { text: '"}{' } }));
    const expected = {
      kind: 'Thing',
      apiVersion: 'apps/v1',
      metadata: { name: 'ä', uid: 'u', resourceVersion: '12', creationTimestamp: 'c' },
      spec: { text: '"}{' },
    };
    expect(object.object()).toEqual(expected);
    expect(JSON.parse(object.jsonLine().toString())).toEqual(expected);
    const target = Buffer.alloc(object.itemLength() + 2, '.');
    expect(object.copyItem(target, 1)).toBe(object.itemLength() + 1);
    const { kind: _kind, apiVersion: _apiVersion, ...item } = expected;
    expect(JSON.parse(target.subarray(1, -1).toString())).toEqual(item);
    expect(target.toString('latin1').startsWith('.{"metadata"')).toBe(true);
    expect(target.toString('latin1').endsWith('}.')).toBe(true);
  });

  test('can have another revision', () => {
    const object = read(cache, stored('a', 12));
    expect(object.at(13).object().metadata.resourceVersion).toBe('13');
    expect(object.at(13).jsonLine().toString()).toContain('"resourceVersion":"13"');
    expect(object.object().metadata.resourceVersion).toBe('12');
  });

  test.each(['v1', 'apps/v2', 'apps/v1beta1', 'apps/v', 'app/v1'])(
    'is not made of bytes in another version: %s',
    (apiVersion) => {
      const other = new ObjectCache({ format: new ObjectFormat(apiVersion, 'Thing') });
      expect(other.readNow(stored('a', 1))).toBeUndefined();
      const message = 'no kind "Thing" is registered for version "apps/v1"';
      expect(() => other.read(stored('a', 1))).toThrow(new ConversionError(message));
    },
  );
});

describe('FreshObject', () => {
  test('has no kind as an item', () => {
    const object = new FreshObject({ kind: 'Thing', apiVersion: 'v1', metadata: {} });
    const target = Buffer.alloc(object.itemLength());
    object.copyItem(target, 0);
    expect(target.toString()).toBe('{"metadata":{}}');
  });
});

test('an event is a line of JSON, encoded once', () => {
  const event = new SharedWatchEvent('ADDED', new FreshObject({ kind: 'Thing' }));
  expect(event.frame().toString()).toBe('{"type":"ADDED","object":{"kind":"Thing"}}\n');
  expect(event.frame()).toBe(event.frame());
});

describe('ObjectCache', () => {
  test('decodes a state once', () => {
    const cache = new ObjectCache({ format });
    const kv = stored('a', 1);
    expect(read(cache, kv).object()).toBe(read(cache, kv).object());
  });

  test('does not decode objects that it has encoded, for any first reader', () => {
    const cache = new ObjectCache({ format });
    const written = {
      metadata: { name: 'b', uid: 'u', creationTimestamp: '' },
      data: { key: 'x' },
    };
    const kv: KeyValue = {
      key: '/registry/things/b',
      value: cache.encode(written as never) as Uint8Array,
      createRevision: 2,
      modRevision: 2,
    };
    const object = read(cache, kv).object();
    expect((object as object as typeof written).data).toBe(written.data);
    expect(object).toMatchObject({
      kind: format.kind,
      metadata: { name: 'b', resourceVersion: '2' },
    });
    expect((cache.written(kv) as ServedObject).object()).toBe(object);
  });

  test('still has earlier states, for watchers that are behind', () => {
    const cache = new ObjectCache({ format });
    const states = [stored('a', 1), stored('a', 2), stored('a', 3)];
    const objects = states.map((kv) => read(cache, kv).object());
    expect(states.map((kv) => read(cache, kv).object())).toEqual(objects);
    expect(read(cache, states[0]!).object()).toBe(objects[0]);
  });

  test('a read of an old state does not evict the newest one', () => {
    const cache = new ObjectCache({ format });
    const [old, present] = [stored('a', 1), stored('a', 2)];
    const object = read(cache, present).object();
    expect(read(cache, old).object().metadata.resourceVersion).toBe('1');
    expect(read(cache, present).object()).toBe(object);
  });

  test('evicts the least recently used states', () => {
    const size = stored('n00', 1).value.length;
    const cache = new ObjectCache({ format, limitBytes: 20 * size });
    const used = stored('used', 1);
    const first = read(cache, used).object();
    const unused = stored('unused', 1);
    const once = read(cache, unused).object();
    for (let i = 0; i < 100; i++) {
      read(cache, stored(`n${i}`, 1)).object();
      expect(read(cache, used).object()).toBe(first);
    }
    expect(read(cache, unused).object()).not.toBe(once);
  });

  test('shrinks when states are not read again, and grows when they are', () => {
    const cache = new ObjectCache({ format, limitBytes: 10_000_000 });
    const write = (name: string): KeyValue => {
      const written = {
        metadata: { name, uid: 'u', creationTimestamp: '' },
        data: { key: 'x'.repeat(1000) },
      };
      const kv = {
        key: `/registry/things/${name}`,
        value: cache.encode(written as never) as Uint8Array,
        createRevision: 2,
        modRevision: 2,
      };
      void cache.written(kv);
      return kv;
    };
    for (let i = 0; i < 10_000; i++) write(`unread-${i}`);
    expect(cache.limitBytes).toBeLessThan(1_000_000);
    const objects = Array.from({ length: 5000 }, (_, i) => write(`read-${i}`));
    for (let round = 0; round < 10; round++) for (const kv of objects) read(cache, kv).object();
    expect(cache.limitBytes).toBe(10_000_000);
    const [first] = objects as [KeyValue];
    expect(read(cache, first).object()).toBe(read(cache, first).object());
    for (let i = 0; i < 100_000; i++) write(`unread-${i}`);
    expect(cache.limitBytes).toBeLessThan(1_000_000);
  });
});

describe('an ObjectCache of a kind with versions', () => {
  const v1 = new ObjectFormat('apps/v1', 'Thing');
  const v2 = new ObjectFormat('apps/v2', 'Thing');
  /** Converts between two versions: `first` of one is `second` of the other. */
  const functions = functionConverter({
    'apps/v1': {
      'apps/v2': ({ metadata, first }: Record<string, unknown>) => ({ metadata, second: first }),
    },
    'apps/v2': {
      'apps/v1': ({ metadata, second }: Record<string, unknown>) => ({ metadata, first: second }),
    },
  });
  const inV1 = (name: string, revision: number): KeyValue => ({
    ...stored(name, revision, { first: name }),
  });
  const inV2 = (name: string, revision: number): KeyValue => ({
    ...inV1(name, revision),
    value: v2.encode({
      metadata: { name, uid: 'u', creationTimestamp: 'c' },
      second: name,
    } as unknown as KubeObject),
  });
  const counted = (
    converter: ObjectConverter,
  ): { readonly calls: string[][] } & ObjectConverter => {
    const calls: string[][] = [];
    return {
      calls,
      convert: (objects, to) => {
        calls.push(objects.map(({ metadata }) => metadata.name));
        return converter.convert(objects, to);
      },
    };
  };

  test('serves converted states, in every form', async () => {
    const cache = new ObjectCache({ format: v2, converter: functions });
    const object = await cache.read(inV1('a', 12));
    const expected = {
      kind: 'Thing',
      apiVersion: 'apps/v2',
      metadata: { name: 'a', uid: 'u', resourceVersion: '12', creationTimestamp: 'c' },
      second: 'a',
    };
    expect(object.object()).toEqual(expected);
    expect(JSON.parse(Buffer.from(object.jsonLine()).toString())).toEqual(expected);
    const target = Buffer.alloc(object.itemLength());
    object.copyItem(target, 0);
    const { kind: _kind, apiVersion: _apiVersion, ...item } = expected;
    expect(JSON.parse(target.toString())).toEqual(item);
    expect(object.at(13).object().metadata.resourceVersion).toBe('13');
    expect(object.at(12)).toBe(object);
  });

  test('converts each state of a read once, in one call, and serves others from their bytes', async () => {
    const converter = counted(functions);
    const cache = new ObjectCache({ format: v2, converter });
    const states = [inV2('a', 1), inV1('b', 2), inV2('c', 3), inV1('d', 4), inV1('b', 2)];
    const objects = await cache.readAll(states);
    expect(
      objects.map((object) => (object.object() as unknown as { second: string }).second),
    ).toEqual(['a', 'b', 'c', 'd', 'b']);
    expect(await cache.readAll(states)).toHaveLength(5);
    expect(converter.calls).toEqual([['b', 'd']]);
    expect(cache.readNow(states[1]!)).toBe(objects[1]);
  });

  test('stores the stored version, and serves the result of its conversion', async () => {
    const converter = counted(functions);
    const cache = new ObjectCache({ format: v2, storedFormat: v1, converter });
    const metadata = { name: 'a', uid: 'u', creationTimestamp: 'c' };
    const value = await cache.encode({
      metadata,
      second: 'x',
      dropped: true,
    } as unknown as KubeObject);
    const kv: KeyValue = { key: '/registry/things/a', value, createRevision: 5, modRevision: 5 };
    expect(cache.isStoredVersion(kv)).toBe(true);
    expect(v1.isVersionOf(kv)).toBe(true);
    expect((await cache.written(kv)).object()).toEqual({
      kind: 'Thing',
      apiVersion: 'apps/v2',
      metadata: { ...metadata, resourceVersion: '5' },
      second: 'x',
    });
    expect(converter.calls).toHaveLength(2);
  });

  test('converts many in slices, and asynchronously, in order', async () => {
    const asynchronous: ObjectConverter = {
      convert: async (objects, to) => functions.convert(objects, to),
    };
    const states = Array.from({ length: 600 }, (_, index) => inV1(`n${index}`, index + 1));
    for (const converter of [functions, asynchronous]) {
      const objects = await new ObjectCache({ format: v2, converter }).readAll(states);
      expect(objects.map((object) => object.object().metadata.name)).toEqual(
        states.map((_, index) => `n${index}`),
      );
    }
  });

  test.each<readonly [what: string, ObjectConverter['convert'], message: string]>([
    ['fails', () => Promise.reject(new Error('no route')), 'no route'],
    [
      'throws',
      () => {
        throw new ConversionError('boom');
      },
      'boom',
    ],
    ['returns too few', () => [], 'conversion of Thing to apps/v2 returned 0 objects, expected 1'],
    [
      'returns another version',
      (objects) => objects,
      'conversion of Thing to apps/v2 returned an object of apps/v1 at index 0',
    ],
    [
      'returns another kind',
      async (objects) =>
        objects.map((object) => ({ ...object, apiVersion: 'apps/v2', kind: 'Other' })),
      'conversion of Thing to apps/v2 returned an object of kind Other at index 0',
    ],
  ])('returns 500 for a converter that %s', async (_, convert, message) => {
    const cache = new ObjectCache({ format: v2, converter: { convert } });
    const failure = await Promise.resolve()
      .then(() => cache.read(inV1('a', 1)))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConversionError);
    expect((failure as ConversionError).status).toMatchObject({ code: 500, message });
    expect((failure as ConversionError).status.reason).toBeUndefined();
  });
});
