import { expect, test } from 'vitest';

import { SeededRandom } from '#machinery/random.ts';
import { Directories } from './directories.ts';

test('has exactly the prefixes of its keys', () => {
  const random = new SeededRandom('directories');
  const directories = new Directories();
  const keys = new Set<string>();
  const parts = ['a', 'b', 'ä', '', 'a/'];
  const paths = [
    '/',
    '/a/',
    '/b/',
    '/a/a/',
    '/a/b/',
    '/ä/',
    '/a/ä/',
    '//',
    '/a//',
    '/a/b/a/',
    '/b/b/b/',
    'a/',
  ];
  for (let step = 0; step < 2000; step++) {
    const names = Array.from({ length: 1 + random.int(4) }, () => parts[random.int(parts.length)]);
    const key = `${random.int(8) === 0 ? '' : '/'}${names.join('/')}`;
    if (keys.has(key)) {
      directories.delete(key);
      keys.delete(key);
    } else if (key !== '' && keys.size < 1 + (step % 40)) {
      directories.add(key);
      keys.add(key);
    }
    for (const path of paths) {
      const expected = [...keys].some((each) => each.startsWith(path));
      expect([path, directories.has(path)]).toEqual([path, expected]);
    }
  }
  for (const key of keys) directories.delete(key);
  expect(directories.has('/')).toBe(false);
});

test('deleting a missing key throws, since it is a bug of the caller', () => {
  expect(() => new Directories().delete('/a/b')).toThrow('/a/b is not in its directory');
});
