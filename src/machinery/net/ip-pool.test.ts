import { expect, test } from 'vitest';
import { IpPool } from './ip-pool.ts';

test('ranges, networks and single addresses', () => {
  const pool = IpPool.parse('10.0.0.240-10.0.0.241, 10.0.1.0/31,fd00::/120,10.0.2.7');
  expect(String(pool)).toBe('10.0.0.240-10.0.0.241,10.0.1.0-10.0.1.1,fd00::-fd00::ff,10.0.2.7');
  expect(
    ['10.0.0.239', '10.0.0.240', '10.0.0.241', '10.0.0.242', 'fd00:0::FF', 'fd00::100', 'x'].map(
      (ip) => pool.has(ip),
    ),
  ).toEqual([false, true, true, false, true, false, false]);
  expect([
    pool.hasFamily('IPv4'),
    pool.hasFamily('IPv6'),
    IpPool.parse('fd00::1').hasFamily('IPv4'),
  ]).toEqual([true, true, false]);
});

test('addresses are allocated in order until none is left', () => {
  const pool = IpPool.parse('10.0.0.240-10.0.0.241,10.0.2.7');
  const taken = new Set<string>();
  for (const expected of ['10.0.0.240', '10.0.0.241', '10.0.2.7', undefined]) {
    const address = pool.firstFree('IPv4', (each) => taken.has(each));
    expect(address).toBe(expected);
    if (address !== undefined) taken.add(address);
  }
  expect(pool.firstFree('IPv6', () => false)).toBeUndefined();
});

test('a range of any length is searched at once', () => {
  expect(IpPool.parse('fd00::/8').firstFree('IPv6', (address) => address === 'fd00::')).toBe(
    'fd00::1',
  );
});

test.each([
  ['', '"" is neither a range of addresses nor a network'],
  ['10.0.0.1-', '"10.0.0.1-" is neither'],
  ['10.0.0.1-10.0.0.2-10.0.0.3', 'is neither'],
  ['10.0.0.0/33', 'is neither'],
  ['10.0.0.9-10.0.0.1', 'its end precedes its start'],
  ['10.0.0.1-fd00::1', 'its end precedes its start'],
  ['10.0.0.0/24,10.0.0.7', '10.0.0.0-10.0.0.255 and 10.0.0.7 overlap'],
])('%j is refused', (text, message) => {
  expect(() => IpPool.parse(text)).toThrow(message);
});
