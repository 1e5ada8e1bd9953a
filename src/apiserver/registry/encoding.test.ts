import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';

import type { KeyValue } from '#storage/interface.ts';
import { FreshObject, ObjectFormat, SharedWatchEvent } from './encoded-object.ts';
import { ObjectCache } from './object-cache.ts';

const format = new ObjectFormat('apps/v1', 'Thing');

function stored(name: string, revision: number, more: object = {}): KeyValue {
  const object = {
    kind: 'Thing',
    metadata: { name, uid: 'u', resourceVersion: '7', creationTimestamp: 'c' },
    ...more,
  } as KubeObject;
  return { key: `/registry/things/${name}`, value: format.encode(object), createRevision: 1, modRevision: revision };
}

describe('StoredObject', () => {
  const cache = new ObjectCache({ format });

  test('has the resourceVersion of its revision, in all its forms', () => {
    const object = cache.of(stored('ä', 12, { spec: { text: '"}{' } }));
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

  test('can be seen as of another revision', () => {
    const object = cache.of(stored('a', 12));
    expect(object.at(13).object().metadata.resourceVersion).toBe('13');
    expect(object.at(13).jsonLine().toString()).toContain('"resourceVersion":"13"');
    expect(object.object().metadata.resourceVersion).toBe('12');
  });

  test('that is of another kind is not taken for one of these', () => {
    const other = new ObjectCache({ format: new ObjectFormat('v1', 'Other') }).of(stored('a', 1));
    expect(() => other.copyItem(Buffer.alloc(1000), 0)).toThrow('does not begin as Other objects do');
  });
});

describe('FreshObject', () => {
  test('as an item has no kind', () => {
    const object = new FreshObject({ kind: 'Thing', apiVersion: 'v1', metadata: {} });
    const target = Buffer.alloc(object.itemLength());
    object.copyItem(target, 0);
    expect(target.toString()).toBe('{"metadata":{}}');
  });
});

test('an event is a line of JSON, made once', () => {
  const event = new SharedWatchEvent('ADDED', new FreshObject({ kind: 'Thing' }));
  expect(event.frame().toString()).toBe('{"type":"ADDED","object":{"kind":"Thing"}}\n');
  expect(event.frame()).toBe(event.frame());
});

describe('ObjectCache', () => {
  test('decodes a state once', () => {
    const cache = new ObjectCache({ format });
    const kv = stored('a', 1);
    expect(cache.of(kv).object()).toBe(cache.of(kv).object());
  });

  test('does not decode what it has encoded, and the one who hears of it first may be anybody', () => {
    const cache = new ObjectCache({ format });
    const made = { metadata: { name: 'b', uid: 'u', creationTimestamp: '' }, data: { key: 'x' } };
    const kv: KeyValue = { key: '/registry/things/b', value: cache.encode(made as never), createRevision: 2, modRevision: 2 };
    const object = cache.of(kv).object();
    expect((object as object as typeof made).data).toBe(made.data);
    expect(object).toMatchObject({ kind: format.kind, metadata: { name: 'b', resourceVersion: '2' } });
    expect(cache.written(kv).object()).toBe(object);
  });

  test('still has the states before the present one, for watchers that are behind', () => {
    const cache = new ObjectCache({ format });
    const states = [stored('a', 1), stored('a', 2), stored('a', 3)];
    const objects = states.map((kv) => cache.of(kv).object());
    expect(states.map((kv) => cache.of(kv).object())).toEqual(objects);
    expect(cache.of(states[0] as KeyValue).object()).toBe(objects[0]);
  });

  test('a reader of the past does not push out the present', () => {
    const cache = new ObjectCache({ format });
    const [old, present] = [stored('a', 1), stored('a', 2)];
    const object = cache.of(present).object();
    expect(cache.of(old).object().metadata.resourceVersion).toBe('1');
    expect(cache.of(present).object()).toBe(object);
  });

  test('forgets what was not used for long', () => {
    const size = stored('n00', 1).value.length;
    const cache = new ObjectCache({ format, limitBytes: 20 * size });
    const used = stored('used', 1);
    const first = cache.of(used).object();
    const unused = stored('unused', 1);
    const once = cache.of(unused).object();
    for (let i = 0; i < 100; i++) {
      cache.of(stored(`n${i}`, 1)).object();
      expect(cache.of(used).object()).toBe(first);
    }
    expect(cache.of(unused).object()).not.toBe(once);
  });

  test('keeps little of what nobody reads again, and as much as it may of what is read again later', () => {
    const cache = new ObjectCache({ format, limitBytes: 10_000_000 });
    const write = (name: string): KeyValue => {
      const made = { metadata: { name, uid: 'u', creationTimestamp: '' }, data: { key: 'x'.repeat(1000) } };
      const kv = { key: `/registry/things/${name}`, value: cache.encode(made as never), createRevision: 2, modRevision: 2 };
      cache.written(kv);
      return kv;
    };
    for (let i = 0; i < 10_000; i++) write(`unread-${i}`);
    expect(cache.limitBytes).toBeLessThan(1_000_000);
    const objects = Array.from({ length: 5000 }, (_, i) => write(`read-${i}`));
    for (let round = 0; round < 10; round++) for (const kv of objects) cache.of(kv).object();
    expect(cache.limitBytes).toBe(10_000_000);
    const [first] = objects as [KeyValue];
    expect(cache.of(first).object()).toBe(cache.of(first).object());
    for (let i = 0; i < 100_000; i++) write(`unread-${i}`);
    expect(cache.limitBytes).toBeLessThan(1_000_000);
  });
});
