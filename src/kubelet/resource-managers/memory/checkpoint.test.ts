import { expect, test } from 'vitest';
import { CorruptCheckpointError } from '../../checkpoints/corrupt-checkpoint-error.ts';
import { decodeMemoryCheckpoint, encodeMemoryCheckpoint } from './checkpoint.ts';

// Both files were written by upstream's kubelet.
const EMPTY = '{"policyName":"None","machineState":{},"checksum":4236770233}';
const FILE =
  '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{},"cells":[0]},' +
  '"1":{"numberOfAssignments":2,"memoryMap":{"hugepages-2Mi":{"total":7,"systemReserved":0,' +
  '"allocatable":0,"reserved":0,"free":3},"memory":{"total":5,"systemReserved":0,"allocatable":0,' +
  '"reserved":0,"free":0}},"cells":[0,1]}},"entries":{"p":{"c":[{"numaAffinity":[0,1],' +
  '"type":"memory","size":9}]}},"checksum":1319271087}';

test.each([EMPTY, FILE])('upstream’s file is read, and written in the same way', (contents) => {
  expect(encodeMemoryCheckpoint(decodeMemoryCheckpoint(contents))).toBe(contents);
});

test.each([
  ['another checksum', FILE.replace('1319271087', '1')],
  ['another size', FILE.replace('"size":9', '"size":8')],
  ['no JSON', ''],
])('%s is a corrupt checkpoint', (_, contents) => {
  expect(() => decodeMemoryCheckpoint(contents)).toThrow(CorruptCheckpointError);
});
