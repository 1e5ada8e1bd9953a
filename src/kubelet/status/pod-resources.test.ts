import { expect, test } from 'vitest';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import type { PodStatus } from '../types.ts';
import { podResources } from './pod-resources.ts';

const before: PodStatus = { phase: 'Running' };

test('a pod has what its containers have together, with the overhead', () => {
  const pod = makePod({
    spec: {
      containers: [
        makeContainer('a', { resources: { requests: { cpu: '100m', memory: '64Mi' } } }),
        makeContainer('b', { resources: { requests: { cpu: '1' }, limits: { cpu: '2' } } }),
      ],
      overhead: { cpu: '50m', memory: '1Mi' },
    },
  });
  const requests = { cpu: '1150m', memory: '65Mi' };
  expect(podResources(pod, before, false)).toEqual({
    allocatedResources: requests,
    resources: { requests, limits: { cpu: '2050m' } },
  });
});

test('its own resources take precedence, if a pod can have them as a whole', () => {
  const pod = makePod({
    spec: {
      containers: [
        makeContainer('a', { resources: { requests: { cpu: '1', 'example.com/gpu': '2' } } }),
      ],
      resources: { requests: { cpu: '3' }, limits: { memory: '1Gi' } },
    },
  });
  const requests = { cpu: '3', 'example.com/gpu': '2' };
  expect(podResources(pod, before, false)).toEqual({
    allocatedResources: requests,
    resources: { requests, limits: { memory: '1Gi' } },
  });
});

test('during a resize the earlier resources are in effect', () => {
  const resources = { requests: { cpu: '1' } };
  const pod = makePod({
    spec: { containers: [makeContainer('a', { resources: { requests: { cpu: '2' } } })] },
  });
  expect(podResources(pod, { ...before, resources }, true)).toEqual({
    allocatedResources: { cpu: '2' },
    resources,
  });
});

test('a pod without requests and limits has empty resources', () => {
  const pod = makePod({ spec: { containers: [makeContainer('a')] } });
  expect(podResources(pod, before, false)).toEqual({ resources: {} });
});
