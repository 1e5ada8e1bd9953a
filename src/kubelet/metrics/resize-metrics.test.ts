import { expect, test } from 'vitest';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { makePod } from '../testing/make-pod.ts';
import type { Pod, ResourceList } from '../types.ts';
import { ResizeMetrics } from './resize-metrics.ts';

function setUp() {
  const instruments = new Instruments();
  const metrics = new ResizeMetrics(instruments);
  const lines = (name: string): readonly string[] =>
    instruments
      .text()
      .split('\n')
      .filter((line) => line.startsWith(name));
  return { metrics, lines };
}

const pod = (requests: ResourceList, limits: ResourceList): Pod =>
  makePod({
    spec: { containers: [{ name: 'main', image: 'i', resources: { requests, limits } }] },
  });

test('requests and limits are counted by what happens to them', () => {
  const { metrics, lines } = setUp();
  metrics.resizeRequested(
    pod({ cpu: '1500m', memory: '1Gi' }, { cpu: '2' }),
    pod({ cpu: '1', memory: '1024Mi' }, { cpu: '3', memory: '2Gi' }),
  );
  metrics.resizeRequested(pod({}, { memory: '1Gi' }), pod({}, {}));
  expect(lines('kubelet_container_requested_resizes_total{').toSorted()).toEqual([
    'kubelet_container_requested_resizes_total{resource="cpu",requirement="limits",operation="decrease"} 1',
    'kubelet_container_requested_resizes_total{resource="cpu",requirement="requests",operation="increase"} 1',
    'kubelet_container_requested_resizes_total{resource="memory",requirement="limits",operation="add"} 1',
    'kubelet_container_requested_resizes_total{resource="memory",requirement="limits",operation="remove"} 1',
  ]);
});

test('pending resizes have a series for each reason that there is', () => {
  const { metrics, lines } = setUp();
  metrics.set({ deferred: 2, infeasible: 0, inProgress: 1 });
  expect(lines('kubelet_pod_pending_resizes{')).toEqual([
    'kubelet_pod_pending_resizes{reason="deferred"} 2',
  ]);
  metrics.set({ deferred: 0, infeasible: 3, inProgress: 0 });
  expect(lines('kubelet_pod_pending_resizes{')).toEqual([
    'kubelet_pod_pending_resizes{reason="infeasible"} 3',
  ]);
  expect(lines('kubelet_pod_in_progress_resizes')).toEqual(['kubelet_pod_in_progress_resizes 0']);
});

test('durations and reasons', () => {
  const { metrics, lines } = setUp();
  metrics.resized(true, 70);
  metrics.resizeInfeasible('swap_limitation');
  expect(lines('kubelet_pod_resize_duration_milliseconds_sum')).toEqual([
    'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 70',
  ]);
  expect(lines('kubelet_pod_infeasible_resizes_total{')).toEqual([
    'kubelet_pod_infeasible_resizes_total{reason_detail="swap_limitation"} 1',
  ]);
});
