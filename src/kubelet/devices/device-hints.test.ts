import { expect, test } from 'vitest';
import { maskOf } from '../resource-managers/hints/numa-mask.ts';
import { byAffinity, deviceHints } from './device-hints.ts';

const devices = new Map([
  ['a', [0]],
  ['b', [0]],
  ['c', [1]],
  ['d', []],
]);
const input = {
  machineNodes: [0, 1],
  devices,
  present: new Set<string>(),
  available: new Set(['a', 'c', 'd']),
  reusable: new Set<string>(),
  requested: 1,
};
const both = maskOf([0, 1]);

test('hints name the nodes with enough devices, and prefer as few nodes as the devices need', () => {
  expect(deviceHints(input)).toEqual([
    { mask: 1, preferred: true },
    { mask: 2, preferred: true },
    { mask: both, preferred: false },
  ]);
  // Two devices of node 0 would be enough, but one of them is in use.
  expect(deviceHints({ ...input, requested: 2 })).toEqual([{ mask: both, preferred: false }]);
});

test('devices without NUMA nodes have no preference', () => {
  expect(deviceHints({ ...input, devices: new Map([['a', []]]) })).toBeUndefined();
});

test('too few devices are no hints', () => {
  expect(deviceHints({ ...input, requested: 4 })).toEqual([]);
});

test('the devices that a container has are the only hint', () => {
  expect(deviceHints({ ...input, present: new Set(['c']) })).toEqual([
    { mask: 2, preferred: true },
    { mask: both, preferred: false },
  ]);
  expect(deviceHints({ ...input, present: new Set(['b', 'c']) })).toEqual([]);
});

test('devices of init containers are used again', () => {
  const reused = { ...input, available: new Set(['c']), reusable: new Set(['a']), requested: 1 };
  expect(deviceHints(reused)).toEqual([
    { mask: 1, preferred: true },
    { mask: both, preferred: false },
  ]);
});

test('devices on the chosen nodes come first, those without nodes last', () => {
  const available = ['d', 'c', 'b', 'a'];
  expect(byAffinity(devices, available, 1)).toEqual({ aligned: ['b', 'a'], others: ['c', 'd'] });
  expect(byAffinity(devices, available, undefined)).toEqual({ aligned: [], others: available });
});
