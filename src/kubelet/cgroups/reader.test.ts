import { expect, test } from 'vitest';

import { CgroupReader } from './reader.ts';
import type { CgroupStats } from './types.ts';

const STATS: CgroupStats = { cpu: {}, memory: {}, devices: [], pressure: {} };

test('paths are searched for once, and again only for new containers', async () => {
  const searches: string[][] = [];
  const existing = new Map([['a', '/pods/a']]);
  const reader = new CgroupReader({
    find: (names) => {
      searches.push([...names]);
      return new Map([...existing].filter(([id]) => names.has(id)));
    },
    read: (path) => ([...existing.values()].includes(path) ? STATS : undefined),
    deviceNames: () => new Map(),
  });
  expect([...(await reader.read(['a', 'b']))]).toEqual([['a', { path: '/pods/a', stats: STATS }]]);
  await reader.read(['a', 'b']);
  expect(searches).toEqual([['a', 'b']]);
  existing.set('b', '/pods/b');
  existing.set('c', '/pods/c');
  expect([...(await reader.read(['a', 'b', 'c'])).keys()]).toEqual(['a', 'b', 'c']);
  expect(searches).toEqual([
    ['a', 'b'],
    ['b', 'c'],
  ]);
  existing.delete('a');
  expect([...(await reader.read(['a', 'b'])).keys()]).toEqual(['b']);
});
