// A kubelet, the reference driver and the controllers of volumes on one API server, with real sockets
// and mounts; containers are simulated.

import {
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  statfs,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  events,
  namespaces,
  nodes,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import { ControllerManager } from '#controllers/controller-manager.ts';
import { Kubelet, systemMounter } from '#kubelet/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { execute } from '#machinery/execute.ts';
import { systemRandom } from '#machinery/random.ts';
import { RpcServer } from '#machinery/grpc/server.ts';
import { csiSchema } from '#csi/schema.ts';
import { registrationSchema } from '#csi/registration-schema.ts';
import { createSimulatedRuntime } from '#runtime/simulated/runtime.ts';
import { runCsiDriver } from './run-csi-driver.ts';

const NODE = 'node-1';
const DRIVER = 'csi.coxswain.dev';
const TIMEOUT = { timeout: 60_000, interval: 50 };
const canMount = systemMounter().available;
const skipped = canMount ? '' : ' (skipped: mounting takes root on Linux)';

let root: string;
let server: TestServer;
let kubelet: Kubelet;
const stops: (() => Promise<void> | void)[] = [];
const clock = systemClock;
const random = systemRandom;
const runtime = createSimulatedRuntime({ clock, random });

async function startKubelet(): Promise<void> {
  kubelet = new Kubelet({
    client: server.client,
    runtime,
    clock,
    random,
    logger: server.logger,
    nodeName: NODE,
    rootDir: join(root, 'kubelet'),
    podLogsDir: join(root, 'logs'),
    podNetwork: false,
    clusterDNS: [],
    housekeepingMs: 300,
    expansionCheckMs: 300,
    addresses: [{ type: 'InternalIP', address: '192.168.0.5' }],
    capacity: { cpu: '4', memory: '8Gi', pods: '110' },
    // The disk of the machine under the tests may be nearly full.
    eviction: { hard: {} },
  });
  await kubelet.start();
}

async function startDriver(): Promise<() => Promise<void>> {
  const abort = new AbortController();
  const running = runCsiDriver(
    {
      client: server.client,
      clock,
      random,
      logger: server.logger,
      nodeName: NODE,
      kubeletDir: join(root, 'kubelet'),
      directory: join(root, 'volumes'),
      maxVolumes: 7,
    },
    abort.signal,
  );
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  stops.push(stop);
  await vi.waitFor(async () => {
    const { drivers } = (await server.client.resource(csiNodes).get(NODE)).spec;
    expect(drivers?.some(({ name }) => name === DRIVER)).toBe(true);
  }, TIMEOUT);
  return stop;
}

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'csi-')));
  server = await startTestServer({
    clock,
    disableAdmissionPlugins: ['ServiceAccount', 'TaintNodesByCondition', 'PodResizeValidator'],
  });
  for (const name of ['kube-node-lease', 'kube-system', 'default'])
    await server.client
      .resource(namespaces)
      .create({ metadata: { name } })
      .catch((error: unknown) => {
        if (!apierrors.isAlreadyExists(error)) throw error;
      });
  const manager = new ControllerManager({
    client: server.client,
    clock,
    random,
    logger: server.logger,
    controllers: [
      'persistentvolume-binder-controller',
      'persistentvolume-attach-detach-controller',
      'persistentvolume-expander-controller',
      'persistentvolume-protection-controller',
      'persistentvolumeclaim-protection-controller',
    ],
  });
  const abort = new AbortController();
  const managing = manager.run(abort.signal);
  stops.push(async () => {
    abort.abort();
    await managing;
  });
  await startKubelet();
});

afterEach(async () => {
  await kubelet.stop();
  for (const stop of stops.splice(0).toReversed()) await stop();
  await server.stop();
  const mounter = systemMounter();
  for (const target of await mounter.mountsBelow(root)) await mounter.unmount(target);
  await detachBelow(root);
  await rm(root, { recursive: true, force: true });
});

/** Detaches the devices of images that a failed test has left. */
async function detachBelow(directory: string): Promise<void> {
  const list = ['losetup', '--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE'];
  const { stdout } = await execute(list, '');
  for (const line of stdout.split('\n')) {
    const [device = '', file = ''] = line.split(' ');
    if (file.startsWith(`${directory}/`)) await execute(['losetup', '--detach', device], '');
  }
}

const inDefault = () => server.client.resource(pods).namespace('default');
const claims = () => server.client.resource(persistentVolumeClaims).namespace('default');

async function createClaim(name: string, className: string, size = '64Mi', more = {}) {
  const claim: New<PersistentVolumeClaim> = {
    metadata: { name, annotations: { 'volume.kubernetes.io/selected-node': NODE } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: className,
      resources: { requests: { storage: size } },
      ...more,
    },
  };
  return await claims().create(claim);
}

async function createPod(name: string, spec: New<Pod['spec']>): Promise<Immutable<Pod>> {
  const main = { name: 'main', image: 'busybox', command: ['sleep', 'infinity'] };
  return await inDefault().create({
    metadata: { name },
    spec: {
      nodeName: NODE,
      terminationGracePeriodSeconds: 0,
      ...spec,
      containers: [{ ...main, volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    },
  });
}

const withClaim = (claimName: string): New<Pod['spec']> => ({
  volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
});

async function untilRunning(name: string): Promise<Immutable<Pod>> {
  return await vi.waitFor(async () => {
    const pod = await inDefault().get(name);
    expect(pod.status.phase).toBe('Running');
    return pod;
  }, TIMEOUT);
}

async function deletePod(name: string): Promise<void> {
  await inDefault().delete(name, { gracePeriodSeconds: 0 });
  await vi.waitFor(
    () => expect(inDefault().get(name)).rejects.toSatisfy(apierrors.isNotFound),
    TIMEOUT,
  );
}

const volumeDirs = (uid: string) => join(root, 'kubelet/pods', uid, 'volumes/kubernetes.io~csi');
const mounts = () => systemMounter().mountsBelow(root);
const staged = async () =>
  (await mounts()).filter((point) => point.endsWith('/globalmount')).length;

async function messages(name: string): Promise<readonly string[]> {
  const { items } = await server.client.resource(events).list();
  return items
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => `${reason}: ${message}`);
}

describe.skipIf(!canMount)(`volumes of the reference driver${skipped}`, () => {
  test('the driver registers: CSINode, labels and annotation of the Node, capacity', async () => {
    await startDriver();
    const csiNode = await server.client.resource(csiNodes).get(NODE);
    expect(csiNode.spec.drivers).toEqual([
      {
        name: DRIVER,
        nodeID: NODE,
        topologyKeys: [`topology.${DRIVER}/node`],
        allocatable: { count: 7 },
      },
    ]);
    const { metadata } = await server.client.resource(nodes).get(NODE);
    expect(metadata.labels?.[`topology.${DRIVER}/node`]).toBe(NODE);
    expect(metadata.annotations?.['csi.volume.kubernetes.io/nodeid']).toBe(
      JSON.stringify({ [DRIVER]: NODE }),
    );
    await vi.waitFor(async () => {
      const { items } = await server.client.resource(csiStorageCapacities).list();
      expect(items.map(({ storageClassName }) => storageClassName).toSorted()).toEqual([
        'csi-directory',
        'csi-image',
      ]);
    }, TIMEOUT);
  });

  test('a claim gets a volume, survives a restart of the kubelet, and goes with it', async () => {
    const stopDriver = await startDriver();
    await createClaim('c', 'csi-directory');
    const { metadata } = await createPod('p', withClaim('c'));
    await untilRunning('p');
    const [name = ''] = await readdir(volumeDirs(metadata.uid));
    const data = JSON.parse(
      await readFile(join(volumeDirs(metadata.uid), name, 'vol_data.json'), 'utf8'),
    ) as Record<string, string>;
    expect(data).toMatchObject({
      driverName: DRIVER,
      nodeName: NODE,
      specVolID: name,
      volumeLifecycleMode: 'Persistent',
    });
    await writeFile(join(volumeDirs(metadata.uid), name, 'mount', 'file'), 'kept');

    await kubelet.stop();
    await stopDriver();
    await startKubelet();
    await startDriver();
    expect((await readdir(join(volumeDirs(metadata.uid), name, 'mount'))).toSorted()).toEqual([
      'file',
    ]);
    await deletePod('p');
    await vi.waitFor(async () => expect(await mounts()).toEqual([]), TIMEOUT);

    const again = await createPod('again', withClaim('c'));
    await untilRunning('again');
    const file = join(volumeDirs(again.metadata.uid), name, 'mount', 'file');
    expect(await readFile(file, 'utf8')).toBe('kept');
    await deletePod('again');
    await claims().delete('c');
    await vi.waitFor(async () => {
      expect((await server.client.resource(persistentVolumes).list()).items).toEqual([]);
      expect(await readdir(join(root, 'volumes/volumes'))).toEqual([]);
    }, TIMEOUT);
  });

  test('a pod that was deleted while the kubelet was away is unmounted and unstaged', async () => {
    await startDriver();
    await createClaim('c', 'csi-image');
    await createPod('p', withClaim('c'));
    await untilRunning('p');
    expect(await staged()).toBe(1);
    await kubelet.stop();
    await inDefault().delete('p', { gracePeriodSeconds: 0 });
    await startKubelet();
    await vi.waitFor(async () => expect(await mounts()).toEqual([]), TIMEOUT);
  });

  test('two pods share a staged image, which is unstaged after the second', async () => {
    await startDriver();
    await createClaim('c', 'csi-image');
    await createPod('one', withClaim('c'));
    await createPod('two', withClaim('c'));
    await untilRunning('one');
    await untilRunning('two');
    expect(await staged()).toBe(1);
    await deletePod('one');
    expect(await staged()).toBe(1);
    await deletePod('two');
    await vi.waitFor(async () => expect(await staged()).toBe(0), TIMEOUT);
  });

  test('an image that was expanded between two pods has a larger file system', async () => {
    await startDriver();
    await createClaim('c', 'csi-image', '64Mi');
    await createPod('p', withClaim('c'));
    await untilRunning('p');
    await deletePod('p');
    await vi.waitFor(async () => expect(await mounts()).toEqual([]), TIMEOUT);
    const resources = { requests: { storage: '256Mi' } };
    await claims().patch('c', 'application/merge-patch+json', { spec: { resources } });
    await vi.waitFor(async () => {
      const { status } = await claims().get('c');
      expect(status.allocatedResourceStatuses).toEqual({ storage: 'NodeResizePending' });
      expect(status.conditions?.map(({ type }) => type)).toEqual(['FileSystemResizePending']);
    }, TIMEOUT);
    const { metadata } = await createPod('q', withClaim('c'));
    await untilRunning('q');
    const { status, spec } = await claims().get('c');
    expect(status.capacity).toEqual({ storage: '256Mi' });
    expect(status.conditions ?? []).toEqual([]);
    expect(status.allocatedResourceStatuses ?? {}).toEqual({});
    const { bsize, blocks } = await statfs(
      join(volumeDirs(metadata.uid), spec.volumeName!, 'mount'),
    );
    expect(bsize * blocks).toBeGreaterThan(200 * 1024 ** 2);
    await vi.waitFor(
      async () =>
        expect(await messages('q')).toContain(
          'FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume ' +
            `"${spec.volumeName}" ${NODE}`,
        ),
      TIMEOUT,
    );
    expect((await messages('c')).map((each) => each.split(':')[0])).toEqual(
      expect.arrayContaining(['Resizing', 'FileSystemResizeRequired']),
    );
  });

  test('a clone has the content of its source', async () => {
    await startDriver();
    await createClaim('c', 'csi-directory');
    const { metadata } = await createPod('p', withClaim('c'));
    await untilRunning('p');
    const [name = ''] = await readdir(volumeDirs(metadata.uid));
    await writeFile(join(volumeDirs(metadata.uid), name, 'mount', 'file'), 'copied');
    const dataSource = { kind: 'PersistentVolumeClaim', name: 'c' };
    await createClaim('clone', 'csi-directory', '64Mi', { dataSource });
    const copy = await createPod('q', withClaim('clone'));
    await untilRunning('q');
    const [cloned = ''] = await readdir(volumeDirs(copy.metadata.uid));
    expect(
      await readFile(join(volumeDirs(copy.metadata.uid), cloned, 'mount', 'file'), 'utf8'),
    ).toBe('copied');
  });

  test('an inline volume lives as long as its pod; fsGroup applies', async () => {
    await startDriver();
    const { metadata } = await createPod('p', {
      securityContext: { fsGroup: 4321 },
      volumes: [{ name: 'data', csi: { driver: DRIVER } }],
    });
    await untilRunning('p');
    const path = join(volumeDirs(metadata.uid), 'data', 'mount');
    expect((await stat(path)).gid).toBe(4321);
    expect(await readdir(join(root, 'volumes/volumes'))).toHaveLength(1);
    await deletePod('p');
    await vi.waitFor(
      async () => expect(await readdir(join(root, 'volumes/volumes'))).toEqual([]),
      TIMEOUT,
    );
  });

  test('a volume that must be attached is attached first, and detached when it is unstaged', async () => {
    await server.client.resource(csiDrivers).create({
      metadata: { name: DRIVER },
      spec: { attachRequired: true, podInfoOnMount: true, fsGroupPolicy: 'File' },
    });
    await startDriver();
    await createClaim('c', 'csi-image');
    await createPod('p', withClaim('c'));
    await untilRunning('p');
    const { volumeName = '' } = (await claims().get('c')).spec;
    const { csi } = (await server.client.resource(persistentVolumes).get(volumeName)).spec;
    const unique = `kubernetes.io/csi/${DRIVER}^${csi?.volumeHandle}`;
    const { status } = await server.client.resource(nodes).get(NODE);
    expect(status.volumesInUse).toEqual([unique]);
    expect(status.volumesAttached).toEqual([{ name: unique, devicePath: '' }]);
    const [attachment] = (await server.client.resource(volumeAttachments).list()).items;
    expect(attachment).toMatchObject({
      metadata: { finalizers: ['external-attacher/csi-coxswain-dev'] },
      spec: { attacher: DRIVER, nodeName: NODE, source: { persistentVolumeName: volumeName } },
      status: { attached: true },
    });
    expect(await messages('p')).toContain(
      `SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "${volumeName}" `,
    );

    // The volume stays attached while the kubelet is away, and after it has come back.
    await kubelet.stop();
    await startKubelet();
    expect((await server.client.resource(nodes).get(NODE)).status.volumesInUse).toEqual([unique]);
    await deletePod('p');
    await vi.waitFor(async () => {
      expect((await server.client.resource(volumeAttachments).list()).items).toEqual([]);
      const after = (await server.client.resource(nodes).get(NODE)).status;
      expect(after.volumesInUse ?? []).toEqual([]);
    }, TIMEOUT);
    expect(await mounts()).toEqual([]);
  });

  test('a block volume is a device of the container', async () => {
    await startDriver();
    await createClaim('c', 'csi-image', '64Mi', { volumeMode: 'Block' });
    const { metadata } = await inDefault().create({
      metadata: { name: 'p' },
      spec: {
        nodeName: NODE,
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'main',
            image: 'busybox',
            command: ['sleep', 'infinity'],
            volumeDevices: [{ name: 'data', devicePath: '/dev/data' }],
          },
        ],
        ...withClaim('c'),
      },
    });
    await untilRunning('p');
    const { volumeName = '' } = (await claims().get('c')).spec;
    const link = join(
      root,
      'kubelet/pods',
      metadata.uid,
      'volumeDevices/kubernetes.io~csi',
      volumeName,
    );
    const device = await realpath(link);
    expect(device).toBe(
      join(
        root,
        'kubelet/plugins/kubernetes.io/csi/volumeDevices/publish',
        volumeName,
        metadata.uid,
      ),
    );
    expect((await stat(device)).isBlockDevice()).toBe(true);
    await deletePod('p');
    await vi.waitFor(async () => {
      expect(await mounts()).toEqual([]);
      const left = join(root, 'kubelet/plugins/kubernetes.io/csi/volumeDevices');
      expect((await readdir(left)).toSorted()).toEqual(['publish', 'staging']);
    }, TIMEOUT);

    await createPod('mounts', withClaim('c'));
    await vi.waitFor(
      async () =>
        expect((await messages('mounts')).join()).toContain(
          'volume data has volumeMode Block, but is specified in volumeMounts',
        ),
      TIMEOUT,
    );
  });

  test('a driver that is not registered is reported, and awaited', async () => {
    await server.client.resource(csiDrivers).create({
      metadata: { name: DRIVER },
      spec: { attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: ['Ephemeral'] },
    });
    await createPod('p', { volumes: [{ name: 'data', csi: { driver: DRIVER } }] });
    await vi.waitFor(
      async () =>
        expect(await messages('p')).toContain(
          'FailedMount: MountVolume.SetUp failed for volume "data" : kubernetes.io/csi: ' +
            'mounter.SetUpAt failed to get CSI client: driver name csi.coxswain.dev not found ' +
            'in the list of registered CSI drivers',
        ),
      TIMEOUT,
    );
    await startDriver();
    await untilRunning('p');
  });

  test('a driver that hangs or fails does not affect other pods', async () => {
    const name = 'bad.example.com';
    const bad = new RpcServer(csiSchema);
    bad.addService('Node', {
      NodeGetInfo: () => ({ nodeId: 'bad' }),
      NodeGetCapabilities: () => ({}),
      NodePublishVolume: () => new Promise(() => undefined),
    });
    const endpoint = join(root, 'bad.sock');
    await bad.listen(endpoint);
    const registration = new RpcServer(registrationSchema);
    registration.addService('Registration', {
      GetInfo: () => ({ type: 'CSIPlugin', name, endpoint, supportedVersions: ['1.0.0'] }),
      NotifyRegistrationStatus: () => ({}),
    });
    await registration.listen(join(root, 'kubelet/plugins_registry/bad.sock'));
    stops.push(() => {
      registration.close();
      bad.close();
    });
    const spec = { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] };
    await server.client.resource(csiDrivers).create({ metadata: { name }, spec });
    await createPod('hangs', { volumes: [{ name: 'data', csi: { driver: name } }] });
    await startDriver();
    await createPod('works', { volumes: [{ name: 'data', csi: { driver: DRIVER } }] });
    await untilRunning('works');
    expect((await inDefault().get('hangs')).status.phase).toBe('Pending');
    await deletePod('works');
  });
});
