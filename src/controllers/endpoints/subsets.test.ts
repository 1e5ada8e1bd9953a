import { expect, test } from 'vitest';
import { MAX_ADDRESSES, truncate } from './subsets.ts';

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ip: `10.${index >> 8}.0.${index & 255}` }));
const sizes = (subsets: ReturnType<typeof truncate>) =>
  subsets?.map(({ addresses = [], notReadyAddresses = [] }) => [
    addresses.length,
    notReadyAddresses.length,
  ]);

test.each<[string, [number, number][], [number, number][] | undefined]>([
  ['what fits stays', [[600, 400]], undefined],
  ['those that are not ready go first', [[800, 400]], [[800, 200]]],
  ['ready ones too, and then all others', [[1200, 100]], [[1000, 0]]],
  [
    'each subset in proportion',
    [
      [900, 0],
      [300, 0],
    ],
    [
      [750, 0],
      [250, 0],
    ],
  ],
  [
    'those that are not ready in proportion',
    [
      [400, 300],
      [400, 100],
    ],
    [
      [400, 150],
      [400, 50],
    ],
  ],
])('%s', (_, given, expected) => {
  const subsets = given.map(([ready, not]) => ({
    ...(ready > 0 && { addresses: many(ready) }),
    ...(not > 0 && { notReadyAddresses: many(not) }),
    ports: [{ port: 80 }],
  }));
  const cut = truncate(subsets);
  expect(sizes(cut)).toEqual(expected);
  expect((sizes(cut) ?? []).flat().reduce((sum, size) => sum + size, 0)).toBe(
    cut === undefined ? 0 : MAX_ADDRESSES,
  );
});
