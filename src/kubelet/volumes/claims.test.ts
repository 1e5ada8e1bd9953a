import { chown, mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { startHarness } from '../testing/harness.ts';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import { podUid, type Pod } from '../types.ts';
import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { ClaimSource, PersistentVolume, PersistentVolumeClaim } from './claims.ts';
import { removeLocalVolume } from './local-volumes.ts';
import { noMounter } from './mounter.ts';
import type { PayloadContext } from './payload.ts';
import { VolumeError } from './volume-error.ts';
import { VolumeManager } from './volume-manager.ts';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'claims-')));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const identity = { resourceVersion: '1', creationTimestamp: '' };
const claim = (changes: object = {}, metadata: object = {}): PersistentVolumeClaim => ({
  metadata: { ...identity, name: 'c', uid: 'c-uid', namespace: 'default', ...metadata },
  spec: { accessModes: ['ReadWriteOnce'], resources: {}, volumeName: 'pv' },
  status: { phase: 'Bound' },
  ...changes,
});
const volume = (spec: object): PersistentVolume => ({
  metadata: { ...identity, name: 'pv', uid: 'pv-uid' },
  spec: { claimRef: { namespace: 'default', name: 'c', uid: 'c-uid' }, ...spec },
  status: { phase: 'Bound' },
});
const podWith = (
  source: object = { persistentVolumeClaim: { claimName: 'c' } },
  spec: Partial<Pod['spec']> = {},
): Pod =>
  makePod({
    metadata: { name: 'p', namespace: 'default' },
    spec: {
      containers: [makeContainer('main', { volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', ...source }],
      ...spec,
    },
  });

interface Cluster {
  readonly claim?: PersistentVolumeClaim;
  readonly volume?: PersistentVolume;
  readonly isReachable?: boolean;
}
function managerOf({ claim: found, volume: bound, isReachable = true }: Cluster): VolumeManager {
  const source: ClaimSource = {
    claim: (_, name) =>
      found === undefined
        ? Promise.reject(
            apierrors.notFound({ group: '', resource: 'persistentvolumeclaims' }, name),
          )
        : Promise.resolve(found),
    volume: (name) =>
      bound === undefined
        ? Promise.reject(apierrors.notFound({ group: '', resource: 'persistentvolumes' }, name))
        : Promise.resolve(bound),
  };
  return new VolumeManager({
    secret: () => Promise.reject(new Error('there are no secrets')),
    rootDir: root,
    clock: systemClock,
    logger: recordingLogger(),
    mounter: noMounter,
    hostFiles: true,
    claims: source,
    localVolumesDir: join(root, 'own'),
    isReachable: () => isReachable,
  });
}
const nothing = (): never => {
  throw new Error('nothing of the API is shown');
};
const context: PayloadContext = {
  objects: { configMap: nothing, secret: nothing },
  downward: { podIPs: [], hostIPs: [], nodeAllocatable: {} },
  token: nothing,
};
const mount = async (cluster: Cluster, pod = podWith()) =>
  (await managerOf(cluster).mount(pod, context)).get('data');
const failure = async (cluster: Cluster, pod = podWith()): Promise<readonly string[]> => {
  try {
    await managerOf(cluster).mount(pod, context);
  } catch (error) {
    if (error instanceof VolumeError) return error.messages;
    throw error;
  }
  return [];
};

const UNMOUNTED =
  'Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], ' +
  'failed to process volumes=[data]: error processing PVC default/c: ';

describe('a claim', () => {
  const local = (path: string) => volume({ local: { path } });

  test('mounts the directory of its volume', async () => {
    await mkdir(join(root, 'disk'));
    expect(await mount({ claim: claim(), volume: local(join(root, 'disk')) })).toBe(
      join(root, 'disk'),
    );
    const hostPath = { path: join(root, 'made'), type: 'DirectoryOrCreate' };
    expect(await mount({ claim: claim(), volume: volume({ hostPath }) })).toBe(join(root, 'made'));
  });

  test('gets a new directory below the directory of volumes, and nowhere else', async () => {
    const path = join(root, 'own/pvc-1');
    expect(await mount({ claim: claim(), volume: local(path) })).toBe(path);
    expect((await stat(path)).mode & 0o777).toBe(0o777);
    for (const other of ['own/a/b', 'elsewhere']) {
      expect(await failure({ claim: claim(), volume: local(join(root, other)) })).toEqual([
        `MountVolume.SetUp failed for volume "pv" : path "${join(root, other)}" does not exist`,
      ]);
    }
    expect(
      await failure({ claim: claim(), volume: local(join(root, 'own') + '/../pvc-1') }),
    ).toEqual([
      `MountVolume.SetUp failed for volume "pv" : invalid path: ${join(root, 'own')}/../pvc-1 must not contain '..'`,
    ]);
  });

  test('gets one directory, even if several pods start with it', async () => {
    const volumes = managerOf({ claim: claim(), volume: local(join(root, 'own/pvc-1')) });
    const pods = ['a', 'b', 'c'].map((uid) =>
      makePod({ ...podWith(), metadata: { name: 'p', namespace: 'default', uid } }),
    );
    const seen = await Promise.all(
      pods.map(
        async (pod) => (await stat((await volumes.mount(pod, context)).get('data') ?? '')).ino,
      ),
    );
    expect(new Set([...seen, (await stat(join(root, 'own/pvc-1'))).ino]).size).toBe(1);
    expect(await readdir(join(root, 'own'))).toEqual(['pvc-1']);
  });

  test.each<[what: string, cluster: Cluster, why: string]>([
    ['is missing', {}, 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'],
    ['is not bound', { claim: claim({ status: { phase: 'Pending' } }) }, 'PVC is not bound'],
    [
      'is being deleted',
      { claim: claim({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
      'PVC is being deleted',
    ],
    [
      'has lost its volume',
      { claim: claim() },
      'failed to fetch PV pv from API server: persistentvolumes "pv" not found',
    ],
    [
      'has the volume of another',
      { claim: claim(), volume: volume({ claimRef: { uid: 'other' }, local: { path: '/x' } }) },
      'found PV object pv but its pv.Spec.ClaimRef.UID other does not point to claim.UID c-uid',
    ],
    [
      'is of blocks',
      { claim: claim(), volume: volume({ volumeMode: 'Block', local: { path: '/x' } }) },
      'volume data has volumeMode Block, but is specified in volumeMounts',
    ],
  ])('that %s keeps its pod from starting', async (_, cluster, why) => {
    expect(await failure(cluster)).toEqual([UNMOUNTED + why]);
  });

  test('of an ephemeral volume must belong to the pod', async () => {
    const pod = podWith({ ephemeral: { volumeClaimTemplate: { spec: claim().spec } } });
    const cluster = { volume: local(join(root, 'own/pvc-1')) };
    const [said] = await failure({ ...cluster, claim: claim() }, pod);
    expect(said).toContain(
      'PVC default/p-data was not created for pod default/p (pod is not owner)',
    );
    const owner = {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'p',
      uid: pod.metadata.uid,
      controller: true,
    };
    const owned = claim({}, { ownerReferences: [owner] });
    expect(await mount({ ...cluster, claim: owned }, pod)).toBe(join(root, 'own/pvc-1'));
  });

  test('works only on nodes that can reach its volume', async () => {
    expect(await failure({ claim: claim(), volume: local('/x'), isReachable: false })).toEqual([
      'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
    ]);
  });

  test('of an unsupported volume is rejected with its name', async () => {
    const glusterfs = { endpoints: 'files', path: '/' };
    expect(await failure({ claim: claim(), volume: volume({ glusterfs }) })).toEqual([
      'MountVolume.SetUp failed for volume "pv" : no volume plugin matched: persistent ' +
        'volumes of type glusterfs are not supported by this kubelet',
    ]);
  });

  test.skipIf(process.getuid?.() !== 0)('gives its files to the fsGroup (needs root)', async () => {
    const path = join(root, 'own/pvc-1');
    const pod = podWith(undefined, { securityContext: { fsGroup: 4242 } });
    await mount({ claim: claim(), volume: local(path) }, pod);
    expect((await stat(path)).gid).toBe(4242);
    // By the policy: each time, or only if the directory itself does not belong to the group.
    await writeFile(join(path, 'file'), 'x');
    const once = podWith(undefined, {
      securityContext: { fsGroup: 4242, fsGroupChangePolicy: 'OnRootMismatch' },
    });
    await chown(join(path, 'file'), 0, 0);
    await mount({ claim: claim(), volume: local(path) }, once);
    expect((await stat(join(path, 'file'))).gid).toBe(0);
    await chown(path, 0, 0);
    await mount({ claim: claim(), volume: local(path) }, once);
    expect((await stat(join(path, 'file'))).gid).toBe(4242);
  });

  test.each([
    ['777', [777]],
    ['', []],
    ['staff', []],
  ])(
    'whose volume has the group %j gives the pod %j while it is mounted',
    async (gid, expected) => {
      const path = join(root, 'disk');
      await mkdir(path);
      const bound = volume({ local: { path } });
      const annotations = { 'pv.beta.kubernetes.io/gid': gid };
      const metadata = { ...bound.metadata, annotations };
      const volumes = managerOf({ claim: claim(), volume: { ...bound, metadata } });
      const pod = podWith();
      await volumes.mount(pod, context);
      expect(volumes.groups.of(pod)).toEqual(expected);
      await volumes.unmount(podUid(pod));
      expect(volumes.groups.of(pod)).toEqual([]);
    },
  );

  test('that is mounted stays after its deletion', async () => {
    const found = { ...claim() };
    const cluster = { claim: found, volume: local(join(root, 'own/pvc-1')) };
    const volumes = managerOf(cluster);
    const pod = podWith();
    await volumes.mount(pod, context);
    Object.assign(found, { status: { phase: 'Lost' } });
    volumes.markStale(pod.metadata.uid);
    expect((await volumes.mount(pod, context)).get('data')).toBe(join(root, 'own/pvc-1'));
    expect(volumes.usesPath(join(root, 'own/pvc-1'))).toBe(true);
    await volumes.unmount(pod.metadata.uid);
    expect(volumes.usesPath(join(root, 'own/pvc-1'))).toBe(false);
  });
});

describe('removing a directory of volumes', () => {
  test('deletes its content, and is idempotent', async () => {
    await mkdir(join(root, 'own/pvc-1/deep'), { recursive: true });
    await writeFile(join(root, 'own/pvc-1/deep/file'), 'x');
    await removeLocalVolume('pvc-1', join(root, 'own'), noMounter);
    await removeLocalVolume('pvc-1', join(root, 'own'), noMounter);
    expect(await readdir(join(root, 'own'))).toEqual([]);
  });

  test.each(['..', '', '.', 'a/b', '../own', '/etc'])('rejects the name %j', async (name) => {
    await mkdir(join(root, 'own/a/b'), { recursive: true });
    await expect(removeLocalVolume(name, join(root, 'own'), noMounter)).rejects.toThrow(
      'is not the name of a volume',
    );
    expect(await readdir(join(root, 'own'))).toEqual(['a']);
  });

  test('keeps content that is mounted below it', async () => {
    const mounter = {
      ...noMounter,
      mountsBelow: (path: string) => Promise.resolve([`${path}/sub`]),
    };
    await expect(removeLocalVolume('pvc-1', join(root, 'own'), mounter)).rejects.toThrow(
      'still mounted',
    );
  });
});

test('a pod with an unbound claim reports it, and starts when the claim is bound', async () => {
  const harness = await startHarness();
  try {
    const { client } = harness;
    const claims = client.resource(persistentVolumeClaims).namespace('default');
    const made = await claims.create({
      metadata: { name: 'c' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        volumeName: 'pv',
      },
    });
    await harness.createPod('p', {
      containers: [
        {
          name: 'main',
          image: 'busybox:1.36',
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }],
    });
    await harness.clock.advance('5s');
    expect(await harness.eventsOf('p')).toContain(`FailedMount: ${UNMOUNTED}PVC is not bound`);
    const claimRef = { namespace: 'default', name: 'c', uid: made.metadata.uid };
    const required = {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: 'kubernetes.io/hostname', operator: 'In' as const, values: ['node-1'] },
          ],
        },
      ],
    };
    await client.resource(persistentVolumes).create({
      metadata: { name: 'pv' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        local: { path: '/nowhere' },
        nodeAffinity: { required },
        claimRef,
      },
    });
    await claims.updateStatus({ ...made, status: { phase: 'Bound' } });
    await harness.waitForPod('p', (pod) => pod.status.phase === 'Running', '15s');
  } finally {
    await harness.stop();
  }
});
