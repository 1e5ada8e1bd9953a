import { expect, test } from 'vitest';
import { DomainNumbers, NumberedCounts } from './domain-numbers.ts';

test('nodes of one domain have its count, nodes without a domain have 0', () => {
  const domains = new DomainNumbers(4);
  const counts = new NumberedCounts();
  ['a', 'b', 'a', undefined].forEach((domain, position) => domains.put(position, domain));
  counts.add(domains.of('a'), 2);
  const all = (): readonly number[] =>
    [0, 1, 2, 3].map((position) => domains.count(position, counts));
  expect(all()).toEqual([2, 0, 2, 0]);
  counts.add(domains.of('a'), -1);
  counts.add(domains.of('b'), 5);
  domains.put(0, 'b');
  expect(all()).toEqual([5, 5, 1, 0]);
});

test('supports as many domains as there are nodes', () => {
  const size = 1000;
  const domains = new DomainNumbers(size);
  const counts = new NumberedCounts();
  for (let i = 0; i < size; i++) {
    domains.put(i, `n${i}`);
    counts.add(domains.of(`n${i}`), i);
  }
  for (let i = 0; i < size; i++) expect(domains.count(i, counts)).toBe(i);
});
