import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as autoscaling from './types.ts';

const spec = variation<autoscaling.HorizontalPodAutoscaler>(
  'autoscaling/v2.HorizontalPodAutoscaler',
  {
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'a', apiVersion: 'apps/v1' },
      maxReplicas: 3,
    },
  },
);
const of = (change: object): autoscaling.HorizontalPodAutoscaler['spec'] =>
  spec({ spec: change }).spec;

const UP = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const DOWN = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

test('of replicas and metrics', () => {
  const cpu = {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
  };
  expect(of({})).toMatchObject({ minReplicas: 1, metrics: [cpu] });
  expect(of({ metrics: [], minReplicas: 2 })).toMatchObject({ minReplicas: 2, metrics: [cpu] });
  const memory = {
    type: 'Resource',
    resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } },
  };
  expect(of({ metrics: [memory] }).metrics).toEqual([memory]);
  expect(of({}).behavior).toBeUndefined();
});

test.each([
  [{}, { scaleUp: UP, scaleDown: DOWN }],
  [{ scaleUp: {} }, { scaleUp: UP, scaleDown: DOWN }],
  [
    { scaleUp: { stabilizationWindowSeconds: 60 }, scaleDown: { stabilizationWindowSeconds: 300 } },
    {
      scaleUp: { ...UP, stabilizationWindowSeconds: 60 },
      scaleDown: { ...DOWN, stabilizationWindowSeconds: 300 },
    },
  ],
  [
    { scaleUp: { selectPolicy: 'Min' }, scaleDown: { selectPolicy: 'Disabled' } },
    { scaleUp: { ...UP, selectPolicy: 'Min' }, scaleDown: { ...DOWN, selectPolicy: 'Disabled' } },
  ],
  [
    {
      scaleUp: { policies: [{ type: 'Pods', value: 1, periodSeconds: 2 }] },
      scaleDown: { tolerance: '0.2' },
    },
    {
      scaleUp: { ...UP, policies: [{ type: 'Pods', value: 1, periodSeconds: 2 }] },
      scaleDown: { ...DOWN, tolerance: expect.anything() },
    },
  ],
])('of the behaviour %j', (behavior, expected) => {
  expect(of({ behavior }).behavior).toEqual(expected);
});
