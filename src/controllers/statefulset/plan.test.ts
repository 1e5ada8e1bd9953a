// Sets that want more pods than there can be: the work of a sync follows the pods that exist.

import { expect, test } from 'vitest';
import type { ReadPod, ReadStatefulSet } from './identity.ts';
import { type Plan, plan } from './plan.ts';

const metadata = { uid: 'u', resourceVersion: '1', creationTimestamp: '' };
const template = {
  metadata: { ...metadata, name: '', labels: { app: 'db' } },
  spec: { containers: [{ name: 'c', image: 'i', resources: {} }] },
};

const podOf = (ordinal: number): ReadPod => ({
  metadata: {
    ...metadata,
    name: `db-${ordinal}`,
    namespace: 'default',
    labels: { 'controller-revision-hash': 'old' },
  },
  spec: template.spec,
  status: { phase: 'Running' },
});

function planFor(
  podManagementPolicy: 'OrderedReady' | 'Parallel',
  replicas: number,
  ordinals: readonly number[],
): Plan {
  const set: ReadStatefulSet = {
    metadata: { ...metadata, name: 'db', namespace: 'default' },
    spec: {
      replicas,
      podManagementPolicy,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    },
    status: { replicas: 0, availableReplicas: 0 },
  };
  return plan({
    set,
    pods: ordinals.map(podOf),
    claim: () => undefined,
    updateRevision: 'new',
    nowMs: 0,
  });
}

const MOST = 2 ** 31 - 1;

test('in order, one pod is created at a time', () => {
  expect(planFor('OrderedReady', MOST, []).create).toEqual([0]);
});

test('in parallel, so many are created at a time', () => {
  const { create } = planFor('Parallel', MOST, [1]);
  expect(create).toHaveLength(500);
  expect(create.slice(0, 3)).toEqual([0, 2, 3]);
});

test('in parallel, pods beyond those that are created get their labels, too', () => {
  const { create, relabel } = planFor('Parallel', MOST, [0, MOST - 1]);
  expect(create).toHaveLength(500);
  expect(relabel.map((pod) => pod.metadata.name)).toEqual(['db-0', `db-${MOST - 1}`]);
});
