// Cases that the laws in every-kind.test.ts do not cover: names of inherited members, and values of
// other types.

import { expect, test } from 'vitest';
import { allSchemas } from '#api/all-schemas.ts';
import { mergeTypeOf } from './merge-type.ts';
import { sameShape, shapeText } from './shape.ts';

const type = mergeTypeOf(allSchemas.message('core/v1.ConfigMap'));
const withLabels = (json: string): unknown => ({
  metadata: { labels: JSON.parse(json) as unknown },
});

test.each([
  ['{"a": "x", "b": "y"}', '{"a": "1", "b": "2"}', true],
  ['{"a": "x"}', '{"a": "x", "b": "y"}', false],
  ['{"a": "x"}', '{"b": "x"}', false],
  ['{"a": "x"}', '{"a": ""}', false],
  ['{"a": ""}', '{"a": ""}', true],
  ['{"toString": "x"}', '{"a": "x"}', false],
  ['{"__proto__": "x"}', '{"a": "x"}', false],
  ['{"__proto__": "x"}', '{"__proto__": "y"}', true],
])('labels %s and %s', (one, other, same) => {
  expect(sameShape(type, withLabels(one), withLabels(other))).toBe(same);
  expect(shapeText(type, withLabels(one)) === shapeText(type, withLabels(other))).toBe(same);
});

test('the order of names does not matter', () => {
  expect(
    sameShape(type, withLabels('{"a": "x", "b": "y"}'), withLabels('{"b": "x", "a": "y"}')),
  ).toBe(true);
});
