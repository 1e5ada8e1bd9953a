import { describe, expect, test } from 'vitest';
import {
  contains,
  containsRange,
  formatIp,
  isHostOf,
  overlaps,
  parseCidr,
  parseIp,
  type IpAddress,
  type IpRange,
} from './ip.ts';

const ip = (text: string): IpAddress => parseIp(text)!;
const range = (text: string): IpRange => parseCidr(text)!;

describe('addresses', () => {
  test.each([
    ['0.0.0.0', 0n, '0.0.0.0'],
    ['10.96.0.1', 174_063_617n, '10.96.0.1'],
    ['255.255.255.255', 4_294_967_295n, '255.255.255.255'],
    ['::', 0n, '::'],
    ['::1', 1n, '::1'],
    ['FD00:0:0::000A', (0xfdn << 120n) + 10n, 'fd00::a'],
    ['::ffff:10.1.2.3', (0xffffn << 32n) + 0x0a010203n, '::ffff:a01:203'],
    ['1:0:0:2:0:0:0:3', (1n << 112n) + (2n << 64n) + 3n, '1:0:0:2::3'],
    ['1:2:3:4:5:6:7::', 0x0001_0002_0003_0004_0005_0006_0007_0000n, '1:2:3:4:5:6:7:0'],
  ])('%s', (text, value, canonical) => {
    expect(ip(text).value).toBe(value);
    expect(formatIp(ip(text))).toBe(canonical);
  });

  test.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.01',
    '10.0.0.0.1',
    '10.0.0.x',
    'fe80::1%eth0',
    ':::',
    '1e1.0.0.1',
    ' ::1',
  ])('not %j', (text) => {
    expect(parseIp(text)).toBeUndefined();
  });
});

describe('ranges', () => {
  test.each([
    ['10.0.0.77/24', '10.0.0.0', '10.0.0.255'],
    ['10.0.0.0/32', '10.0.0.0', '10.0.0.0'],
    ['0.0.0.0/0', '0.0.0.0', '255.255.255.255'],
    ['fd00::7:77/120', 'fd00::7:0', 'fd00::7:ff'],
    ['::/0', '::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ])('%s', (text, first, last) => {
    const { family, first: low, last: high } = range(text);
    expect([formatIp({ family, value: low }), formatIp({ family, value: high })]).toEqual([
      first,
      last,
    ]);
  });

  test.each([
    '',
    '10.0.0.0',
    '/24',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fd00::/129',
  ])('not %j', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });

  test('contain addresses and ranges', () => {
    expect(contains(range('10.0.0.0/24'), ip('10.0.0.255'))).toBe(true);
    expect(contains(range('10.0.0.0/24'), ip('10.0.1.0'))).toBe(false);
    expect(contains(range('::/0'), ip('10.0.0.1'))).toBe(false);
    expect(containsRange(range('10.0.0.0/16'), range('10.0.9.0/24'))).toBe(true);
    expect(containsRange(range('10.0.9.0/24'), range('10.0.0.0/16'))).toBe(false);
    expect(overlaps(range('10.0.9.0/24'), range('10.0.0.0/16'))).toBe(true);
    expect(overlaps(range('10.0.9.0/24'), range('10.0.8.0/24'))).toBe(false);
  });

  test('the network and broadcast addresses are no host addresses', () => {
    const hosts = ['10.0.0.0', '10.0.0.1', '10.0.0.6', '10.0.0.7'].map((text) =>
      isHostOf(range('10.0.0.0/29'), ip(text)),
    );
    expect(hosts).toEqual([false, true, true, false]);
    expect(
      ['fd00::', 'fd00::1', 'fd00::7'].map((text) => isHostOf(range('fd00::/125'), ip(text))),
    ).toEqual([false, true, true]);
  });
});
