import { expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { AddressSet } from './address-set.ts';

test('allocates every address of a range once, from any start, and then none', () => {
  const random = new SeededRandom('addresses');
  const set = new AddressSet();
  const [first, last] = [1000n, 4200n];
  const allocated = new Set<bigint>();
  for (;;) {
    const start = first + BigInt(random.int(Number(last - first) + 1));
    const free = set.firstFree(first, last, start);
    if (free === undefined) break;
    expect(free >= first && free <= last && set.add(free)).toBe(true);
    allocated.add(free);
  }
  expect(allocated.size).toBe(3201);
  expect(set.size).toBe(3201);
  set.delete(2047n);
  expect(set.firstFree(first, last, 3000n)).toBe(2047n);
  expect([set.firstFree(first, last, 2047n), set.firstFree(2048n, last, 2048n)]).toEqual([
    2047n,
    undefined,
  ]);
});

test('is a set', () => {
  const random = new SeededRandom('set');
  const [set, model] = [new AddressSet(), new Set<bigint>()];
  const base = 0xfd00n << 112n;
  for (let step = 0; step < 5000; step++) {
    const address = base + BigInt(random.int(3000));
    if (random.int(2) === 0) {
      expect(set.add(address)).toBe(!model.has(address));
      model.add(address);
    } else expect(set.delete(address)).toBe(model.delete(address));
    expect(set.has(address)).toBe(model.has(address));
    expect(set.size).toBe(model.size);
  }
});

test('finds the last free address of a million without visiting all of them', () => {
  const set = new AddressSet();
  const last = 1n << 20n;
  for (let address = 1n; address <= last; address++) if (address !== 12_345n) set.add(address);
  const began = process.cpuUsage();
  for (let round = 0; round < 20; round++) expect(set.firstFree(1n, last, 12_346n)).toBe(12_345n);
  // The search visits a thousand blocks; visiting a million bits would take far longer.
  expect(process.cpuUsage(began).user / 1000 / 20).toBeLessThan(5);
});
