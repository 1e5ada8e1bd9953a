// Cells as upstream prints them. The values were compared with kube-apiserver 1.36
// (test/differential/custom-object-cases.ts).

import { expect, test } from 'vitest';

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { customTable, scaleTable } from './printer-columns.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const object = {
  metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    text: 'x',
    integer: 3,
    number: 1.5,
    large: 1e7 + 0.5,
    on: true,
    when: '2026-01-01T00:58:00Z',
    list: ['<', 'y'],
    map: { b: 1, a: 2 },
    nothing: null,
  },
} as unknown as KubeObject;

test('cells are empty once the columns of a row have taken too much work', () => {
  const large = { ...object, spec: Array.from({ length: 49_000 }, () => ({ a: 1 })) };
  const columns = Array.from({ length: 4 }, () => ({
    name: 'C',
    type: 'integer',
    jsonPath: '..a',
  }));
  const cheap = { name: 'Cheap', type: 'string', jsonPath: '.metadata.name' };
  const { cells } = customTable([...columns, cheap]);
  expect(cells(large as unknown as KubeObject, NOW)).toEqual(['a', 1, null, null, null, null]);
});

test.each<[type: string, path: string, expected: unknown]>([
  ['string', '.spec.text', 'x'],
  ['string', '.spec.integer', '3'],
  ['string', '.spec.number', '1.5'],
  ['string', '.spec.large', '1.00000005e+07'],
  ['string', '.spec.on', 'true'],
  ['string', '.spec.list', '["\\u003c","y"]'],
  ['string', '.spec.map', '{"a":2,"b":1}'],
  ['string', '.spec.nothing', '<no value>'],
  ['string', '.spec.list[*]', '<'],
  ['string', '.spec.missing', null],
  ['string', '.spec.list[9]', null],
  ['integer', '.spec.integer', 3],
  ['integer', '.spec.number', 1],
  ['integer', '.spec.text', null],
  ['integer', '.spec.nothing', null],
  ['number', '.spec.number', 1.5],
  ['number', '.spec.integer', 3],
  ['boolean', '.spec.on', true],
  ['boolean', '.spec.text', null],
  ['date', '.spec.when', '2m'],
  ['date', '.spec.text', '<invalid>'],
  ['date', '.spec.integer', null],
])('%s %s', (type, jsonPath, expected) => {
  const table = customTable([{ name: 'Column', type, jsonPath }]);
  expect(table.cells(object, NOW)).toEqual(['a', expected]);
});

test('without columns there is the age', () => {
  const table = customTable([]);
  expect(table.columns.map(({ name, type }) => [name, type])).toEqual([
    ['Name', 'string'],
    ['Age', 'date'],
  ]);
  expect(table.cells(object, NOW)).toEqual(['a', '60m']);
});

test('a column has the properties in its definition, and a description', () => {
  const described = {
    name: 'B',
    type: 'string',
    jsonPath: '.b',
    description: 'text',
    format: 'byte',
    priority: 1,
  };
  expect(
    customTable([{ name: 'A', type: 'integer', jsonPath: '.a' }, described]).columns.slice(1),
  ).toEqual([
    {
      name: 'A',
      type: 'integer',
      description: 'Custom resource definition column (in JSONPath format): .a',
    },
    { name: 'B', type: 'string', description: 'text', format: 'byte', priority: 1 },
  ]);
});

test('columns end before the first one with an invalid path', () => {
  const columns = ['.a', '.b[', '.c'].map((jsonPath) => ({
    name: jsonPath,
    type: 'string',
    jsonPath,
  }));
  expect(customTable(columns).columns.map(({ name }) => name)).toEqual(['Name', '.a']);
});

test('scales have columns of their own', () => {
  const { columns } = scaleTable({ specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' });
  expect(columns.map(({ name }) => name)).toEqual(['Name', 'Desired', 'Available', 'Age']);
});
