import fastJsonPatch, { type Operation } from 'fast-json-patch';
import { expect, test } from 'vitest';
import type { KubeObject } from '../lists/live-object.ts';
import { revisionsOf, undoPatch } from './rollout.ts';

const deployment: KubeObject = {
  kind: 'Deployment',
  metadata: {
    name: 'web',
    uid: 'u',
    resourceVersion: '7',
    generation: 3,
    annotations: { 'deployment.kubernetes.io/revision': '2', note: 'new' },
  },
};

const replicaSet = (revision: number, owner: string): KubeObject => ({
  metadata: {
    name: `web-${revision}`,
    annotations: { 'deployment.kubernetes.io/revision': String(revision), note: 'old' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: owner, controller: true },
    ],
  },
  spec: {
    template: {
      metadata: { labels: { app: 'web', 'pod-template-hash': 'abc' } },
      spec: { containers: [{ image: `nginx:${revision}` }] },
    },
  },
  status: { replicas: revision },
});

test('revisions are those of the workload, the latest first', () => {
  const revisions = revisionsOf(deployment, [
    replicaSet(1, 'u'),
    replicaSet(2, 'u'),
    replicaSet(9, 'other'),
  ]);
  expect(revisions.map(({ number, current, images }) => [number, current, images])).toEqual([
    [2, true, ['nginx:2']],
    [1, false, ['nginx:1']],
  ]);
});

test('undo restores template and annotations, without the labels of the old ReplicaSet', () => {
  const [, old] = revisionsOf(deployment, [replicaSet(1, 'u'), replicaSet(2, 'u')]);
  expect(undoPatch(deployment, old!).body).toEqual([
    { op: 'test', path: '/metadata/uid', value: 'u' },
    { op: 'test', path: '/metadata/generation', value: 3 },
    {
      op: 'replace',
      path: '/spec/template',
      value: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ image: 'nginx:1' }] },
      },
    },
    {
      op: 'add',
      path: '/metadata/annotations',
      value: { 'deployment.kubernetes.io/revision': '2', note: 'old' },
    },
  ]);
});

test('undo goes on after a change of the status, and not after one of the spec', () => {
  const [, old] = revisionsOf(deployment, [replicaSet(1, 'u'), replicaSet(2, 'u')]);
  const body = undoPatch(deployment, old!).body as Operation[];
  const applied = (metadata: object): object => {
    const current = { metadata: { ...deployment.metadata, ...metadata }, spec: { template: {} } };
    return fastJsonPatch.applyPatch(current, body).newDocument;
  };
  expect(applied({ resourceVersion: '8' })).toMatchObject({
    spec: { template: { spec: { containers: [{ image: 'nginx:1' }] } } },
  });
  expect(() => applied({ generation: 4 })).toThrow('Test operation failed');
  expect(() => applied({ uid: 'another' })).toThrow('Test operation failed');
});

test('undo of a stateful set applies the revision', () => {
  const data = { spec: { template: { spec: {} } } };
  const revision: KubeObject = {
    metadata: {
      name: 'db-1',
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 's', controller: true },
      ],
    },
    revision: 1,
    data,
  };
  const set: KubeObject = {
    kind: 'StatefulSet',
    metadata: { name: 'db', uid: 's' },
    status: { updateRevision: 'db-1' },
  };
  const [first] = revisionsOf(set, [revision]);
  expect(first).toMatchObject({ number: 1, current: true });
  expect(undoPatch(set, first!)).toEqual({
    contentType: 'application/strategic-merge-patch+json',
    body: data,
  });
});
