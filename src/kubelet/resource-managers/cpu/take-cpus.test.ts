import { describe, expect, test } from 'vitest';
import { type CpuSet, formatCpuSet, parseCpuSet } from '../cpu-set.ts';
import { makeCpus } from '../testing/make-topology.ts';
import { takeDistributed } from './take-distributed.ts';
import { CpuShortageError, takePacked } from './take-cpus.ts';

// Two sockets with one NUMA node of four cores each; CPU n and n + 8 are threads of one core.
const topology = makeCpus({ sockets: 2, numaNodes: 1, cores: 4, threads: 2 });
const all: CpuSet = new Set(topology.cpus.keys());

const packed = (available: string, count: number): string =>
  formatCpuSet(
    takePacked(topology, parseCpuSet(available), count, { order: 'packed', alignByUncore: false }),
  );

describe('packed', () => {
  test.each([
    ['whole cores come first', '0-15', 2, '0,8'],
    ['the threads of a core are taken together', '0-15', 4, '0-1,8-9'],
    ['a whole socket is taken at once', '0-15', 8, '0-3,8-11'],
    ['a used core is filled up for a single CPU', '0-7,9-15', 1, '0'],
    ['the socket with less free CPUs is used first', '0-9,12-15', 2, '0,8'],
    ['nothing is taken for nothing', '0-15', 0, ''],
  ])('%s', (_, available, count, taken) => {
    expect(packed(available, count)).toBe(taken);
  });

  test('a lack of CPUs is an error with both numbers', () => {
    expect(() => packed('0-2', 4)).toThrow(CpuShortageError);
    expect(() => packed('0-2', 4)).toThrow('requested=4, available=3');
  });
});

test('spread takes CPUs of different cores first', () => {
  const taken = takePacked(topology, all, 4, { order: 'spread', alignByUncore: false });
  expect(formatCpuSet(taken)).toBe('0-3');
});

describe('distributed over NUMA nodes', () => {
  test.each([
    ['one node is enough', 4, 1, '0-1,8-9'],
    ['ten CPUs are five of each node', 10, 1, '0-2,4-6,8-9,12-13'],
    ['groups are not divided', 12, 2, '0-2,4-6,8-10,12-14'],
    ['a number that is no multiple of the group is packed', 3, 2, '0-1,8'],
  ])('%s', (_, count, groupSize, taken) => {
    expect(formatCpuSet(takeDistributed(topology, all, count, groupSize, 'packed'))).toBe(taken);
  });

  test('a lack of CPUs is an error', () => {
    expect(() => takeDistributed(topology, all, 18, 2, 'packed')).toThrow(CpuShortageError);
  });
});
