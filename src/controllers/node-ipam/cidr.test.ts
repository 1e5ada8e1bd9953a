import { describe, expect, test } from 'vitest';
import { CidrSet } from './cidr.ts';

describe('CidrSet', () => {
  test('allocates each piece once, in order, and reuses released pieces last', () => {
    const set = new CidrSet('10.244.0.0/22', 24);
    expect([set.size, set.family]).toEqual([4, 4]);
    expect([set.allocate()?.cidr, set.allocate()?.cidr]).toEqual([
      '10.244.0.0/24',
      '10.244.1.0/24',
    ]);
    set.release('10.244.0.0/24');
    expect([set.allocate()?.cidr, set.allocate()?.cidr, set.allocate()?.cidr]).toEqual([
      '10.244.2.0/24',
      '10.244.3.0/24',
      '10.244.0.0/24',
    ]);
    expect(set.allocate()).toBeUndefined();
    expect(set.free).toBe(0);
  });

  test('occupies the pieces that a larger or smaller range overlaps', () => {
    const set = new CidrSet('10.0.0.0/22', 24);
    expect(set.occupy('10.0.1.128/25')).toBe(true);
    expect(set.free).toBe(3);
    expect(set.occupy('10.0.2.0/23')).toBe(true);
    expect(set.free).toBe(1);
    expect(set.occupy('10.0.4.0/24')).toBe(false);
    expect(set.occupy('9.255.255.0/24')).toBe(false);
    expect(set.occupy('fd00::/64')).toBe(false);
    expect(set.occupy('10.0.0.0/8')).toBe(true);
    expect(set.free).toBe(0);
  });

  test('does the same with IPv6', () => {
    const set = new CidrSet('fd00:10:244::/56', 64);
    expect(set.size).toBe(256);
    expect([set.allocate()?.cidr, set.allocate()?.cidr]).toEqual([
      'fd00:10:244::/64',
      'fd00:10:244:1::/64',
    ]);
    expect(set.occupy('fd00:10:244:2:0:0:0:0/64')).toBe(true);
    expect(set.allocate()?.cidr).toBe('fd00:10:244:3::/64');
    expect(new CidrSet('::ffff:10.0.0.0/112', 120).allocate()?.cidr).toBe('::ffff:a00:0/120');
    expect(new CidrSet('1:0:0:2:0:0:0:0/64', 72).allocate()?.cidr).toBe('1:0:0:2::/72');
  });

  test('has room for 100,000 nodes', () => {
    const set = new CidrSet('240.0.0.0/7', 24);
    expect(set.occupy('241.134.159.0/24')).toBe(true);
    expect(set.free).toBe(131_071);
  });

  test.each([
    ['10.0.0.0/24', 16],
    ['10.0.0.0/8', 32],
    ['10.0.0.0', 24],
    ['10.0.0/8', 24],
    ['10.0.0.0/33', 33],
    ['nonsense/8', 24],
  ])('refuses %s in pieces of /%i', (cidr, prefix) => {
    expect(() => new CidrSet(cidr, prefix)).toThrow(RangeError);
  });
});
