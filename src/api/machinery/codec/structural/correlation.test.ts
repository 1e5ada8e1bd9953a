import { expect, test } from 'vitest';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { Correlation } from './correlation.ts';
import { structuralSchema } from './structural-schema.ts';

const text: JSONSchemaProps = { type: 'string' };
const keyed: JSONSchemaProps = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['k'],
  items: { type: 'object', properties: { k: text, v: text } },
};
const schema = structuralSchema({
  type: 'object',
  properties: {
    a: text,
    l: { type: 'array', items: text },
    k: keyed,
    m: { type: 'object', additionalProperties: text },
  },
});
const correlate = (value: unknown, old: unknown): Correlation =>
  new Correlation(value, old, schema);

test('fields of both objects are pairs', () => {
  const pair = correlate({ a: 'x', m: { k: '1' } }, { a: 'x', l: [] });
  expect(pair.field('a')?.isEqual).toBe(true);
  expect(pair.field('m')).toBeUndefined();
  expect(pair.field('l')).toBeUndefined();
  expect(pair.isEqual).toBe(false);
});

test('items of a list with keys are pairs in any order', () => {
  const pair = correlate(
    { k: [{ k: 'b' }, { k: 'a', v: 'x' }] },
    {
      k: [
        { k: 'a', v: 'x' },
        { k: 'b', v: 'y' },
      ],
    },
  );
  const list = pair.field('k');
  expect(list?.item(0)?.isEqual).toBe(false);
  expect(list?.item(1)?.isEqual).toBe(true);
  expect(list?.item(2)).toBeUndefined();
});

test('a list with keys is equal in any order, other lists are not', () => {
  const [one, two] = [{ k: 'a' }, { k: 'b' }];
  expect(correlate({ k: [one, two] }, { k: [two, one] }).isEqual).toBe(true);
  expect(correlate({ l: ['a', 'b'] }, { l: ['b', 'a'] }).isEqual).toBe(false);
  expect(correlate({ l: ['a', 'b'] }, { l: ['a', 'b'] }).isEqual).toBe(true);
});

test('items with missing keys are no pairs', () => {
  const pair = correlate(
    { k: [{ v: 'x' }, { k: null }, 'x'] },
    { k: [{ v: 'x' }, { k: null }, 'x'] },
  );
  expect([0, 1, 2].map((index) => pair.field('k')?.item(index))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('fields without a schema are never equal', () => {
  expect(correlate({ unknown: 1 }, { unknown: 1 }).isEqual).toBe(false);
});

test('null is equal to null only', () => {
  expect(correlate(null, null).isEqual).toBe(true);
  expect(correlate(null, {}).isEqual).toBe(false);
  expect(correlate({}, []).isEqual).toBe(false);
});
