import { expect, test } from 'vitest';
import type { KubeObject } from '../lists/live-object.ts';
import { jobOf, nodeDebugPod } from './one-off.ts';

test('a Job of a CronJob has its template, and belongs to it', () => {
  const cronJob = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'c'.repeat(52), namespace: 'shop', uid: 'u1' },
    spec: {
      schedule: '@daily',
      jobTemplate: {
        metadata: { labels: { app: 'report' }, annotations: { note: 'x' } },
        spec: { backoffLimit: 2 },
      },
    },
  } as unknown as KubeObject;
  const { metadata, spec } = jobOf(cronJob);
  // The server adds five characters.
  expect(metadata.generateName.length + 5).toBeLessThanOrEqual(63);
  expect(metadata).toMatchObject({
    namespace: 'shop',
    labels: { app: 'report' },
    annotations: { 'cronjob.kubernetes.io/instantiate': 'manual', note: 'x' },
    ownerReferences: [{ kind: 'CronJob', uid: 'u1', controller: true }],
  });
  expect(spec).toEqual({ backoffLimit: 2 });
});

test('a pod that looks into a node runs there in any case', () => {
  const { metadata, spec } = nodeDebugPod('n'.repeat(253), 'default', 'busybox');
  expect(metadata.generateName.length).toBeLessThan(60);
  expect(spec).toMatchObject({
    nodeName: 'n'.repeat(253),
    hostPID: true,
    tolerations: [{ operator: 'Exists' }],
  });
});
