import { expect, test } from 'vitest';

import { StructuralCodec } from '#api/machinery/codec/structural/index.ts';
import { SchemaPool } from './schema-pool.ts';

const make = (): StructuralCodec =>
  new StructuralCodec({
    group: 'g',
    version: 'v1',
    kind: 'K',
    listKind: 'KL',
    plural: 'ks',
    selectableFields: [],
  });

test('the least recently used schemas are evicted', () => {
  const pool = new SchemaPool({ limitBytes: 100 });
  const owners = [{}, {}, {}] as const;
  const use = (owner: object): StructuralCodec => pool.codecOf(owner, () => 50, make);
  const [first, second] = [use(owners[0]), use(owners[1])];
  expect(use(owners[0])).toBe(first);
  use(owners[2]);
  expect(pool.size).toBe(2);
  expect(use(owners[0])).toBe(first);
  expect(use(owners[1])).not.toBe(second);
});

test('one that exceeds the limit is kept alone', () => {
  const pool = new SchemaPool({ limitBytes: 100 });
  pool.codecOf({}, () => 50, make);
  const owner = {};
  const large = pool.codecOf(owner, () => 500, make);
  expect(pool.size).toBe(1);
  expect(pool.codecOf(owner, () => 500, make)).toBe(large);
});
