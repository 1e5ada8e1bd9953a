import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ReplicaSet, replicaSets } from '#api/groups/apps/v1/index.ts';
import { events, type Pod, pods, replicationControllers } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ControllerConfig } from '../controller.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { ReplicaManager, replicaSetKind, replicationControllerKind } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const template = (labels: Record<string, string>) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'c', image: 'busybox:1' }] },
});
const replicaSet = (
  replicas: number,
  spec: New<ReplicaSet['spec']> = {},
  name = 'web',
): New<ReplicaSet> => ({
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: template({ app: 'web' }),
    ...spec,
  },
});
const sets = () => cluster.client.resource(replicaSets).namespace('default');
const podClient = () => cluster.client.resource(pods).namespace('default');
const podList = async () => (await podClient().list()).items;
const manager = (config: ControllerConfig) =>
  new ReplicaManager({ ...config, kind: replicaSetKind });
const POD_PATH = '/api/v1/pods';
const SET_PATH = '/apis/apps/v1/replicasets';

async function scale(replicas: number): Promise<void> {
  await sets().patch('web', 'application/merge-patch+json', { spec: { replicas } });
  await cluster.clock.settle();
}

async function setReady(pod: Immutable<Pod>, ready: boolean): Promise<void> {
  const condition = {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    lastTransitionTime: formatTime(cluster.clock.now()),
  };
  const patch = { status: { phase: 'Running', conditions: [condition] } };
  await podClient().patch(pod.metadata.name, 'application/strategic-merge-patch+json', patch, {
    subresource: 'status',
  });
  await cluster.clock.settle();
}

/** Returns the events of an object as 'reason message', sorted, without random name suffixes. */
async function eventsOf(name: string): Promise<string[]> {
  const { items } = await cluster.client.resource(events).namespace('default').list();
  return items
    .filter((event) => event.involvedObject.name === name)
    .map(
      ({ type, reason, message = '' }) =>
        `${type} ${reason} ${message.replace(/-[a-z0-9]{5}$/, '-*')}`,
    )
    .sort();
}

describe('ReplicaManager', () => {
  test('creates missing pods from the template, and records events', async () => {
    await cluster.run(manager);
    await sets().create(
      replicaSet(2, {
        template: {
          metadata: {
            labels: { app: 'web', extra: '1' },
            annotations: { note: 'x' },
            finalizers: ['example.com/wait'],
          },
          spec: { containers: [{ name: 'c', image: 'busybox:1' }] },
        },
      }),
    );
    await cluster.clock.settle();
    const set = await sets().get('web');
    const made = await podList();
    expect(made.length).toBe(2);
    for (const { metadata, spec } of made) {
      expect(metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
      expect(metadata).toMatchObject({
        labels: { app: 'web', extra: '1' },
        annotations: { note: 'x' },
        finalizers: ['example.com/wait'],
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'ReplicaSet',
            name: 'web',
            uid: set.metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      });
      expect(spec.containers[0]?.image).toBe('busybox:1');
    }
    expect(set.status).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      terminatingReplicas: 0,
      observedGeneration: 1,
    });
    expect(await eventsOf('web')).toEqual([
      'Normal SuccessfulCreate Created pod: web-*',
      'Normal SuccessfulCreate Created pod: web-*',
    ]);
    expect(cluster.logger.records.filter(({ level }) => level !== 'debug')).toEqual([]);
  });

  test('follows replicas up and down, and replaces pods that are deleted or end', async () => {
    await cluster.run(manager);
    await sets().create(replicaSet(1));
    await cluster.clock.settle();
    await scale(4);
    expect((await podList()).length).toBe(4);
    await scale(2);
    const [first, second] = await podList();
    expect((await podList()).length).toBe(2);
    expect((await eventsOf('web')).filter((text) => text.includes('Deleted'))).toEqual([
      'Normal SuccessfulDelete Deleted pod: web-*',
      'Normal SuccessfulDelete Deleted pod: web-*',
    ]);
    await podClient().delete(first?.metadata.name ?? '');
    await cluster.clock.settle();
    expect((await podList()).length).toBe(2);
    const failed = { status: { phase: 'Failed' } };
    await podClient().patch(second?.metadata.name ?? '', 'application/merge-patch+json', failed, {
      subresource: 'status',
    });
    await cluster.clock.settle();
    expect((await podList()).filter(({ status }) => status.phase === 'Pending').length).toBe(2);
    expect((await sets().get('web')).status.replicas).toBe(2);
    await scale(0);
    expect((await podList()).map(({ status }) => status.phase)).toEqual(['Failed']);
  });

  test('replaces a pod as soon as it terminates, and counts it as terminating', async () => {
    await cluster.run(manager);
    await sets().create(
      replicaSet(1, {
        template: {
          ...template({ app: 'web' }),
          metadata: { labels: { app: 'web' }, finalizers: ['example.com/wait'] },
        },
      }),
    );
    await cluster.clock.settle();
    const [pod] = await podList();
    await podClient().delete(pod?.metadata.name ?? '');
    await cluster.clock.settle();
    expect((await podList()).length).toBe(2);
    expect((await sets().get('web')).status).toMatchObject({ replicas: 1, terminatingReplicas: 1 });
  });

  test('counts ready pods, and available pods after minReadySeconds without an event', async () => {
    await cluster.run(manager);
    await sets().create(replicaSet(2, { minReadySeconds: 30 }));
    await cluster.clock.settle();
    const [first, second] = (await podList()) as [Immutable<Pod>, Immutable<Pod>];
    await setReady(first, true);
    await cluster.clock.advance('20s');
    await setReady(second, true);
    expect((await sets().get('web')).status).toMatchObject({ readyReplicas: 2 });
    expect((await sets().get('web')).status.availableReplicas).toBeUndefined();
    await cluster.clock.advance('10s');
    expect((await sets().get('web')).status.availableReplicas).toBe(1);
    await cluster.clock.advance('20s');
    expect((await sets().get('web')).status.availableReplicas).toBe(2);
    await setReady(first, false);
    expect((await sets().get('web')).status).toMatchObject({
      readyReplicas: 1,
      availableReplicas: 1,
    });
  });

  test('deletes pods by rank', async () => {
    await cluster.run(manager);
    await sets().create(replicaSet(4));
    await cluster.clock.settle();
    const before = await podList();
    await setReady(before[1]!, true);
    await setReady(before[2]!, true);
    await scale(2);
    const names = (await podList()).map(({ metadata }) => metadata.name);
    expect(names.sort()).toEqual([before[1]?.metadata.name, before[2]?.metadata.name].sort());
  });

  test('adopts matching pods without a controller, and releases pods that no longer match', async () => {
    const orphan: New<Pod> = {
      metadata: { name: 'orphan', labels: { app: 'web' } },
      spec: template({}).spec,
    };
    const { metadata: made } = await podClient().create(orphan);
    await cluster.run(manager);
    await sets().create(replicaSet(1));
    await cluster.clock.settle();
    expect(
      (await podList()).map(({ metadata }) => [metadata.uid, metadata.ownerReferences?.length]),
    ).toEqual([[made.uid, 1]]);
    await podClient().patch('orphan', 'application/merge-patch+json', {
      metadata: { labels: { app: 'other' } },
    });
    await cluster.clock.settle();
    const released = await podClient().get('orphan');
    expect(released.metadata.ownerReferences).toBeUndefined();
    expect((await podList()).length).toBe(2);
    await podClient().patch('orphan', 'application/merge-patch+json', {
      metadata: { labels: { app: 'web' } },
    });
    await cluster.clock.settle();
    const left = await podList();
    expect(left.length).toBe(1);
    expect(left[0]?.metadata.ownerReferences?.length).toBe(1);
  });

  test('never takes a pod from another controller', async () => {
    await cluster.run(manager);
    await sets().create(replicaSet(1));
    await cluster.clock.settle();
    const [pod] = await podList();
    await sets().create(replicaSet(1, {}, 'rival'));
    await cluster.clock.settle();
    expect((await podList()).length).toBe(2);
    expect((await podClient().get(pod?.metadata.name ?? '')).metadata.ownerReferences).toEqual(
      pod?.metadata.ownerReferences,
    );
    await sets().delete('rival', { propagationPolicy: 'Orphan' });
    await scale(1);
    expect((await podList()).length).toBe(2);
  });

  test('adopts no pod for a deleted ReplicaSet that the cache still shows', async () => {
    await cluster.run(manager);
    await sets().create(replicaSet(0));
    await cluster.clock.settle();
    cluster.faults.hold(SET_PATH);
    await sets().delete('web');
    await podClient().create({
      metadata: { name: 'orphan', labels: { app: 'web' } },
      spec: template({}).spec,
    });
    await cluster.clock.settle();
    expect((await podClient().get('orphan')).metadata.ownerReferences).toBeUndefined();
    // The same with a new ReplicaSet that has the same name.
    await sets().create(replicaSet(0));
    await cluster.clock.advance('1s');
    expect((await podClient().get('orphan')).metadata.ownerReferences).toBeUndefined();
    expect(cluster.logger.records.map(({ values }) => String(values['err']))).toContainEqual(
      expect.stringMatching(/original ReplicaSet default\/web is gone: got uid .*, wanted /),
    );
    cluster.faults.release(SET_PATH);
    await cluster.clock.advance('1s');
    // The new ReplicaSet may adopt the pod, and then deletes it as surplus.
    expect(await podList()).toEqual([]);
  });

  test('waits until the cache shows its own writes', async () => {
    await cluster.run(manager);
    cluster.faults.hold(POD_PATH);
    await sets().create(replicaSet(3));
    await cluster.clock.settle();
    // Every change wakes the key, and the cache still shows no pods.
    await scale(4);
    await scale(3);
    await cluster.clock.advance('1m');
    expect((await podList()).length).toBe(3);
    cluster.faults.release(POD_PATH);
    await cluster.clock.settle();
    expect((await sets().get('web')).status.replicas).toBe(3);

    cluster.faults.hold(POD_PATH);
    await scale(2);
    await scale(1);
    await scale(2);
    expect((await podList()).length).toBe(2);
    cluster.faults.release(POD_PATH);
    await cluster.clock.settle();
    expect((await podList()).length).toBe(2);
  });

  test('continues when expectations expire, five minutes after a lost event', async () => {
    await cluster.run(manager);
    await sets().create(replicaSet(1));
    await cluster.clock.settle();
    cluster.faults.hold(POD_PATH);
    await scale(3);
    expect((await podList()).length).toBe(3);
    const [, second] = await podList();
    await podClient().delete(second?.metadata.name ?? '', { gracePeriodSeconds: 0 });
    cluster.faults.release(POD_PATH);
    await cluster.clock.settle();
    expect((await podList()).length).toBe(3);
    // The server creates the pod, but the response is lost: the controller only sees the pod's
    // event.
    cluster.faults.fail(
      'POST',
      /\/pods$/,
      () => apierrors.serviceUnavailable('the answer was lost'),
      { after: true },
    );
    await scale(4);
    await cluster.clock.advance('6m');
    expect((await podList()).length).toBe(4);
    expect((await sets().get('web')).status).toMatchObject({ replicas: 4, observedGeneration: 3 });
  });

  test('starts slowly, reports a failure as a condition and an event, and recovers', async () => {
    await cluster.run(manager);
    const refused = () =>
      apierrors.forbidden({ group: '', resource: 'pods' }, '', 'exceeded quota');
    cluster.faults.fail('POST', /\/pods$/, refused, { times: 2 });
    await sets().create(replicaSet(100));
    await cluster.clock.settle();
    // The manager makes one attempt, and one more after the status update; not a hundred.
    expect(
      cluster.faults.requests.filter(
        (request) => request === 'POST /api/v1/namespaces/default/pods',
      ).length,
    ).toBe(2);
    expect((await sets().get('web')).status.conditions).toMatchObject([
      {
        type: 'ReplicaFailure',
        status: 'True',
        reason: 'FailedCreate',
        message: 'pods is forbidden: exceeded quota',
      },
    ]);
    expect(await eventsOf('web')).toEqual([
      'Warning FailedCreate Error creating: pods is forbidden: exceeded quota',
    ]);
    await cluster.clock.advance('1s');
    expect((await podList()).length).toBe(100);
    expect((await sets().get('web')).status).toEqual({
      replicas: 100,
      fullyLabeledReplicas: 100,
      terminatingReplicas: 0,
      observedGeneration: 1,
    });
  });

  test('retries its status update after a conflict', async () => {
    await cluster.run(manager);
    cluster.faults.hold(SET_PATH);
    await sets().create(replicaSet(2));
    cluster.faults.release(SET_PATH);
    cluster.faults.fail('PUT', /\/status$/, () =>
      apierrors.conflict({ group: 'apps', resource: 'replicasets' }, 'web', 'written meanwhile'),
    );
    await cluster.clock.settle();
    expect((await sets().get('web')).status.replicas).toBe(2);
    expect(cluster.logger.records.filter(({ level }) => level !== 'debug')).toEqual([]);
  });

  test('writes nothing after a restart', async () => {
    const stop = await cluster.run(manager);
    await sets().create(replicaSet(3));
    await cluster.clock.settle();
    const before = (await podList()).map(({ metadata }) => metadata.resourceVersion);
    const { resourceVersion } = (await sets().get('web')).metadata;
    await stop();
    await cluster.run(manager);
    await cluster.clock.advance('1m');
    expect((await podList()).map(({ metadata }) => metadata.resourceVersion)).toEqual(before);
    expect((await sets().get('web')).metadata.resourceVersion).toBe(resourceVersion);
  });

  test('continues after an interruption', async () => {
    const stop = await cluster.run(manager);
    cluster.faults.fail('POST', /\/pods$/, () => apierrors.serviceUnavailable('stopped'), {
      times: 1000,
    });
    await sets().create(replicaSet(5));
    await cluster.clock.settle();
    await stop();
    expect(await podList()).toEqual([]);
    await cluster.run(
      (config) => new ReplicaManager({ ...config, client: cluster.client, kind: replicaSetKind }),
    );
    await cluster.clock.settle();
    expect((await podList()).length).toBe(5);
  });

  test('reconciles keys independently: a waiting key delays no other', async () => {
    await cluster.run(manager);
    cluster.faults.hold(POD_PATH);
    await sets().create(replicaSet(1));
    await sets().create(
      replicaSet(
        1,
        { selector: { matchLabels: { app: 'b' } }, template: template({ app: 'b' }) },
        'b',
      ),
    );
    await cluster.clock.settle();
    expect((await podList()).length).toBe(2);
    cluster.faults.release(POD_PATH);
  });

  test('leaves a ReplicaSet that is being deleted alone', async () => {
    await cluster.run(manager);
    await sets().create({
      ...replicaSet(2),
      metadata: { name: 'web', finalizers: ['example.com/wait'] },
    });
    await cluster.clock.settle();
    await sets().delete('web');
    const [pod] = await podList();
    await podClient().delete(pod?.metadata.name ?? '');
    await cluster.clock.settle();
    expect((await podList()).length).toBe(1);
    expect((await sets().get('web')).status.replicas).toBe(1);
  });

  test('does the same for ReplicationControllers', async () => {
    await cluster.run(
      (config) => new ReplicaManager({ ...config, kind: replicationControllerKind }),
    );
    const controllers = cluster.client.resource(replicationControllers).namespace('default');
    await controllers.create({
      metadata: { name: 'rc' },
      spec: { replicas: 2, template: template({ app: 'rc' }) },
    });
    await cluster.clock.settle();
    const made = await podList();
    expect(made.map(({ metadata }) => metadata.ownerReferences?.[0])).toMatchObject([
      { apiVersion: 'v1', kind: 'ReplicationController', name: 'rc', controller: true },
      { apiVersion: 'v1', kind: 'ReplicationController', name: 'rc', controller: true },
    ]);
    expect((await controllers.get('rc')).status).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      observedGeneration: 1,
    });
    await controllers.patch('rc', 'application/merge-patch+json', { spec: { replicas: 0 } });
    await cluster.clock.settle();
    expect(await podList()).toEqual([]);
  });
});
