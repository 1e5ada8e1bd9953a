// The CSI plugin against a driver in memory: what it calls, in which order, and what it undoes.

import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CSIDriver, VolumeAttachment } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { CsiInput, CsiMessage } from '#csi/schema.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { recordingLogger } from '#machinery/log.ts';
import { makePod } from '../../testing/make-pod.ts';
import { noMounter } from '../mounter.ts';
import { CsiVolumes } from './csi-volumes.ts';
import {
  AttachLimitError,
  CsiOperationError,
  UnattachedError,
  type CsiHost,
  type CsiVolume,
} from './host.ts';
import type { CsiNodeService, NodeCapability } from './node-client.ts';
import { stagedVolumeDir, uniqueVolumeName } from './names.ts';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'csi-volumes-')));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const DRIVER = 'd.example.com';

function volume(changes: Partial<CsiVolume> = {}): CsiVolume {
  return {
    name: 'pv',
    driver: DRIVER,
    handle: 'h',
    isInline: false,
    isBlock: false,
    readOnly: false,
    fsType: 'ext4',
    attributes: { a: 'b' },
    accessModes: ['ReadWriteOnce'],
    mountOptions: ['noatime'],
    stageSecret: undefined,
    publishSecret: undefined,
    expandSecret: undefined,
    ...changes,
  };
}

const pod = (uid: string) => makePod({ metadata: { name: `pod-${uid}`, uid } });

/** A driver that records calls and makes the directories of publish calls. */
class FakeDriver implements CsiNodeService {
  readonly calls: string[] = [];
  readonly requests: CsiInput<'NodePublishVolumeRequest'>[] = [];
  readonly has = new Set<NodeCapability>(['STAGE_UNSTAGE_VOLUME']);
  statistics: CsiMessage<'NodeGetVolumeStatsResponse'> = { usage: [], volumeCondition: undefined };
  /** By method: the error of the next calls, or a promise that they wait for. */
  readonly faults = new Map<string, Error | Promise<void>>();

  async #call(method: string, detail: string): Promise<void> {
    this.calls.push(`${method} ${detail}`);
    const fault = this.faults.get(method);
    if (fault instanceof Error) throw fault;
    await fault;
  }

  info = () => Promise.resolve({ nodeId: 'n', maxVolumesPerNode: 0 });
  capabilities = () => Promise.resolve(this.has);
  stage = ({ volumeId = '' }) => this.#call('stage', volumeId);
  async publish(request: CsiInput<'NodePublishVolumeRequest'>): Promise<void> {
    this.requests.push(request);
    await this.#call('publish', request.volumeId ?? '');
    await mkdir(request.targetPath ?? '', { recursive: true });
  }
  async unpublish(volumeId: string, target: string): Promise<void> {
    await this.#call('unpublish', volumeId);
    await rm(target, { recursive: true, force: true });
  }
  unstage = (volumeId: string) => this.#call('unstage', volumeId);
  expand = ({ volumeId = '' }) => this.#call('expand', volumeId);
  async stats(volumeId: string, path: string): Promise<CsiMessage<'NodeGetVolumeStatsResponse'>> {
    await this.#call('stats', `${volumeId} ${path.slice(root.length)}`);
    return this.statistics;
  }
  close = () => undefined;
}

interface Settings {
  readonly object?: Partial<CSIDriver['spec']>;
  readonly isMissing?: boolean;
  /** The status of the attachment. */
  readonly attachment?: VolumeAttachment['status'];
}

function setUp({ object, isMissing, attachment }: Settings = {}) {
  const clock = new VirtualClock();
  const driver = new FakeDriver();
  const logger = recordingLogger();
  const nodeVolumes = { inUse: [] as string[], attached: [] as string[] };
  const state = { isRegistered: isMissing !== true };
  const limited: string[] = [];
  const spec = { attachRequired: false, fsGroupPolicy: 'File', ...object };
  const driverObject = { metadata: { name: DRIVER }, spec } as unknown as Immutable<CSIDriver>;
  const host: CsiHost = {
    rootDir: root,
    nodeName: 'n',
    clock,
    logger,
    mounter: noMounter,
    service: () => {
      if (!state.isRegistered) throw new Error('driver name d.example.com not found');
      return driver;
    },
    driverObject: () => driverObject,
    readDriverObject: () => Promise.resolve(driverObject),
    attachment: (name) =>
      Promise.resolve({
        metadata: { name, uid: 'u', resourceVersion: '1', creationTimestamp: '' },
        spec: { attacher: DRIVER, nodeName: 'n', source: {} },
        status: attachment ?? { attached: true, attachmentMetadata: { disk: '7' } },
      }),
    nodeVolumes: () => nodeVolumes,
    onVolumesInUse: () => undefined,
    onAttachLimit: (name) => void limited.push(name),
    secret: (_, name) =>
      Promise.reject(apierrors.notFound({ group: '', resource: 'secrets' }, name)),
    token: ({ audience }) =>
      Promise.resolve({ token: `t-${audience}`, expirationTimestamp: '2030-01-01T00:00:00Z' }),
    afterMount: () => Promise.resolve(),
  };
  const start = () => new CsiVolumes(host);
  return { clock, driver, logger, nodeVolumes, state, limited, volumes: start(), start };
}

const dataOf = async (path: string): Promise<Record<string, string>> =>
  JSON.parse(await readFile(join(path, '..', 'vol_data.json'), 'utf8')) as Record<string, string>;
const stagedDirs = () => readdir(join(root, 'plugins/kubernetes.io/csi', DRIVER));
const rejected = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error as Error,
  );

describe('CsiVolumes', () => {
  test('stages once, publishes for each pod, unstages after the last', async () => {
    const { driver, volumes } = setUp();
    const path = await volumes.mount(pod('a'), volume());
    await volumes.mount(pod('b'), volume());
    expect(path).toBe(join(root, 'pods/a/volumes/kubernetes.io~csi/pv/mount'));
    expect(await dataOf(path)).toEqual({
      attachmentID: expect.stringMatching(/^csi-[0-9a-f]{64}$/) as string,
      driverName: DRIVER,
      nodeName: 'n',
      specVolID: 'pv',
      volumeHandle: 'h',
      volumeLifecycleMode: 'Persistent',
    });
    await volumes.unmount('a');
    expect(driver.calls.filter((call) => call.startsWith('un'))).toEqual(['unpublish h']);
    await volumes.unmount('b');
    expect(driver.calls.filter((call) => call.startsWith('un'))).toEqual([
      'unpublish h',
      'unpublish h',
      'unstage h',
    ]);
    expect(await stagedDirs()).toEqual([]);
  });

  test('a mounted volume is not mounted again', async () => {
    const { driver, volumes } = setUp();
    await volumes.mount(pod('a'), volume());
    await volumes.mount(pod('a'), volume());
    expect(driver.calls).toEqual(['stage h', 'publish h']);
  });

  test('another instance undoes what an earlier one has mounted', async () => {
    const { driver, volumes, start } = setUp({ object: { attachRequired: true } });
    await mkdir(join(root, 'pods/a/volumes/kubernetes.io~csi'), { recursive: true });
    const mounting = rejected(volumes.mount(pod('a'), volume(), AbortSignal.abort()));
    expect(await mounting).toBeInstanceOf(Error);
    const plain = setUp();
    await plain.volumes.mount(pod('a'), volume());
    const later = start();
    await later.reconstruct();
    expect(later.inUse).toEqual([uniqueVolumeName(DRIVER, 'h')]);
    await later.unmount('a');
    expect(driver.calls).toEqual(['unpublish h', 'unstage h']);
    expect(later.inUse).toEqual([]);
  });

  test('what no pod uses any more is unstaged later', async () => {
    const { driver, volumes, start } = setUp();
    await volumes.mount(pod('a'), volume());
    driver.faults.set('unstage', new RpcError('INTERNAL', 'busy'));
    expect((await rejected(volumes.unmount('a'))).message).toContain('busy');
    driver.faults.clear();
    await start().unstageUnused();
    expect(driver.calls.at(-1)).toBe('unstage h');
    expect(await stagedDirs()).toEqual([]);
  });

  test('a volume that a pod wants is not unstaged between two attempts', async () => {
    const { driver, volumes } = setUp();
    driver.faults.set('publish', new RpcError('INTERNAL', 'no'));
    const error = await rejected(volumes.mount(pod('a'), volume()));
    expect(error).toBeInstanceOf(CsiOperationError);
    expect((error as CsiOperationError).operation).toBe('MountVolume.SetUp failed');
    expect(error.message).toBe('rpc error: code = Internal desc = no');
    await volumes.unstageUnused();
    expect(driver.calls).toEqual(['stage h', 'publish h']);
    await volumes.unmount('a');
    expect(driver.calls.at(-1)).toBe('unstage h');
  });

  test('after an error that may not be final, the volume is unpublished', async () => {
    const { driver, volumes } = setUp();
    driver.faults.set('publish', new RpcError('DEADLINE_EXCEEDED', 'context deadline exceeded'));
    await rejected(volumes.mount(pod('a'), volume()));
    await volumes.unmount('a');
    expect(driver.calls.slice(2)).toEqual(['unpublish h', 'unstage h']);
  });

  test('after a final error of staging nothing is left', async () => {
    const { driver, volumes } = setUp();
    driver.faults.set('stage', new RpcError('INVALID_ARGUMENT', 'no such file system'));
    const error = await rejected(volumes.mount(pod('a'), volume()));
    expect((error as CsiOperationError).operation).toBe('MountVolume.MountDevice failed');
    expect(await stagedDirs()).toEqual([]);
    await volumes.unmount('a');
    expect(driver.calls).toEqual(['stage h']);
  });

  test('a pod that goes away while the driver hangs is undone when the driver answers', async () => {
    const { driver, volumes } = setUp();
    let answer = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (answer = resolve));
    driver.faults.set('publish', hanging);
    const abort = new AbortController();
    const mounting = rejected(volumes.mount(pod('a'), volume(), abort.signal));
    await vi.waitFor(() => expect(driver.calls).toContain('publish h'), { timeout: 60_000 });
    abort.abort(new Error('the pod is deleted'));
    expect((await mounting).message).toBe('the pod is deleted');
    const unmounting = volumes.unmount('a');
    // Another volume of the driver is not affected.
    driver.faults.clear();
    await volumes.mount(pod('b'), volume({ name: 'other', handle: 'o' }));
    answer();
    await unmounting;
    expect(driver.calls.filter((call) => call.endsWith(' h'))).toEqual([
      'stage h',
      'publish h',
      'unpublish h',
      'unstage h',
    ]);
  });

  test('a driver that is gone: unmounting fails, and succeeds when it is back', async () => {
    const { volumes, state } = setUp();
    await volumes.mount(pod('a'), volume());
    state.isRegistered = false;
    expect((await rejected(volumes.unmount('a'))).message).toContain('Unmounter.TearDownAt failed');
    state.isRegistered = true;
    await volumes.unmount('a');
    expect(await stagedDirs()).toEqual([]);
  });

  test('a corrupt data file does not keep the pod', async () => {
    const { volumes, logger } = setUp();
    const path = await volumes.mount(pod('a'), volume());
    await writeFile(join(path, '..', 'vol_data.json'), '{"driverName":');
    await volumes.unmount('a');
    expect(logger.records.map(({ message }) => message)).toContain(
      'CSI volume with a corrupt data file: unmounted without its driver',
    );
    expect(await readdir(join(path, '..'))).toEqual([]);
  });

  test('a name that is no part of a path is rejected', () => {
    expect(() => stagedVolumeDir(root, '../x', 'h')).toThrow('cannot be part of a path');
  });
});

describe('attachment', () => {
  const unique = uniqueVolumeName(DRIVER, 'h');

  test('the volume is reported as in use before it is mounted', async () => {
    const { clock, driver, volumes, nodeVolumes } = setUp({ object: { attachRequired: true } });
    const mounting = volumes.mount(pod('a'), volume());
    nodeVolumes.attached.push(unique);
    await clock.advance('10s');
    expect(driver.calls).toEqual([]);
    expect(volumes.inUse).toEqual([unique]);
    nodeVolumes.inUse.push(unique);
    await clock.advance('10s');
    await mounting;
    expect(driver.requests[0]?.publishContext).toEqual({ disk: '7' });
  });

  test('a volume that is not attached in time is reported', async () => {
    const { clock, volumes } = setUp({ object: { attachRequired: true } });
    const mounting = rejected(volumes.mount(pod('a'), volume()));
    await clock.advance('130s');
    expect(await mounting).toBeInstanceOf(UnattachedError);
    await volumes.unmount('a');
    expect(volumes.inUse).toEqual([]);
  });

  test.each([
    ['the driver does not update it', {}, 8, false],
    ['another error', { nodeAllocatableUpdatePeriodSeconds: 60 }, 13, false],
    ['a node with too many volumes', { nodeAllocatableUpdatePeriodSeconds: 60 }, 8, true],
  ])('the limit of the node: %s', async (_, object, errorCode, isLimit) => {
    const { clock, volumes, limited } = setUp({
      object: { attachRequired: true, ...object },
      attachment: { attached: false, attachError: { time: null, errorCode } },
    });
    const mounting = rejected(volumes.mount(pod('a'), volume()));
    await clock.advance('130s');
    const error = await mounting;
    expect(error).toBeInstanceOf(UnattachedError);
    expect(error instanceof AttachLimitError).toBe(isLimit);
    expect(limited).toEqual(isLimit ? [DRIVER] : []);
  });
});

describe('publish requests', () => {
  test('of an inline volume have the pod and its tokens', async () => {
    const { driver, volumes } = setUp({
      object: {
        podInfoOnMount: true,
        volumeLifecycleModes: ['Ephemeral'],
        tokenRequests: [{ audience: 'vault' }],
      },
    });
    await volumes.mount(pod('a'), volume({ isInline: true, name: 'data' }));
    const [request] = driver.requests;
    expect(request?.volumeContext).toEqual({
      a: 'b',
      'csi.storage.k8s.io/ephemeral': 'true',
      'csi.storage.k8s.io/pod.name': 'pod-a',
      'csi.storage.k8s.io/pod.namespace': 'default',
      'csi.storage.k8s.io/pod.uid': 'a',
      'csi.storage.k8s.io/serviceAccount.name': expect.any(String) as string,
      'csi.storage.k8s.io/serviceAccount.tokens': JSON.stringify({
        vault: { token: 't-vault', expirationTimestamp: '2030-01-01T00:00:00Z' },
      }),
    });
    expect(driver.calls).toEqual(['publish h']);
  });

  test('have the file system, the options and the access mode', async () => {
    const { driver, volumes } = setUp();
    driver.has.add('SINGLE_NODE_MULTI_WRITER');
    await volumes.mount(pod('a'), volume({ accessModes: ['ReadWriteOncePod'] }));
    expect(driver.requests[0]?.volumeCapability).toEqual({
      accessMode: { mode: 'SINGLE_NODE_SINGLE_WRITER' },
      mount: { fsType: 'ext4', mountFlags: ['noatime'] },
    });
  });

  test('a lifecycle mode that the driver does not support', async () => {
    const { volumes } = setUp({ object: { volumeLifecycleModes: ['Persistent'] } });
    const error = await rejected(volumes.mount(pod('a'), volume({ isInline: true })));
    expect(error.message).toBe(
      'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode ' +
        '"Ephemeral" not supported by driver d.example.com (only supports ["Persistent"])',
    );
  });

  test('a secret that does not exist', async () => {
    const { volumes } = setUp();
    const stageSecret = { namespace: 'ns', name: 'keys' };
    const error = await rejected(volumes.mount(pod('a'), volume({ stageSecret })));
    expect(error.message).toMatch(/^fetching NodeStageSecretRef ns\/keys failed: .*not found/);
  });

  test('are repeated where the driver wants it; a failure keeps the mount', async () => {
    const { clock, driver, volumes } = setUp({ object: { requiresRepublish: true } });
    const path = await volumes.mount(pod('a'), volume());
    expect(volumes.dueForRepublish()).toEqual([]);
    await clock.advance('2m');
    expect(volumes.dueForRepublish()).toEqual(['a']);
    driver.faults.set('publish', new RpcError('INTERNAL', 'no'));
    await rejected(volumes.mount(pod('a'), volume()));
    expect(await dataOf(path)).toMatchObject({ volumeHandle: 'h' });
    driver.faults.clear();
    await volumes.mount(pod('a'), volume());
    expect(volumes.dueForRepublish()).toEqual([]);
    expect(driver.calls.filter((call) => call === 'publish h')).toHaveLength(3);
  });
});

describe('statistics', () => {
  const signal = new AbortController().signal;
  const usage = (unit: 'BYTES' | 'INODES' | 'UNKNOWN', total: number, used: number) => ({
    unit,
    total,
    used,
    available: total - used,
  });

  test('of a mounted volume, with the condition if the driver has conditions', async () => {
    const { volumes, driver } = setUp();
    driver.has.add('GET_VOLUME_STATS');
    const path = await volumes.mount(pod('u1'), volume());
    driver.statistics = {
      usage: [usage('BYTES', 100, 40), usage('INODES', 10, -1), usage('UNKNOWN', 1, 1)],
      volumeCondition: { abnormal: true, message: 'x'.repeat(5000) },
    };
    const bytes = { capacityBytes: 100, availableBytes: 60, usedBytes: 40 };
    const inodes = { inodes: 10, inodesFree: 11, inodesUsed: 0 };
    expect(await volumes.stats('u1', path, signal)).toEqual({ ...bytes, ...inodes });
    driver.has.add('VOLUME_CONDITION');
    const { condition } = (await volumes.stats('u1', path, signal)) ?? {};
    expect(condition?.abnormal).toBe(true);
    expect(condition?.message).toHaveLength(1024);
  });

  test('none without the capability, or of a path that is no volume of the pod', async () => {
    const { volumes, driver } = setUp();
    const path = await volumes.mount(pod('u1'), volume());
    expect(await volumes.stats('u1', path, signal)).toBeUndefined();
    driver.has.add('GET_VOLUME_STATS');
    expect(await volumes.stats('u2', path, signal)).toBeUndefined();
    expect(driver.calls.filter((call) => call.startsWith('stats'))).toEqual([]);
    await expect(volumes.stats('u1', path, signal)).rejects.toThrow('usage is nil');
  });
});

test('a volume for one pod is not mounted for a second one until the first is gone', async () => {
  for (const isBlock of [false, true]) {
    const { volumes, driver } = setUp();
    const exclusive = volume({
      name: `pv-${isBlock}`,
      handle: `h-${isBlock}`,
      accessModes: ['ReadWriteOncePod'],
      isBlock,
    });
    await volumes.mount(pod('u1'), exclusive);
    await expect(volumes.mount(pod('u2'), exclusive)).rejects.toThrow(
      'volume uses the ReadWriteOncePod access mode and is already in use by another pod',
    );
    expect(driver.requests).toHaveLength(1);
    await volumes.mount(pod('u1'), exclusive);
    await volumes.unmount('u1');
    await volumes.mount(pod('u2'), exclusive);
    expect(driver.requests).toHaveLength(2);
  }
});
