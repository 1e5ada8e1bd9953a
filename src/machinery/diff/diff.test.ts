import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyJsonPatch, parseJsonPatch } from '../patch/json-patch.ts';
import { differences, formatDifferences, jsonPatchOf } from './index.ts';

test('a patch of two values makes the first into the second', () => {
  const json = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(json, json, (a, b) => {
      const [before, after] = [a, b].map((value) => JSON.parse(JSON.stringify({ value }))) as [
        object,
        object,
      ];
      const patch = parseJsonPatch(JSON.parse(JSON.stringify(jsonPatchOf(before, after))));
      expect(applyJsonPatch(before, patch)).toEqual(after);
    }),
  );
});

test('equal values have no differences, and keys of the prototype are ordinary keys', () => {
  expect(differences({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toEqual([]);
  expect(differences(JSON.parse('{"__proto__":1}'), {})).toEqual([
    { path: ['__proto__'], from: 1, to: undefined },
  ]);
});

test('lines name items of lists by their names', () => {
  const before = {
    metadata: { labels: { 'a/b': 'x' } },
    status: { conditions: [{ type: 'Ready', status: 'False' }], list: [1, 2] },
  };
  const after = {
    metadata: { labels: {} },
    status: {
      conditions: [
        { type: 'Scheduled', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
      list: [1],
    },
  };
  expect(formatDifferences(before, after)).toEqual([
    '.metadata.labels["a/b"]: - "x"',
    '.status.conditions[Ready].status: "False" → "True"',
    '.status.conditions[Scheduled]: + {"type":"Scheduled","status":"True"}',
    '.status.list[1]: - 2',
  ]);
  expect(formatDifferences('x', 'y'.repeat(200))[0]).toMatch(/^\.: "x" → "y+…$/);
});
