import { expect, test } from 'vitest';
import { CorruptCheckpointError } from '../../checkpoints/corrupt-checkpoint-error.ts';
import { formatCpuSet, parseCpuSet } from '../cpu-set.ts';
import { decodeCpuCheckpoint, encodeCpuCheckpoint } from './checkpoint.ts';
import { CpuAssignments } from './cpu-assignments.ts';

// Both files were written by upstream's kubelet.
const EMPTY = '{"policyName":"static","defaultCpuSet":"0-3","checksum":611748604}';
const FILE =
  '{"policyName":"static","defaultCpuSet":"0-3","entries":{"p1":{"c":"4"},"p2":{"a":"2-3","b":"1"}},' +
  '"checksum":1183234478}';

test('the file is upstream’s, with its checksum', () => {
  const assignments = new CpuAssignments();
  assignments.shared = parseCpuSet('0-3');
  expect(encodeCpuCheckpoint({ policy: 'static', assignments })).toBe(EMPTY);
  assignments.assign('p1', 'c', parseCpuSet('4'));
  assignments.assign('p2', 'a', parseCpuSet('2-3'));
  assignments.assign('p2', 'b', parseCpuSet('1'));
  expect(encodeCpuCheckpoint({ policy: 'static', assignments })).toBe(FILE);
});

test('upstream’s file is read', () => {
  const { policy, assignments } = decodeCpuCheckpoint(FILE);
  expect(policy).toBe('static');
  expect(formatCpuSet(assignments.shared)).toBe('0-3');
  expect(formatCpuSet(assignments.cpusOf('p2', 'a'))).toBe('2-3');
});

test.each([
  ['another checksum', FILE.replace('1183234478', '1')],
  ['no JSON', '{'],
  ['a list of CPUs that is none', '{"policyName":"static","defaultCpuSet":"x","checksum":0}'],
])('%s is a corrupt checkpoint', (_, contents) => {
  expect(() => decodeCpuCheckpoint(contents)).toThrow(CorruptCheckpointError);
});
