import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  events,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { type Client } from '#client/client.ts';
import { reconciled } from '#client/workqueue/index.ts';
import { ControllerBuilder } from '../../builder.ts';
import type { Controller, ControllerConfig } from '../../controller.ts';
import { disturb } from '../../testing/robustness.ts';
import { eventsOf } from '../../testing/said.ts';
import { startTestCluster, type TestCluster } from '../../testing/test-cluster.ts';
import { PersistentVolumeBinder } from '../index.ts';
import { newClaim, newVolume } from '../testing/objects.ts';

const MERGE = 'application/merge-patch+json';
const RECYCLE = { persistentVolumeReclaimPolicy: 'Recycle' as const };

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
  await cluster.run((config) => new PersistentVolumeBinder(config));
});
afterEach(async () => {
  expect(cluster.logger.records.filter(({ level }) => level === 'error')).toEqual([]);
  await cluster.stop();
});

const volumes = () => cluster.client.resource(persistentVolumes);
const claims = (client: Client = cluster.client) =>
  client.resource(persistentVolumeClaims).namespace('default');
const inDefault = () => cluster.client.resource(pods).namespace('default');
const settle = () => cluster.clock.advance('1s');
const retry = () => cluster.clock.advance('15s');

async function remove(name: string, client?: Client): Promise<void> {
  await claims(client).patch(name, MERGE, { metadata: { finalizers: null } });
  await claims(client).delete(name);
}

/** Makes a volume whose claim has gone. */
async function released(spec: object = {}): Promise<void> {
  await volumes().create(newVolume('v', { ...RECYCLE, ...spec }));
  await claims().create(newClaim('c'));
  await settle();
  await remove('c');
  await settle();
}

const recyclers = async () =>
  (await inDefault().list()).items.filter(({ metadata }) => metadata.name === 'recycler-for-v');

async function endRecycler(status: New<Pod['status']>): Promise<string> {
  const [pod] = await recyclers();
  if (pod === undefined) throw new Error('no pod recycles the volume');
  await inDefault().updateStatus({ ...pod, status: { ...pod.status, ...status } });
  await settle();
  return pod.metadata.uid;
}

const volume = async () => {
  const { spec, status } = await volumes().get('v');
  return [status.phase, spec.claimRef?.name, status.message];
};
const said = async () =>
  (await eventsOf(cluster.client))
    .filter(({ involvedObject }) => involvedObject.kind === 'PersistentVolume')
    .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

describe('a released volume with the policy Recycle', () => {
  test('is available again when its pod has succeeded', async () => {
    await released();
    const [pod] = await recyclers();
    expect(pod?.spec.volumes?.[0]).toMatchObject({ name: 'vol', hostPath: { path: '/data/v' } });
    expect(pod?.spec.activeDeadlineSeconds).toBe(60);
    expect(await volume()).toEqual(['Released', 'c', undefined]);
    await endRecycler({ phase: 'Succeeded' });
    expect(await recyclers()).toEqual([]);
    expect(await volume()).toEqual(['Available', undefined, undefined]);
    expect(await said()).toEqual(['Normal VolumeRecycled: Volume recycled']);
    await claims().create(newClaim('next'));
    await settle();
    expect(await volume()).toEqual(['Bound', 'next', undefined]);
    await remove('next');
    await settle();
    expect(await recyclers()).toHaveLength(1);
  });

  test('repeats the events of its pod, not those of other pods of this name', async () => {
    await released();
    const [pod] = await recyclers();
    const event = async (name: string, uid: string | undefined, message: string) =>
      await cluster.client
        .resource(events)
        .namespace('default')
        .create({
          metadata: { name, namespace: 'default' },
          involvedObject: { kind: 'Pod', name: 'recycler-for-v', namespace: 'default', uid },
          type: 'Warning',
          reason: 'Failed',
          message,
        });
    await event('one', pod?.metadata.uid, 'no such image');
    await event('two', 'another', 'of a pod before');
    await settle();
    expect(await said()).toEqual(['Warning RecyclerPod: Recycler pod: no such image']);
  });

  test.each([
    ['DeadlineExceeded', 'DeadlineExceeded'],
    [undefined, 'pod failed, pod.Status.Message unknown'],
  ])('is failed when its pod has failed with %s, and is tried again', async (message, why) => {
    await released();
    const uid = await endRecycler({ phase: 'Failed', message });
    const text = `Recycle failed: failed to recycle volume: ${why}`;
    expect(await volume()).toEqual(['Failed', 'c', text]);
    expect(await recyclers()).toEqual([]);
    await retry();
    const [again] = await recyclers();
    expect(again?.metadata.uid).not.toBe(uid);
    await endRecycler({ phase: 'Succeeded' });
    expect(await volume()).toEqual(['Available', undefined, undefined]);
    expect(await said()).toEqual([
      `Warning VolumeFailedRecycle: ${text}`,
      'Normal VolumeRecycled: Volume recycled',
    ]);
  });

  test('is tried again when its pod was deleted', async () => {
    await released();
    await inDefault().delete('recycler-for-v');
    await settle();
    const text = 'Recycle failed: failed to recycle volume: recycler pod was deleted';
    expect(await volume()).toEqual(['Failed', 'c', text]);
    await retry();
    expect(await recyclers()).toHaveLength(1);
  });

  test('does not trust a pod that it has not started', async () => {
    const forged = await inDefault().create({
      metadata: { name: 'recycler-for-v', namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'true' }] },
    });
    await inDefault().updateStatus({ ...forged, status: { phase: 'Succeeded' } });
    await released();
    const text = 'Recycle failed: old recycler pod found, will retry later';
    expect(await volume()).toEqual(['Failed', 'c', text]);
    expect(await recyclers()).toEqual([]);
    await retry();
    await endRecycler({ phase: 'Succeeded' });
    expect(await volume()).toEqual(['Available', undefined, undefined]);
  });

  test('is not recycled while pods use its claim', async () => {
    const user = await inDefault().create({
      metadata: { name: 'user', namespace: 'default' },
      spec: {
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }],
      },
    });
    await released();
    expect(await recyclers()).toEqual([]);
    expect(await volume()).toEqual(['Released', 'c', undefined]);
    expect(await said()).toEqual([
      'Normal VolumeFailedRecycle: Volume is used by pods: default/user',
    ]);
    await inDefault().updateStatus({ ...user, status: { phase: 'Succeeded' } });
    await retry();
    expect(await recyclers()).toHaveLength(1);
  });

  test('is failed if no pod can recycle its kind', async () => {
    const affinity = { required: { nodeSelectorTerms: [{ matchExpressions: [] }] } };
    await released({ hostPath: undefined, local: { path: '/x' }, nodeAffinity: affinity });
    const text = 'No recycler plugin found for the volume!';
    expect(await volume()).toEqual(['Failed', 'c', text]);
    expect(await said()).toEqual([`Warning VolumeFailedRecycle: ${text}`]);
  });

  test.each([
    ['its policy changes', { spec: { persistentVolumeReclaimPolicy: 'Retain' } }, 'Released'],
    ['its claim is forgotten', { spec: { claimRef: null } }, 'Available'],
  ])('ends its pod when %s', async (_, patch, phase) => {
    await released();
    await volumes().patch('v', MERGE, patch);
    await settle();
    expect(await recyclers()).toEqual([]);
    expect((await volumes().get('v')).status.phase).toBe(phase);
    await retry();
    expect(await recyclers()).toEqual([]);
  });

  test('ends its pod when it is deleted', async () => {
    await released();
    await volumes().patch('v', MERGE, { metadata: { finalizers: null } });
    await volumes().delete('v');
    await settle();
    expect(await recyclers()).toEqual([]);
  });
});

/** Ends all pods with success. */
function podEnder(config: ControllerConfig): Controller {
  const builder = new ControllerBuilder(config, {
    queue: 'pods',
    workers: 1,
    async reconcile(key, signal) {
      const [namespace = '', name = ''] = key.split('/');
      const pod: Immutable<Pod> | undefined = informer.lister.get(namespace, name);
      if (pod === undefined || pod.status.phase === 'Succeeded') return reconciled;
      await config.client
        .resource(pods)
        .namespace(namespace)
        .updateStatus({ ...pod, status: { ...pod.status, phase: 'Succeeded' } }, { signal });
      return reconciled;
    },
  });
  const informer = builder.for(pods);
  return { name: 'pod-ender', run: builder.complete() };
}

test('recycling reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new PersistentVolumeBinder(config),
    others: [podEnder],
    steps: [
      async ({ client }) => {
        await client.resource(persistentVolumes).create(newVolume('v', RECYCLE));
        await claims(client).create(newClaim('c'));
      },
      async ({ client }) => await remove('c', client),
    ],
    outcome: [persistentVolumes, persistentVolumeClaims, pods],
    rest: '2m',
  });
  expect(writes).toBeGreaterThan(6);
  expect(outcome).toHaveLength(1);
  expect(outcome[0]).toMatchObject({ status: { phase: 'Available' } });
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
