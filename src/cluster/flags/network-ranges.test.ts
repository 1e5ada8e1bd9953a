import { describe, expect, test } from 'vitest';
import {
  checkApart,
  checkLoadBalancerPool,
  defaultPodRange,
  firstServiceAddress,
  nodeRanges,
  parsePodRange,
  parseServiceRanges,
} from './network-ranges.ts';
import { UserError } from '../user-error.ts';

const pods = (text: string) => parsePodRange('--pod-cidr', text);
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
    checkApart(pods('10.244.0.0/16,fd00:1::/56'), parse('10.96.0.0/16,fd00::/112'));
    expect(() => checkApart(pods('10.96.8.0/24'), parse('fd00::/112,10.96.0.0/16'))).toThrow(
      /overlap/,
    );
    expect(() =>
      checkApart(pods('10.244.0.0/16,fd00::/56'), parse('10.96.0.0/16,fd00::/112')),
    ).toThrow(/fd00::\/56 .* overlap/);
  });
});

describe('ranges of pods', () => {
  test('of one family or two: a node gets a part of each', () => {
    expect(nodeRanges(pods('fd00:10:244::/56'), 255)).toEqual(['fd00:10:244:ff::/64']);
    expect(nodeRanges(pods('10.1.0.0/16,fd00:10:244::/56'), 2)).toEqual([
      '10.1.2.0/24',
      'fd00:10:244:2::/64',
    ]);
    expect(nodeRanges(pods('fd00:1:2:3::/64,10.1.2.0/26'), 0)).toEqual([
      'fd00:1:2:3::/64',
      '10.1.2.0/26',
    ]);
    expect(() => nodeRanges(pods('10.0.0.0/8,fd00:10:244::/60'), 16)).toThrow(
      /fd00:10:244::\/60 has room for 16 nodes/,
    );
  });

  test.each([
    ['10.1.0.0', /takes an IPv4 range/],
    ['10.1.0.0/3', /takes an IPv4 range/],
    ['10.1.0.0/29', /takes an IPv4 range/],
    ['fd00::/40', /takes an IPv4 range/],
    ['fd00::/72', /takes an IPv4 range/],
    ['10.1.0.0/16,10.2.0.0/16', /one of each/],
    ['10.1.0.0/16,fd00::/56,10.2.0.0/16', /one of each/],
    ['10.1.2.3/16', /did you mean 10\.1\.0\.0\/16\?/],
  ])('not %j', (text, problem) => {
    expect(() => pods(text)).toThrow(problem);
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
    [32_768, '10.128.0.0/9'],
    [50_000, '240.0.0.0/8'],
  ])('%i nodes get a /24 each, no two the same, from %s', (nodes, cidr) => {
    const range = defaultPodRange(nodes);
    expect(range.cidr).toBe(cidr);
    expect(range.parts).toMatchObject(pods(cidr).parts);
    const parts = new Set(Array.from({ length: nodes }, (_, index) => nodeRanges(range, index)[0]));
    expect(parts.size).toBe(nodes);
    for (const part of parts) expect(part).toMatch(/\.0\/24$/);
    checkApart(range, parse('10.96.0.0/16'));
  });

  test('100,000 nodes have room', () => {
    const range = defaultPodRange(100_000);
    expect(range.cidr).toBe('240.0.0.0/7');
    expect(nodeRanges(range, 99_999)).toEqual(['241.134.159.0/24']);
    expect(range.parts).toMatchObject(pods(range.cidr).parts);
  });

  test('stay the same when nodes are added', () => {
    const of = (nodes: number): string[] =>
      Array.from({ length: 200 }, (_, index) => nodeRanges(defaultPodRange(nodes), index)[0]);
    expect(of(200)[1]).toBe('10.244.1.0/24');
    for (const nodes of [300, 1000, 2000, 10_000]) expect(of(nodes)).toEqual(of(200));
  });

  test('must fit into a range that is given', () => {
    const range = pods('10.1.0.0/16');
    expect(nodeRanges(range, 255)).toEqual(['10.1.255.0/24']);
    expect(() => nodeRanges(range, 256)).toThrow(/room for 256 nodes/);
  });
});

test('a pool for load balancers is apart from pods and services', () => {
  expect(
    String(checkLoadBalancerPool('10.0.0.240-10.0.0.250', ['10.244.0.0/16', '10.96.0.0/16'])),
  ).toBe('10.0.0.240-10.0.0.250');
  expect(() => checkLoadBalancerPool('10.96.7.0/24', ['10.96.0.0/16'])).toThrow(
    '--load-balancer-pool 10.96.7.0/24 and 10.96.0.0/16 overlap',
  );
  expect(() => checkLoadBalancerPool('10.0.0.9-10.0.0.1', [])).toThrow(UserError);
});
