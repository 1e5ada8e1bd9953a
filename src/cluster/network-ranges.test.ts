import { describe, expect, test } from 'vitest';
import { checkApart, firstServiceAddress, parseServiceRanges } from './network-ranges.ts';

const parse = (text: string) => parseServiceRanges('--service-cidr', text);

describe('ranges of services', () => {
  test.each([
    ['10.96.0.0/16', ['IPv4'], '10.96.0.1'],
    ['fd00:10:96::/112', ['IPv6'], 'fd00:10:96::1'],
    ['10.96.0.0/16,fd00:10:96::/112', ['IPv4', 'IPv6'], '10.96.0.1'],
    ['fd00:10:96::/112,10.96.0.0/16', ['IPv6', 'IPv4'], 'fd00:10:96::1'],
  ])('%s', (text, families, first) => {
    expect(parse(text).map(({ family }) => family)).toEqual(families);
    expect(firstServiceAddress(parse(text))).toBe(first);
  });

  test.each([
    ['', /takes an IPv4 range/],
    ['10.96.0.0', /takes an IPv4 range/],
    ['10.96.0.0/30', /takes an IPv4 range/],
    ['fd00::/56', /takes an IPv4 range/],
    ['10.96.0.1/16', /did you mean 10\.96\.0\.0\/16\?/],
    ['fd00:10:96:0::/112', /did you mean fd00:10:96::\/112\?/],
    ['10.96.0.0/16,10.97.0.0/16', /one range of each family at most/],
    ['10.96.0.0/16,fd00::/112,10.97.0.0/16', /one range of each family at most/],
  ])('not %j', (text, problem) => {
    expect(() => parse(text)).toThrow(problem);
  });

  test('have no address of a pod', () => {
    checkApart('10.244.0.0/16', parse('10.96.0.0/16,fd00::/112'));
    expect(() => checkApart('10.96.8.0/24', parse('fd00::/112,10.96.0.0/16'))).toThrow(/overlap/);
  });
});
