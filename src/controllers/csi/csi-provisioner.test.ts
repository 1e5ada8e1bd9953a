import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  nodes,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import {
  csiNodes,
  type StorageClass,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from '#api/groups/storage/v1/index.ts';
import type { CsiInput } from '#csi/schema.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { PersistentVolumeBinder } from '../persistent-volume/index.ts';
import { newClaim } from '../persistent-volume/testing/objects.ts';
import { eventsOf } from '../testing/said.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { PvcProtectionController, PvProtectionController } from '../volume-protection/index.ts';
import { classParameters } from './class-parameters.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import type { ControllerCapability, CsiControllerService } from './csi-controller-service.ts';
import { CsiAttacher, CsiModifier, CsiProvisioner, CsiResizer } from './index.ts';
import { requirementFor, segmentsOf } from './topology.ts';

const DRIVER = 'd.example.com';
const KEY = 'topology.d.example.com/zone';
const MERGE = 'application/merge-patch+json';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());
const settle = () => cluster.clock.advance('1s');
const volumes = () => cluster.client.resource(persistentVolumes);
const claims = () => cluster.client.resource(persistentVolumeClaims).namespace('default');
const said = async () =>
  (await eventsOf(cluster.client))
    .filter(({ source }) => source?.component?.includes(DRIVER) === true)
    .map(({ reason, message }) => `${reason}: ${message}`);

/** A driver in memory. */
function fakeService() {
  const created: CsiInput<'CreateVolumeRequest'>[] = [];
  const calls: string[] = [];
  const state: { fault?: Error; nodeExpansionRequired: boolean } = { nodeExpansionRequired: false };
  const step = (what: string): void => {
    calls.push(what);
    if (state.fault !== undefined) throw state.fault;
  };
  const capabilities = new Set<ControllerCapability>(['EXPAND_VOLUME', 'MODIFY_VOLUME']);
  const service: CsiControllerService = {
    capabilities: () => Promise.resolve(capabilities),
    async create(request) {
      step(`create ${request.name}`);
      created.push(request);
      const places = request.accessibilityRequirements?.preferred ?? [];
      return {
        volume: {
          volumeId: `id-${created.length}`,
          capacityBytes: request.capacityRange?.requiredBytes ?? 0,
          volumeContext: { disk: '1' },
          accessibleTopology: places.slice(0, 1).map(({ segments = {} }) => ({ segments })),
        },
      };
    },
    async delete({ volumeId }) {
      step(`delete ${volumeId}`);
    },
    publish: () => Promise.resolve({}),
    unpublish: () => Promise.resolve(),
    async expand({ volumeId, capacityRange }) {
      step(`expand ${volumeId}`);
      const capacityBytes = capacityRange?.requiredBytes ?? 0;
      return { capacityBytes, nodeExpansionRequired: state.nodeExpansionRequired };
    },
    async modify({ volumeId, mutableParameters }) {
      step(`modify ${volumeId} ${JSON.stringify(mutableParameters)}`);
    },
    capacity: () => Promise.resolve({ availableCapacity: 0 }),
    createSnapshot: () => Promise.reject(new RpcError('UNIMPLEMENTED', 'no snapshots')),
    deleteSnapshot: () => Promise.reject(new RpcError('UNIMPLEMENTED', 'no snapshots')),
    listSnapshots: () => Promise.reject(new RpcError('UNIMPLEMENTED', 'no snapshots')),
    createGroupSnapshot: () => Promise.reject(new RpcError('UNIMPLEMENTED', 'no snapshots')),
    getGroupSnapshot: () => Promise.reject(new RpcError('UNIMPLEMENTED', 'no snapshots')),
    deleteGroupSnapshot: () => Promise.reject(new RpcError('UNIMPLEMENTED', 'no snapshots')),
    close: () => undefined,
  };
  return { service, created, calls, state, capabilities };
}

async function addNode(name: string, zone: string, topologyKeys = [KEY]): Promise<void> {
  await cluster.client.resource(nodes).create({ metadata: { name, labels: { [KEY]: zone } } });
  await cluster.client.resource(csiNodes).create({
    metadata: { name },
    spec: { drivers: [{ name: DRIVER, nodeID: `id-of-${name}`, topologyKeys }] },
  });
}

async function start(more: Partial<CsiControllerConfig> = {}, parameters = {}) {
  const driver = fakeService();
  const storageClass: New<StorageClass> = {
    metadata: { name: 'fast' },
    provisioner: DRIVER,
    parameters,
    allowVolumeExpansion: true,
    volumeBindingMode: 'WaitForFirstConsumer',
  };
  await cluster.client.resource(storageClasses).create(storageClass);
  const settings = { driver: DRIVER, service: driver.service, client: cluster.client, ...more };
  await cluster.run((config) => new PersistentVolumeBinder(config));
  await cluster.run((config) => new PvProtectionController(config));
  await cluster.run((config) => new PvcProtectionController(config));
  const stop = await cluster.run((config) => new CsiProvisioner({ ...config, ...settings }));
  await cluster.run((config) => new CsiResizer({ ...config, ...settings }));
  await cluster.run((config) => new CsiModifier({ ...config, ...settings }));
  await settle();
  return { ...driver, stop, settings };
}

async function claimed(node: string, spec: New<PersistentVolumeClaim['spec']> = {}) {
  const { metadata } = await claims().create(newClaim('c', { storageClassName: 'fast', ...spec }));
  await settle();
  const annotations = { 'volume.kubernetes.io/selected-node': node };
  await claims().patch('c', MERGE, { metadata: { annotations } });
  await settle();
  return `pvc-${metadata.uid}`;
}

describe('CsiProvisioner', () => {
  test('creates a volume where the pod is, and deletes it with the claim', async () => {
    await addNode('n', 'a');
    const { created, calls } = await start(
      {},
      { speed: 'high', 'csi.storage.k8s.io/fstype': 'xfs' },
    );
    const name = await claimed('n');
    const topology = [{ segments: { [KEY]: 'a' } }];
    expect(created).toMatchObject([
      {
        name,
        capacityRange: { requiredBytes: 1024 ** 3 },
        parameters: { speed: 'high' },
        volumeCapabilities: [
          { accessMode: { mode: 'SINGLE_NODE_WRITER' }, mount: { fsType: 'xfs', mountFlags: [] } },
        ],
        accessibilityRequirements: { requisite: topology, preferred: topology },
      },
    ]);
    const volume = await volumes().get(name);
    expect(volume.metadata.finalizers).toContain(
      'external-provisioner.volume.kubernetes.io/finalizer',
    );
    const match = { key: KEY, operator: 'In', values: ['a'] };
    expect(volume).toMatchObject({
      metadata: { annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER } },
      spec: {
        capacity: { storage: '1Gi' },
        csi: {
          driver: DRIVER,
          volumeHandle: 'id-1',
          fsType: 'xfs',
          volumeAttributes: { disk: '1' },
        },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [match] }] } },
      },
      status: { phase: 'Bound' },
    });
    expect(await said()).toEqual([
      'Provisioning: External provisioner is provisioning volume for claim "default/c"',
      `ProvisioningSucceeded: Successfully provisioned volume ${name}`,
    ]);
    await claims().delete('c');
    await cluster.clock.advance('1m');
    expect(calls.at(-1)).toBe('delete id-1');
    expect((await volumes().list()).items).toEqual([]);
  });

  test('a changed reclaim policy decides whether the volume waits for the driver', async () => {
    await addNode('n', 'a');
    const { calls } = await start();
    const name = await claimed('n');
    const finalizer = 'external-provisioner.volume.kubernetes.io/finalizer';
    const change = async (persistentVolumeReclaimPolicy: string) => {
      await volumes().patch(name, MERGE, { spec: { persistentVolumeReclaimPolicy } });
      await settle();
      return (await volumes().get(name)).metadata.finalizers;
    };
    expect(await change('Retain')).toEqual(['kubernetes.io/pv-protection']);
    expect(await change('Delete')).toContain(finalizer);
    expect(await change('Retain')).not.toContain(finalizer);
    await claims().delete('c');
    await cluster.clock.advance('1m');
    expect(calls.some((call) => call.startsWith('delete'))).toBe(false);
    expect((await volumes().get(name)).status.phase).toBe('Released');
  });

  test('a volume that a user has made is deleted, too, if its policy says so', async () => {
    const { calls } = await start();
    await volumes().create({
      metadata: { name: 'made' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'fast',
        csi: { driver: DRIVER, volumeHandle: 'by-hand' },
      },
    });
    await settle();
    expect((await volumes().get('made')).metadata.finalizers).toContain(
      'external-provisioner.volume.kubernetes.io/finalizer',
    );
    await claims().create(newClaim('c', { storageClassName: 'fast', volumeName: 'made' }));
    await settle();
    await volumes().delete('made');
    await claims().delete('c');
    await cluster.clock.advance('1m');
    expect(calls).toEqual(['delete by-hand']);
    expect((await volumes().list()).items).toEqual([]);
  });

  test('a crash between driver and API: the creation is repeated under the same name', async () => {
    await addNode('n', 'a');
    const { calls, state } = await start();
    state.fault = new RpcError('UNAVAILABLE', 'gone');
    const name = await claimed('n');
    expect((await volumes().list()).items).toEqual([]);
    expect(await said()).toContain(
      'ProvisioningFailed: failed to provision volume with StorageClass "fast": ' +
        'rpc error: code = Unavailable desc = gone',
    );
    delete state.fault;
    await cluster.clock.advance('1m');
    expect(new Set(calls)).toEqual(new Set([`create ${name}`]));
    expect((await volumes().get(name)).status.phase).toBe('Bound');
  });

  test('a node without room: the scheduler chooses another', async () => {
    await addNode('n', 'a');
    const { state } = await start();
    state.fault = new RpcError('RESOURCE_EXHAUSTED', 'full');
    await claimed('n');
    const { annotations } = (await claims().get('c')).metadata;
    expect(annotations?.['volume.kubernetes.io/selected-node']).toBeUndefined();
  });

  test('a node without room, of a driver without topology: it is tried again there', async () => {
    await addNode('n', 'a', []);
    const { state, calls } = await start();
    state.fault = new RpcError('RESOURCE_EXHAUSTED', 'full');
    await claimed('n');
    await cluster.clock.advance('1m');
    const { annotations } = (await claims().get('c')).metadata;
    expect(annotations?.['volume.kubernetes.io/selected-node']).toBe('n');
    expect(calls.length).toBeGreaterThan(1);
  });

  test('one for each node: only the one of the selected node acts', async () => {
    await addNode('n', 'a');
    await addNode('m', 'b');
    const { calls } = await start({ nodeName: 'm' });
    await claimed('n');
    expect(calls).toEqual([]);
    const annotations = { 'volume.kubernetes.io/selected-node': 'm' };
    await claims().patch('c', MERGE, { metadata: { annotations } });
    await settle();
    expect(calls).toHaveLength(1);
  });

  test('one for each node, and a copy whose pod is elsewhere: the node of the source is selected', async () => {
    await addNode('n', 'a');
    await addNode('m', 'b');
    const { calls } = await start({ nodeName: 'm' });
    const source = await claims().create(
      newClaim('source', { storageClassName: 'fast', volumeName: 'v' }),
    );
    const expression = { key: KEY, operator: 'In' as const, values: ['a'] };
    await volumes().create({
      metadata: { name: 'v' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        claimRef: { namespace: 'default', name: 'source', uid: source.metadata.uid },
        csi: { driver: DRIVER, volumeHandle: 'handle' },
        storageClassName: 'fast',
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
      },
    });
    await claimed('m', { dataSource: { kind: 'PersistentVolumeClaim', name: 'source' } });
    const { annotations } = (await claims().get('c')).metadata;
    expect(annotations?.['volume.kubernetes.io/selected-node']).toBe('n');
    expect(calls).toEqual([]);
    expect(await said()).toContain(
      'ProvisioningFailed: failed to provision volume with StorageClass "fast": ' +
        'the source of a copy is on node n, not on node m',
    );
  });

  describe('one for each node, and no selected node:', () => {
    const immediate = async (zone: string) => {
      await cluster.client.resource(storageClasses).create({
        metadata: { name: 'at-once' },
        provisioner: DRIVER,
        volumeBindingMode: 'Immediate',
        allowedTopologies: [{ matchLabelExpressions: [{ key: KEY, values: [zone] }] }],
      });
      await claims().create(newClaim('c', { storageClassName: 'at-once' }));
      await settle();
    };

    test.each([
      ['m', 0],
      ['n', 1],
    ])(
      'the one of node %s creates %i volumes: the first that the class allows',
      async (nodeName, count) => {
        await addNode('m', 'b');
        await addNode('n', 'a');
        const { created } = await start({ nodeName });
        await immediate('a');
        expect(created.map(({ accessibilityRequirements: r }) => r?.requisite)).toEqual(
          Array.from({ length: count }, () => [{ segments: { [KEY]: 'a' } }]),
        );
      },
    );

    test('a class that allows none of them: the first reports it', async () => {
      await addNode('m', 'b');
      await addNode('n', 'a');
      const { created } = await start({ nodeName: 'm' });
      await immediate('c');
      expect(created).toEqual([]);
      expect((await said()).join('\n')).toContain(
        `selected node '"m"' topology '{"${KEY}":"b"}' is not in allowed topologies: `,
      );
    });
  });

  test('a volume that is attached is not deleted', async () => {
    await addNode('n', 'a');
    const { calls } = await start();
    const name = await claimed('n');
    const attachments = cluster.client.resource(volumeAttachments);
    await attachments.create({
      metadata: { name: 'va' },
      spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: name } },
    });
    await settle();
    await claims().delete('c');
    await cluster.clock.advance('1m');
    expect(calls).toHaveLength(1);
    expect(await said()).toContain(
      `VolumeFailedDelete: persistentvolume ${name} is still attached to node n`,
    );
    await attachments.delete('va');
    await settle();
    expect(calls.at(-1)).toBe('delete id-1');
  });

  test.each([
    [
      { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' } },
      'error getting handle for DataSource Type VolumeSnapshot by Name s: ' +
        'the server could not find the requested resource',
    ],
    [
      { dataSource: { kind: 'PersistentVolumeClaim', name: 'other' } },
      'error getting handle for DataSource Type PersistentVolumeClaim by Name default/other: ' +
        'the claim is not bound',
    ],
    [{ selector: { matchLabels: { a: 'b' } } }, 'claim Selector is not supported'],
  ])('a claim that cannot be served says why: %j', async (spec, why) => {
    await addNode('n', 'a');
    const { calls } = await start();
    await claimed('n', spec);
    expect(calls).toEqual([]);
    expect((await said()).at(-1)).toBe(
      `ProvisioningFailed: failed to provision volume with StorageClass "fast": ${why}`,
    );
  });
});

describe('VolumeAttributesClasses', () => {
  const addClass = (
    name: string,
    parameters = { iops: '1' },
    driverName = DRIVER,
  ): Promise<unknown> =>
    cluster.client
      .resource(volumeAttributesClasses)
      .create({ metadata: { name }, driverName, parameters });
  const choose = async (name: string): Promise<void> => {
    await claims().patch('c', MERGE, { spec: { volumeAttributesClassName: name } });
    await settle();
  };
  const modifications = (calls: readonly string[]): readonly string[] =>
    calls.filter((call) => call.startsWith('modify'));

  test('a volume is created with the parameters of its class', async () => {
    await addNode('n', 'a');
    await addClass('gold', { iops: '9' });
    const { created, calls } = await start();
    const name = await claimed('n', { volumeAttributesClassName: 'gold' });
    expect(created).toMatchObject([{ mutableParameters: { iops: '9' } }]);
    expect((await volumes().get(name)).spec.volumeAttributesClassName).toBe('gold');
    expect((await claims().get('c')).status.currentVolumeAttributesClassName).toBe('gold');
    expect(modifications(calls)).toEqual([]);
  });

  test('a class of another driver, and a driver that has none, are errors', async () => {
    await addNode('n', 'a');
    await addClass('other', { iops: '1' }, 'other.example.com');
    const { capabilities } = await start();
    await claimed('n', { volumeAttributesClassName: 'other' });
    const failed = 'ProvisioningFailed: failed to provision volume with StorageClass "fast": ';
    expect(await said()).toContain(
      `${failed}VAC other referenced in PVC is for driver other.example.com which does not match ` +
        `driver name ${DRIVER}`,
    );
    capabilities.delete('MODIFY_VOLUME');
    await cluster.clock.advance('1m');
    expect(await said()).toContain(`${failed}the driver does not support VolumeAttributesClasses`);
  });

  test('a claim that names another class has its volume changed', async () => {
    await addNode('n', 'a');
    await addClass('gold', { iops: '9' });
    const { calls } = await start();
    const name = await claimed('n');
    await choose('gold');
    expect(modifications(calls)).toEqual(['modify id-1 {"iops":"9"}']);
    const { status } = await claims().get('c');
    expect(status.currentVolumeAttributesClassName).toBe('gold');
    expect([status.modifyVolumeStatus, status.conditions ?? []]).toEqual([undefined, []]);
    expect((await volumes().get(name)).spec.volumeAttributesClassName).toBe('gold');
    expect(await said()).toEqual(
      expect.arrayContaining([
        'VolumeModify: external resizer is modifying volume c with vac gold',
        'VolumeModifySuccessful: external resizer modified volume c with vac gold successfully',
      ]),
    );
  });

  test('a class that does not exist is waited for', async () => {
    await addNode('n', 'a');
    const { calls } = await start();
    await claimed('n');
    await choose('late');
    const pending = { targetVolumeAttributesClassName: 'late', status: 'Pending' };
    expect((await claims().get('c')).status.modifyVolumeStatus).toEqual(pending);
    expect(modifications(calls)).toEqual([]);
    await addClass('late');
    await settle();
    expect((await claims().get('c')).status.currentVolumeAttributesClassName).toBe('late');
  });

  test('a change that is impossible is tried again after five minutes, another class at once', async () => {
    await addNode('n', 'a');
    await addClass('gold');
    await addClass('silver');
    const { state, calls } = await start();
    await claimed('n');
    state.fault = new RpcError('INVALID_ARGUMENT', 'no gold');
    await choose('gold');
    const { status } = await claims().get('c');
    expect(status.modifyVolumeStatus).toEqual({
      targetVolumeAttributesClassName: 'gold',
      status: 'Infeasible',
    });
    expect(status.conditions?.map(({ type, message }) => `${type}: ${message}`)).toEqual([
      'ModifyVolumeError: ModifyVolume failed with error: rpc error: code = InvalidArgument desc = ' +
        'no gold. Waiting for retry.',
    ]);
    expect(await said()).toContain(
      'VolumeModifyFailed: rpc error: code = InvalidArgument desc = no gold',
    );
    await cluster.clock.advance('4m');
    expect(modifications(calls)).toHaveLength(1);
    await cluster.clock.advance('2m');
    expect(modifications(calls)).toHaveLength(2);
    state.fault = undefined;
    await choose('silver');
    expect((await claims().get('c')).status.currentVolumeAttributesClassName).toBe('silver');
  });

  test('a driver that does not respond is asked again', async () => {
    await addNode('n', 'a');
    await addClass('gold');
    const { state } = await start();
    await claimed('n');
    state.fault = new RpcError('UNAVAILABLE', 'no driver');
    await choose('gold');
    expect((await claims().get('c')).status.modifyVolumeStatus?.status).toBe('InProgress');
    state.fault = undefined;
    await cluster.clock.advance('2m');
    expect((await claims().get('c')).status.currentVolumeAttributesClassName).toBe('gold');
  });
});

describe('CsiResizer', () => {
  const grow = async (): Promise<void> => {
    const resources = { requests: { storage: '2Gi' } };
    await claims().patch('c', MERGE, { spec: { resources } });
    await settle();
  };

  test('expands the volume and the claim', async () => {
    await addNode('n', 'a');
    const { calls } = await start();
    const name = await claimed('n');
    await grow();
    expect(calls.at(-1)).toBe('expand id-1');
    expect((await volumes().get(name)).spec.capacity).toEqual({ storage: '2Gi' });
    const { status } = await claims().get('c');
    expect(status.capacity).toEqual({ storage: '2Gi' });
    expect(status.conditions ?? []).toEqual([]);
    expect(await said()).toContain('VolumeResizeSuccessful: Resize volume succeeded');
  });

  test('leaves the file system to the node', async () => {
    await addNode('n', 'a');
    const { state, calls } = await start();
    state.nodeExpansionRequired = true;
    await claimed('n');
    await grow();
    const { status } = await claims().get('c');
    expect(status.capacity).toEqual({ storage: '1Gi' });
    expect(status.allocatedResourceStatuses).toEqual({ storage: 'NodeResizePending' });
    expect(status.conditions?.map(({ type }) => type)).toEqual(['FileSystemResizePending']);
    await cluster.clock.advance('10m');
    expect(calls.filter((call) => call.startsWith('expand'))).toHaveLength(1);
  });

  test('a size that is impossible is recorded', async () => {
    await addNode('n', 'a');
    const { state, calls } = await start();
    const name = await claimed('n');
    state.fault = new RpcError('OUT_OF_RANGE', 'too large');
    await grow();
    const { status } = await claims().get('c');
    expect(status.allocatedResourceStatuses).toEqual({ storage: 'ControllerResizeInfeasible' });
    expect(await said()).toContain(
      `VolumeResizeFailed: resize volume "${name}" by resizer "${DRIVER}" failed: ` +
        'rpc error: code = OutOfRange desc = too large',
    );
    expect(calls.filter((call) => call.startsWith('expand'))).toHaveLength(1);
    delete state.fault;
    await cluster.clock.advance('6m');
    expect((await claims().get('c')).status.capacity).toEqual({ storage: '2Gi' });
  });
});

describe('CsiAttacher', () => {
  test('attaches, records errors with back-off, and detaches', async () => {
    await addNode('n', 'a');
    const { settings, service } = await start();
    const name = await claimed('n');
    const log: string[] = [];
    const state: { fault?: Error } = { fault: new RpcError('RESOURCE_EXHAUSTED', 'full') };
    const attaching: CsiControllerService = {
      ...service,
      capabilities: () => Promise.resolve(new Set(['PUBLISH_UNPUBLISH_VOLUME'])),
      async publish({ nodeId }) {
        log.push(`publish ${nodeId}`);
        if (state.fault !== undefined) throw state.fault;
        return { disk: '7' };
      },
      async unpublish({ nodeId }) {
        log.push(`unpublish ${nodeId}`);
      },
    };
    await cluster.run((config) => new CsiAttacher({ ...config, ...settings, service: attaching }));
    const attachments = cluster.client.resource(volumeAttachments);
    await attachments.create({
      metadata: { name: 'va' },
      spec: { attacher: DRIVER, nodeName: 'n', source: { persistentVolumeName: name } },
    });
    await settle();
    expect((await attachments.get('va')).status).toMatchObject({
      attached: false,
      attachError: { message: 'rpc error: code = ResourceExhausted desc = full', errorCode: 8 },
    });
    expect(log.length).toBeLessThan(12);
    delete state.fault;
    await cluster.clock.advance('1m');
    expect((await attachments.get('va')).status).toEqual({
      attached: true,
      attachmentMetadata: { disk: '7' },
    });
    await attachments.delete('va');
    await settle();
    expect(log.at(-1)).toBe('unpublish id-of-n');
    expect((await attachments.list()).items).toEqual([]);
  });
});

describe('decisions', () => {
  const claim = {
    ...newClaim('c', {}, '1Gi', { annotations: { team: 'blue' } }),
  } as unknown as Parameters<typeof classParameters>[1];

  test('parameters of secrets are templates', () => {
    const { secrets, own } = classParameters(
      {
        'csi.storage.k8s.io/node-stage-secret-name': "${pvc.annotations['team']}-${pvc.name}",
        'csi.storage.k8s.io/node-stage-secret-namespace': '${pvc.namespace}',
        speed: 'high',
      },
      claim,
      'pv',
    );
    expect(secrets).toEqual({ 'node-stage': { name: 'blue-c', namespace: 'default' } });
    expect(own).toEqual({ speed: 'high' });
  });

  test.each([
    [{ 'csi.storage.k8s.io/provisioner-secret-name': 's' }, 'only one of'],
    [
      {
        'csi.storage.k8s.io/provisioner-secret-name': "${pvc.annotations['team']}",
        'csi.storage.k8s.io/provisioner-secret-namespace': 'ns',
      },
      'invalid tokens',
    ],
    [{ 'csi.storage.k8s.io/other': 'x' }, 'found unknown parameter key'],
    [
      {
        'csi.storage.k8s.io/node-stage-secret-name': "${pvc.annotations['constructor']}",
        'csi.storage.k8s.io/node-stage-secret-namespace': 'ns',
      },
      'invalid tokens',
    ],
  ])('parameters that cannot be used are rejected: %j', (parameters, reason) => {
    expect(() => classParameters(parameters, claim, 'pv')).toThrow(reason);
  });

  test('a topology without a selected node is what the class allows', () => {
    const all = [{ zone: 'a' }, { zone: 'b' }, { zone: 'a' }];
    const allowed = {
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
    } as unknown as Parameters<typeof requirementFor>[0];
    expect(requirementFor(allowed, undefined, all)?.requisite).toEqual([
      { segments: { zone: 'a' } },
    ]);
    const any = {} as Parameters<typeof requirementFor>[0];
    expect(requirementFor(any, undefined, all)?.requisite).toHaveLength(2);
    expect(requirementFor(any, undefined, [{}])).toBeUndefined();
  });

  test('a node without the driver has no segments', () => {
    expect(segmentsOf(DRIVER, undefined, undefined)).toBeUndefined();
  });
});
