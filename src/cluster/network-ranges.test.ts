import { describe, expect, test } from 'vitest';
import { checkApart, defaultPodRange, firstServiceAddress, nodeRange, parseRange, parseServiceRanges } from './network-ranges.ts';

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

describe('ranges of nodes', () => {
  test.each([
    [1, '10.244.0.0/16'],
    [256, '10.244.0.0/16'],
    [257, '10.244.0.0/15'],
    [1000, '10.244.0.0/14'],
    [1025, '10.240.0.0/13'],
    [10_000, '10.192.0.0/10'],
  ])('%i nodes get a /24 each, no two the same, from %s', (nodes, cidr) => {
    const range = defaultPodRange(nodes);
    expect(range.cidr).toBe(cidr);
    expect(range.base).toBe(parseRange('--pod-cidr', cidr, 28).base);
    const parts = new Set(Array.from({ length: nodes }, (_, index) => nodeRange(range, index)));
    expect(parts.size).toBe(nodes);
    for (const part of parts) expect(part).toMatch(/\.0\/24$/);
    checkApart(range.cidr, parse('10.96.0.0/16'));
  });

  test('stay the same when nodes are added', () => {
    const of = (nodes: number): string[] => Array.from({ length: 200 }, (_, index) => nodeRange(defaultPodRange(nodes), index));
    expect(of(200)[1]).toBe('10.244.1.0/24');
    for (const nodes of [300, 1000, 2000, 10_000]) expect(of(nodes)).toEqual(of(200));
  });

  test('must fit into a range that is given', () => {
    const range = parseRange('--pod-cidr', '10.1.0.0/16', 28);
    expect(nodeRange(range, 255)).toBe('10.1.255.0/24');
    expect(() => nodeRange(range, 256)).toThrow(/room for 256 nodes/);
  });
});
