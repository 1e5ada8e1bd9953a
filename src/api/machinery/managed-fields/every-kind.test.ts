// The same laws for every kind of the API, on random objects.

import { afterAll, describe, expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { deepFreeze } from '#machinery/deep.ts';
import { decodeObject, emptyObject } from '../codec/decode.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { compare } from './compare.ts';
import { FieldSet } from './field-set.ts';
import { fieldsOfSet, setOfFields } from './fields-v1.ts';
import { merge } from './merge.ts';
import { mergeTypeOf } from './merge-type.ts';
import { extractItems, removeItems, withNamedFields } from './remove.ts';
import { sameShape, shapeText } from './shape.ts';
import { toFieldSet } from './to-field-set.ts';

const FILLS = 10;
const keys = allSchemas.resources().map(({ group, version, kind }) => {
  const schema = allSchemas.schemas.find(
    (candidate) => candidate.group === group && candidate.version === version,
  );
  return `${schema?.key}.${kind}`;
});

let sameShapes = 0;
afterAll(() => expect(sameShapes).toBeGreaterThan(keys.length));

function leavesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(leavesOf)
    : [value];
}

function withOtherLeaves(value: unknown, other: (leaf: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withOtherLeaves(item, other));
  if (typeof value !== 'object' || value === null) return other(value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inside]) => [name, withOtherLeaves(inside, other)]),
  );
}

function otherLeaf(leaf: unknown, zero: boolean): unknown {
  if (typeof leaf === 'string') return zero ? '' : `${leaf}~`;
  if (typeof leaf === 'number') return zero ? 0 : leaf + 1;
  return leaf;
}

describe.each(keys)('%s', (key) => {
  const message = allSchemas.message(key);
  const type = mergeTypeOf(message);
  const random = new SeededRandom(7);
  const objects = Array.from({ length: FILLS }, () =>
    deepFreeze(decodeObject(message, fuzzObject(message, random)).object),
  );

  test('an object does not differ from itself, and merges with itself to itself', () => {
    for (const object of objects) {
      const copy: unknown = JSON.parse(JSON.stringify(object));
      const { added, modified, removed } = compare(type, object, copy);
      expect([added.isEmpty, modified.isEmpty, removed.isEmpty]).toEqual([true, true, true]);
      expect(merge(type, {}, object)).toEqual(object);
      expect(merge(type, object, {})).toEqual(object);
    }
  });

  test('the reverse comparison gives the reverse difference', () => {
    for (const [index, object] of objects.entries()) {
      const other = objects[(index + 1) % FILLS] as object;
      const there = compare(type, object, other);
      const back = compare(type, other, object);
      expect(there.added.equals(back.removed)).toBe(true);
      expect(there.removed.equals(back.added)).toBe(true);
      expect(there.modified.equals(back.modified)).toBe(true);
    }
  });

  test('objects of one shape differ in the same fields from one without content', () => {
    const empty = emptyObject(message);
    expect(
      leavesOf(empty).filter((leaf) => !['', 0, false, null, '0', '0s'].includes(leaf as string)),
    ).toEqual([]);
    for (const object of objects) {
      const text = shapeText(type, object);
      const { added, modified } = compare(type, empty, object);
      let alike = 0;
      for (let i = 0; i < 10; i++) {
        // First every leaf differs, then some leaves, and finally some leaves are zero.
        const other = withOtherLeaves(object, (leaf) =>
          i === 0 || random.int(12) === 0 ? otherLeaf(leaf, i > 4) : leaf,
        ) as object;
        const isAlike = shapeText(type, other) === text;
        expect(sameShape(type, object, other)).toBe(isAlike);
        if (!isAlike) continue;
        alike++;
        const theirs = compare(type, empty, other);
        expect(theirs.added.equals(added)).toBe(true);
        expect(theirs.modified.equals(modified)).toBe(true);
      }
      sameShapes += alike;
      for (const other of objects)
        expect(sameShape(type, object, other)).toBe(shapeText(type, other) === text);
    }
  });

  test('sets survive a round trip through FieldsV1', () => {
    for (const object of objects) {
      const fields = toFieldSet(type, object);
      expect(setOfFields(JSON.parse(JSON.stringify(fieldsOfSet(fields)))).equals(fields)).toBe(
        true,
      );
      const { added } = compare(type, {}, object);
      // A new value contains every field that it mentions, and the enclosing structs.
      expect(fields.difference(added).isEmpty).toBe(true);
    }
  });

  test('removing all fields leaves none of them; extracting all fields loses none', () => {
    for (const object of objects) {
      const fields = withNamedFields(type, toFieldSet(type, object));
      expect(toFieldSet(type, removeItems(type, object, fields) ?? {}).isEmpty).toBe(true);
      const extracted = extractItems(type, object, fields) ?? {};
      expect(toFieldSet(type, extracted).equals(toFieldSet(type, object))).toBe(true);
      expect(removeItems(type, object, FieldSet.empty)).toBe(object);
    }
  });
});
