import { expect, test } from 'vitest';
import { allocationOf } from './allocation.ts';
import type { KubeObject } from '../lists/live-object.ts';

const node = {
  metadata: { name: 'n1' },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', 'example.com/gpu': '0' } },
} as unknown as KubeObject;

const pod = (spec: object, phase = 'Running'): KubeObject =>
  ({ metadata: { name: 'p' }, spec, status: { phase } }) as unknown as KubeObject;
const needs = (cpu: string, more: object = {}): object => ({
  resources: { requests: { cpu }, limits: { memory: '1Gi' } },
  ...more,
});

test('requests and limits of the pods that are not finished', () => {
  const pods = [
    pod({ containers: [needs('500m'), needs('1')] }),
    pod({ containers: [needs('2')] }, 'Succeeded'),
    pod({ containers: [{}] }),
  ];
  expect(allocationOf(node, pods)).toEqual([
    { resource: 'cpu', requested: 1.5, limits: 0, allocatable: 4 },
    { resource: 'memory', requested: 0, limits: 2 * 2 ** 30, allocatable: 8 * 2 ** 30 },
    { resource: 'pods', requested: 2, limits: 0, allocatable: 110 },
  ]);
});

test('init containers count if they need more; sidecars count beside the others', () => {
  const cpuOf = (spec: object): number | undefined => allocationOf(node, [pod(spec)])[0]?.requested;
  expect(cpuOf({ containers: [needs('1')], initContainers: [needs('3')] })).toBe(3);
  const sidecar = needs('1', { restartPolicy: 'Always' });
  expect(cpuOf({ containers: [needs('1')], initContainers: [sidecar, needs('500m')] })).toBe(2);
  expect(cpuOf({ containers: [needs('1')], initContainers: [sidecar, needs('3')] })).toBe(4);
  expect(cpuOf({ containers: [needs('1')], overhead: { cpu: '250m' } })).toBe(1.25);
});
