// Volumes with an API server: the scheduler selects a node, waits until the volumes are bound, and
// then binds the pod.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { persistentVolumeClaims, persistentVolumes, pods } from '#api/groups/core/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';
import { mounting, onHost } from './testing/volumes.ts';

const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

describe('volumes', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.addNode('a');
    await cluster.addNode('b');
  });
  afterEach(async () => {
    await cluster.stop();
  });

  const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
  const volumes = () => cluster.client.resource(persistentVolumes);

  async function addClass(provisioner: string): Promise<void> {
    await cluster.client.resource(storageClasses).create({
      metadata: { name: 'late' },
      provisioner,
      volumeBindingMode: 'WaitForFirstConsumer',
    });
  }
  async function addClaim(name: string): Promise<void> {
    await claims().create({
      metadata: { name },
      spec: {
        storageClassName: 'late',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
      },
    });
  }
  async function addVolume(name: string, host?: string): Promise<void> {
    const created = await volumes().create({
      metadata: { name },
      spec: {
        storageClassName: 'late',
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: '/tmp/x' },
        ...(host !== undefined && { nodeAffinity: { required: onHost(host) } }),
      },
    });
    await volumes().updateStatus({ ...created, status: { phase: 'Available' } });
  }
  /** Acts as the volume binder once the volume names the claim. */
  async function bindClaim(claim: string, volume: string): Promise<void> {
    const now = await claims().get(claim);
    const annotations = { ...now.metadata.annotations, 'pv.kubernetes.io/bind-completed': 'yes' };
    await claims().update({
      ...now,
      metadata: { ...now.metadata, annotations },
      spec: { ...now.spec, volumeName: volume },
    });
  }

  test('binds a claim to a volume on the chosen node, and binds the pod when the claim is bound', async () => {
    await addClass('kubernetes.io/no-provisioner');
    await addClaim('c');
    await addVolume('v', 'b');
    const { logger } = cluster.startScheduler();
    await cluster.addPod('p', undefined, mounting('c'));
    await cluster.clock.advance('3s');
    const claim = await claims().get('c');
    const volume = await volumes().get('v');
    expect(volume.spec.claimRef).toMatchObject({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      namespace: 'default',
      name: 'c',
      uid: claim.metadata.uid,
    });
    expect(volume.metadata.annotations?.['pv.kubernetes.io/bound-by-controller']).toBe('yes');
    expect(await cluster.nodeOf('p')).toBeUndefined();
    const nominated = async () =>
      (await cluster.client.resource(pods).namespace('default').get('p')).status.nominatedNodeName;
    expect(await nominated()).toBe('b');
    // Other pods are scheduled meanwhile.
    await cluster.addPod('q');
    await cluster.untilBound('q');
    await bindClaim('c', 'v');
    await cluster.untilBound('p');
    expect(await cluster.nodeOf('p')).toBe('b');
    expect(await nominated()).toBeUndefined();
    expect(logger.problems).toEqual([]);
  });

  test('sets the selected node for provisioning; if provisioning fails there, the pod is scheduled again', async () => {
    await addClass('example.com/disk');
    await addClaim('c');
    const { metricsText } = cluster.startScheduler();
    await cluster.addPod('p', undefined, {
      ...mounting('c'),
      nodeSelector: { 'kubernetes.io/hostname': 'a' },
    });
    await cluster.clock.advance('3s');
    const claim = await claims().get('c');
    expect(claim.metadata.annotations?.[SELECTED_NODE]).toBe('a');
    const { [SELECTED_NODE]: _node, ...annotations } = claim.metadata.annotations ?? {};
    await claims().update({
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...annotations, tried: 'yes' } },
    });
    await cluster.clock.advance('100ms');
    expect((await cluster.condition('p'))?.message).toBe(
      'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "c"',
    );
    expect(metricsText()).toContain(
      'scheduler_volume_scheduling_stage_error_total{operation="bind"} 1\n',
    );
    const pod = await cluster.client.resource(pods).namespace('default').get('p');
    expect(pod.status.nominatedNodeName).toBeUndefined();
    await cluster.clock.advance('5s');
    expect((await claims().get('c')).metadata.annotations?.[SELECTED_NODE]).toBe('a');
    await addVolume('made', 'a');
    await bindClaim('c', 'made');
    await cluster.untilBound('p');
    expect(await cluster.nodeOf('p')).toBe('a');
  });

  test('a pod whose claim gets another selected node is scheduled there', async () => {
    await addClass('example.com/disk');
    await addClaim('c');
    cluster.startScheduler();
    await cluster.addPod('p', undefined, mounting('c'));
    await cluster.clock.advance('3s');
    const claim = await claims().get('c');
    const first = claim.metadata.annotations?.[SELECTED_NODE];
    const other = first === 'a' ? 'b' : 'a';
    const annotations = { ...claim.metadata.annotations, [SELECTED_NODE]: other };
    await claims().update({ ...claim, metadata: { ...claim.metadata, annotations } });
    await cluster.clock.advance('5s');
    await addVolume('made', other);
    await bindClaim('c', 'made');
    await cluster.untilBound('p');
    expect(await cluster.nodeOf('p')).toBe(other);
  });

  test('waits no longer than its timeout, and not for a deleted pod', async () => {
    await addClass('example.com/disk');
    await addClaim('c');
    await addClaim('d');
    const profile = { pluginConfig: [{ name: 'VolumeBinding', args: { bindTimeoutSeconds: 20 } }] };
    const configuration = {
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: [profile],
    };
    const { requests } = cluster.startScheduler({ configuration });
    await cluster.addPod('p', undefined, mounting('c'));
    await cluster.addPod('gone', undefined, mounting('d'));
    await cluster.clock.advance('5s');
    await cluster.client
      .resource(pods)
      .namespace('default')
      .delete('gone', { gracePeriodSeconds: 0 });
    await cluster.clock.advance('10s');
    expect(await cluster.condition('p')).toBeUndefined();
    await cluster.clock.advance('6s');
    expect((await cluster.condition('p'))?.message).toBe(
      'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
    );
    expect(requests.filter((request) => request.endsWith('gone/binding'))).toEqual([]);
  });

  test('does not bind a pod whose volume was bound to another claim in the last moment', async () => {
    await addClass('kubernetes.io/no-provisioner');
    await addClaim('c');
    await addVolume('v');
    const { setFault } = cluster.startScheduler();
    setFault((request, send) =>
      request.method === 'PUT' && request.path.endsWith('/persistentvolumes/v')
        ? Promise.reject(
            apierrors.conflict(
              { group: '', resource: 'persistentvolumes' },
              'v',
              'another client was faster',
            ),
          )
        : send(),
    );
    await cluster.addPod('p', undefined, mounting('c'));
    await cluster.clock.advance('3s');
    expect((await cluster.condition('p'))?.message).toMatch(
      /^running PreBind plugin "VolumeBinding": .*another client was faster/,
    );
    setFault(undefined);
    await cluster.clock.advance('20s');
    expect((await volumes().get('v')).spec.claimRef?.name).toBe('c');
    await bindClaim('c', 'v');
    await cluster.untilBound('p');
  });

  test('is woken by its claim', async () => {
    cluster.startScheduler();
    await cluster.addPod('p', undefined, mounting('c'));
    await cluster.clock.advance('2s');
    expect((await cluster.condition('p'))?.message).toBe(
      '0/2 nodes are available: persistentvolumeclaim "c" not found. no new claims to ' +
        'deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for ' +
        'scheduling.',
    );
    await addClass('example.com/disk');
    await addClaim('c');
    await cluster.clock.advance('20s');
    expect((await claims().get('c')).metadata.annotations?.[SELECTED_NODE]).toMatch(/^[ab]$/);
  });
});
