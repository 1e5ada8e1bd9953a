import { expect, test } from 'vitest';
import { formatYaml } from '#api/machinery/codec/format-yaml.ts';
import { EncodedRow } from '../endpoints/table-rows.ts';
import { FreshObject } from '../registry/encoded-object.ts';
import type { ListBody } from './list-layout.ts';
import { readableList } from './readable-list.ts';

const ITEMS = [
  { metadata: { name: 'a', annotations: { text: 'two\nlines', empty: '' } }, list: [], map: {} },
  { metadata: { name: 'b' }, nested: [{ a: [1, 2] }, { b: null }], '9': 'x' },
  {},
];
const list = {
  kind: 'list',
  apiVersion: 'v1',
  listKind: 'ThingList',
  metadata: { resourceVersion: '7' },
  items: ITEMS.map((item) => new FreshObject(item)),
} as const;
const columnDefinitions = [{ name: 'Name', type: 'string' }];
const table = {
  ...list,
  listKind: 'Table',
  columnDefinitions,
  items: ITEMS.map((row) => new EncodedRow(row)),
  identifiedItems: true,
} as const;
const long = {
  ...list,
  items: Array.from({ length: 60 }, (_, i) => new FreshObject({ value: i })),
};
const head = (body: ListBody) => ({
  kind: body.listKind,
  apiVersion: body.apiVersion,
  metadata: body.metadata,
});
const cases: readonly (readonly [name: string, body: ListBody, whole: object])[] = [
  ['a list', list, { ...head(list), items: ITEMS }],
  ['an empty list', { ...list, items: [] }, { ...head(list), items: [] }],
  ['a table', table, { ...head(table), columnDefinitions, rows: ITEMS }],
  ['a long list', long, { ...head(long), items: long.items.map((item) => item.object()) }],
];

test.each(cases)('%s has the bytes of the whole encoding', async (_name, body, whole) => {
  const [indented, yaml] = [
    await readableList(body, { mediaType: 'application/json', pretty: true }),
    await readableList(body, { mediaType: 'application/yaml' }),
  ];
  expect(Buffer.from(indented).toString()).toBe(JSON.stringify(whole, null, 2));
  expect(Buffer.from(yaml).toString()).toBe(formatYaml(whole));
});
