import { describe, expect, test } from 'vitest';

import { formatIp } from '#machinery/net/ip.ts';
import { addressRange, type AddressRange, serviceAddressRanges } from './address-range.ts';

const borders = ({ family, firstUsable, lastUsable, firstDynamic }: AddressRange): string[] =>
  [firstUsable, lastUsable, firstDynamic].map((value) => formatIp({ family, value }));

describe('ranges', () => {
  /** As in Kubernetes: the lower part (a sixteenth, from 16 to 256 addresses) is used last. */
  test.each([
    ['10.0.0.0/8', '10.0.0.1', '10.255.255.254', '10.0.1.1'],
    ['10.96.0.0/12', '10.96.0.1', '10.111.255.254', '10.96.1.1'],
    ['10.96.0.0/20', '10.96.0.1', '10.96.15.254', '10.96.1.1'],
    ['10.96.0.0/24', '10.96.0.1', '10.96.0.254', '10.96.0.17'],
    ['10.96.0.77/24', '10.96.0.1', '10.96.0.254', '10.96.0.17'],
    ['10.96.0.0/27', '10.96.0.1', '10.96.0.30', '10.96.0.17'],
    ['10.96.0.0/28', '10.96.0.1', '10.96.0.14', '10.96.0.1'],
    ['10.96.0.0/29', '10.96.0.1', '10.96.0.6', '10.96.0.1'],
    ['fd00::/108', 'fd00::1', 'fd00::f:ffff', 'fd00::101'],
    ['fd00::7:77/120', 'fd00::7:1', 'fd00::7:ff', 'fd00::7:11'],
    [
      '2001:db8:0:1::/64',
      '2001:db8:0:1::1',
      '2001:db8:0:1:ffff:ffff:ffff:ffff',
      '2001:db8:0:1::101',
    ],
    ['fd00::10.1.2.0/125', 'fd00::a01:201', 'fd00::a01:207', 'fd00::a01:201'],
  ])('%s', (cidr, first, last, firstDynamic) => {
    const [range] = serviceAddressRanges(cidr);
    expect(borders(range!)).toEqual([first, last, firstDynamic]);
  });

  test.each([
    '',
    '10.0.0.0',
    '10.0.0.0/7',
    '10.0.0.0/30',
    '10.0.0.0/x',
    'fd00::/63',
    'fd00::/126',
    '10.0.0/24',
    '10.0.0.0/24/24',
  ])('not %j for a cluster to begin with', (cidr) => {
    expect(() => serviceAddressRanges(cidr)).toThrow(RangeError);
  });

  test('added later may be small, or too large to be used', () => {
    const usable = (cidr: string): bigint => {
      const { firstUsable, lastUsable } = addressRange(cidr)!;
      return lastUsable - firstUsable + 1n;
    };
    expect(usable('10.0.0.0/30')).toBe(2n);
    expect(usable('10.0.0.0/31') <= 0n).toBe(true);
    expect(usable('10.0.0.0/32') <= 0n).toBe(true);
    expect(usable('fd00::/127')).toBe(1n);
    expect(addressRange('fd00::/56')).toBeUndefined();
  });

  test('one of each family', () => {
    expect(serviceAddressRanges('10.0.0.0/24,fd00::/112').map(({ family }) => family)).toEqual([
      'IPv4',
      'IPv6',
    ]);
    expect(serviceAddressRanges('fd00::/112,10.0.0.0/24').map(({ family }) => family)).toEqual([
      'IPv6',
      'IPv4',
    ]);
    for (const cidrs of [
      '10.0.0.0/24,10.1.0.0/24',
      '10.0.0.0/24,fd00::/112,10.1.0.0/24',
      '10.0.0.0/24,',
    ]) {
      expect(() => serviceAddressRanges(cidrs), cidrs).toThrow(RangeError);
    }
  });
});
