// The services of the driver on a machine in memory: what csi-sanity does not ask.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import { recordingLogger } from '#machinery/log.ts';
import { controllerService } from './controller-service.ts';
import type { DriverHost } from './driver-host.ts';
import { nodeService } from './node-service.ts';
import { groupControllerService } from './group-controller-service.ts';
import { isGroupRecord, isSnapshotRecord, isVolumeRecord, Records } from './records.ts';
import { type DriverSettings, idOf } from './settings.ts';

const MIB = 1024 ** 2;
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'csi-driver-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** A machine that records calls; `failing` names one that fails. */
function fakeHost() {
  const calls: string[] = [];
  const mounted = new Set<string>();
  const state = { failing: '', available: 10 * 1024 * MIB };
  const call = (name: string, path: string): Promise<void> => {
    calls.push(`${name} ${path.replace(root, '')}`);
    return state.failing === name ? Promise.reject(new Error(`${name} failed`)) : Promise.resolve();
  };
  const usage = { total: state.available, available: state.available, used: 0 };
  const host: DriverHost = {
    makeDirectory: (path) => call('makeDirectory', path),
    makeImage: (path) => call('makeImage', path),
    growImage: (path) => call('growImage', path),
    copy: (from, to) => call('copy', `${from} ${to.replace(root, '')}`),
    remove: (path) => call('remove', path),
    exists: (path) => Promise.resolve(mounted.has(path)),
    usage: () =>
      Promise.resolve({ bytes: { ...usage, available: state.available }, inodes: usage }),
    freeze: async (images) => {
      for (const image of images) await call('freeze', image);
      return async () => {
        for (const image of images) await call('thaw', image);
      };
    },
    thaw: () => Promise.resolve(),
    attach: async (image, readonly) => {
      await call(readonly ? 'attach read-only' : 'attach', image);
      return '/dev/loop0';
    },
    detach: (image) => call('detach', image),
    grow: (device) => call('grow', device),
    tune: (image, { readAheadKiB }) => call(`tune ${readAheadKiB}`, image),
    isMounted: (path) => Promise.resolve(mounted.has(path)),
    mountDevice: async (device, path) => {
      await call('mountDevice', device);
      mounted.add(path);
    },
    bind: async (source, path, readonly) => {
      await call(readonly ? 'bind read-only' : 'bind', source);
      mounted.add(path);
    },
    unmount: async (path) => {
      await call('unmount', path);
      mounted.delete(path);
    },
  };
  return { host, calls, mounted, state };
}

type Handlers = Readonly<Record<string, unknown>>;
const context = { signal: new AbortController().signal };

function setUp(maxVolumes = 0) {
  const machine = fakeHost();
  const logger = recordingLogger();
  const settings: DriverSettings = {
    name: 'd.example.com',
    version: '1',
    nodeName: 'n',
    directory: root,
    maxVolumes,
    host: machine.host,
    clock: new VirtualClock(),
    logger,
  };
  const start = () => {
    const volumes = new Records(join(root, 'volumes'), isVolumeRecord, logger);
    const snapshots = new Records(join(root, 'snapshots'), isSnapshotRecord, logger);
    const groups = new Records(join(root, 'groups'), isGroupRecord, logger);
    const mutex = new KeyedMutex();
    const handlers: Handlers = {
      ...controllerService({ settings, volumes, snapshots, mutex }),
      ...groupControllerService({ settings, volumes, snapshots, groups, mutex }),
      ...nodeService({ settings, volumes, mutex }),
    };
    return {
      volumes,
      snapshots,
      groups,
      async call(method: string, request: object): Promise<unknown> {
        const handler = handlers[method] as (request: object, context: object) => Promise<unknown>;
        return await handler(request, context);
      },
    };
  };
  return { ...machine, logger, start, driver: start() };
}

const mountCapability = (fsType = '', mode = 'SINGLE_NODE_WRITER') => ({
  accessMode: { mode },
  mount: { fsType, mountFlags: [], volumeMountGroup: '' },
});
const create = (name: string, more: object = {}) => ({
  name,
  volumeCapabilities: [mountCapability()],
  parameters: {},
  mutableParameters: {},
  secrets: {},
  ...more,
});
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'OK',
    (error: unknown) => (error instanceof RpcError ? error.code : String(error)),
  );

describe('volumes', () => {
  test('one creation is one volume, also after a restart', async () => {
    const { driver, start, calls } = setUp();
    const first = await driver.call('CreateVolume', create('a'));
    const again = await start().call('CreateVolume', create('a'));
    expect(again).toEqual(first);
    expect(calls.filter((call) => call.startsWith('makeDirectory'))).toHaveLength(1);
  });

  test('a creation that failed halfway leaves no volume, and is repeated', async () => {
    const { driver, state, start } = setUp();
    state.failing = 'makeDirectory';
    await expect(driver.call('CreateVolume', create('a'))).rejects.toThrow('makeDirectory failed');
    expect(start().volumes.list()).toEqual([]);
    state.failing = '';
    await driver.call('CreateVolume', create('a'));
    expect(driver.volumes.list()).toHaveLength(1);
  });

  test('a deletion that failed halfway is repeated', async () => {
    const { driver, state } = setUp();
    await driver.call('CreateVolume', create('a'));
    const { id } = driver.volumes.list()[0]!;
    state.failing = 'remove';
    await expect(driver.call('DeleteVolume', { volumeId: id })).rejects.toThrow('remove failed');
    expect(driver.volumes.list()).toHaveLength(1);
    state.failing = '';
    await driver.call('DeleteVolume', { volumeId: id });
    expect(driver.volumes.list()).toEqual([]);
  });

  test('a record that cannot be read is logged, and the others are there', async () => {
    const { driver, start, logger } = setUp();
    await driver.call('CreateVolume', create('a'));
    await mkdir(join(root, 'volumes/vol-broken'));
    await writeFile(join(root, 'volumes/vol-broken/record.json'), '{');
    expect(start().volumes.list()).toHaveLength(1);
    expect(logger.records.map(({ message }) => message)).toEqual(['CSI driver: record not read']);
  });

  test.each([
    [
      'a mode of several nodes',
      { volumeCapabilities: [mountCapability('', 'MULTI_NODE_MULTI_WRITER')] },
    ],
    ['an unknown file system', { volumeCapabilities: [mountCapability('ntfs')] }],
    ['an unknown parameter', { parameters: { speed: 'high' } }],
    ['a parameter with another value', { parameters: { backing: 'tape' } }],
    ['a mutable parameter', { mutableParameters: { speed: 'high' } }],
    [
      'a device and a file system',
      {
        volumeCapabilities: [
          mountCapability(),
          { accessMode: { mode: 'SINGLE_NODE_WRITER' }, block: {} },
        ],
      },
    ],
    ['a negative size', { capacityRange: { requiredBytes: -1, limitBytes: 0 } }],
  ])('%s is rejected', async (_, more) => {
    const { driver } = setUp();
    expect(await codeOf(driver.call('CreateVolume', create('a', more)))).toBe('INVALID_ARGUMENT');
  });

  test.each([
    ['more than is available', { requiredBytes: 20 * 1024 * MIB, limitBytes: 0 }],
    ['a size beyond exact numbers', { requiredBytes: 2 ** 60, limitBytes: 0 }],
    ['a limit below the need', { requiredBytes: 10, limitBytes: 5 }],
  ])('%s is out of range', async (_, capacityRange) => {
    const { driver } = setUp();
    expect(await codeOf(driver.call('CreateVolume', create('a', { capacityRange })))).toBe(
      'OUT_OF_RANGE',
    );
  });

  test('a volume for another node is not created', async () => {
    const { driver } = setUp();
    const at = (node: string) => ({
      accessibilityRequirements: {
        requisite: [{ segments: { 'topology.d.example.com/node': node } }],
        preferred: [],
      },
    });
    expect(await codeOf(driver.call('CreateVolume', create('a', at('other'))))).toBe(
      'RESOURCE_EXHAUSTED',
    );
    expect(await codeOf(driver.call('CreateVolume', create('a', at('n'))))).toBe('OK');
  });

  test.each([
    ['ext4', 1],
    ['ext3', 2],
    ['xfs', 300],
  ])('an image for %s has at least the %i MiB that its mkfs needs', async (fsType, mebibytes) => {
    const { driver } = setUp();
    const volumeCapabilities = [mountCapability(fsType)];
    const sized = (requiredBytes: number) => ({
      volumeCapabilities,
      capacityRange: { requiredBytes, limitBytes: 0 },
    });
    await driver.call('CreateVolume', create('a', sized(1)));
    await driver.call('CreateVolume', create('b', sized(320 * MIB)));
    expect(driver.volumes.byName('a')?.capacityBytes).toBe(mebibytes * MIB);
    expect(driver.volumes.byName('b')?.capacityBytes).toBe(320 * MIB);
  });

  test('an image that may not be as large as its file system needs is rejected', async () => {
    const { driver } = setUp();
    const small = (fsType: string) => ({ volumeCapabilities: [mountCapability(fsType)] });
    const limited = { ...small('xfs'), capacityRange: { requiredBytes: 0, limitBytes: 99 * MIB } };
    expect(await codeOf(driver.call('CreateVolume', create('c', limited)))).toBe('OUT_OF_RANGE');
  });

  test('two creations of one another as clones do not block each other', async () => {
    const { driver } = setUp();
    await driver.call('CreateVolume', create('a'));
    await driver.call('CreateVolume', create('b'));
    const [one, two] = driver.volumes.list();
    const from = (volumeId: string) => ({ volumeContentSource: { volume: { volumeId } } });
    const both = await Promise.all([
      codeOf(driver.call('CreateVolume', create(one!.name, from(two!.id)))),
      codeOf(driver.call('CreateVolume', create(two!.name, from(one!.id)))),
    ]);
    expect(both).toEqual(['ALREADY_EXISTS', 'ALREADY_EXISTS']);
  });
});

describe('the node', () => {
  const staging = { stagingTargetPath: '/staging', secrets: {}, volumeContext: {} };
  const publishing = { ...staging, targetPath: '/target', volumeCapability: mountCapability() };

  test('an image is mounted at the staging path and bound from there', async () => {
    const { driver, calls } = setUp();
    await driver.call('CreateVolume', create('a', { parameters: { backing: 'image' } }));
    const { id: volumeId } = driver.volumes.list()[0]!;
    expect(await codeOf(driver.call('NodePublishVolume', { volumeId, ...publishing }))).toBe(
      'FAILED_PRECONDITION',
    );
    const stage = { volumeId, ...staging, volumeCapability: mountCapability() };
    await driver.call('NodeStageVolume', stage);
    await driver.call('NodeStageVolume', stage);
    await driver.call('NodePublishVolume', { volumeId, ...publishing });
    await driver.call('NodePublishVolume', { volumeId, ...publishing });
    expect(calls.filter((call) => /^(mountDevice|bind)/.test(call))).toEqual([
      'mountDevice /dev/loop0',
      'bind /staging',
    ]);
  });

  test.each(['SINGLE_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'])(
    'a volume with the access mode %s cannot be written to',
    async (mode) => {
      const { driver, calls } = setUp();
      const mount = mountCapability('', mode);
      const block = { accessMode: { mode }, block: {} };
      const image = { parameters: { backing: 'image' } };
      await driver.call('CreateVolume', create('a', { ...image, volumeCapabilities: [mount] }));
      await driver.call('CreateVolume', create('b', { volumeCapabilities: [block] }));
      for (const [name, volumeCapability] of [
        ['a', mount],
        ['b', block],
      ] as const) {
        const { id: volumeId } = driver.volumes.byName(name)!;
        const request = { volumeId, ...staging, volumeCapability };
        await driver.call('NodeStageVolume', request);
        await driver.call('NodePublishVolume', { ...request, targetPath: `/target-${name}` });
      }
      const ofBlock = `/volumes/${driver.volumes.byName('b')!.id}/disk.img`;
      expect(calls.filter((call) => /^(mountDevice|bind|attach read-only)/.test(call))).toEqual([
        'mountDevice /dev/loop0',
        'bind read-only /staging',
        `attach read-only ${ofBlock}`,
        `attach read-only ${ofBlock}`,
        'bind read-only /dev/loop0',
      ]);
    },
  );

  test('attributes of an image are changed at once, and when it is attached again', async () => {
    const { driver, calls, start } = setUp();
    const image = {
      parameters: { backing: 'image' },
      mutableParameters: { readAheadKiB: '256' },
    };
    await driver.call('CreateVolume', create('a', image));
    const { id: volumeId } = driver.volumes.list()[0]!;
    const stage = { volumeId, ...staging, volumeCapability: mountCapability() };
    await driver.call('NodeStageVolume', stage);
    await driver.call('ControllerModifyVolume', {
      volumeId,
      secrets: {},
      mutableParameters: { readAheadKiB: '1024' },
    });
    // Another driver process knows it, too.
    await start().call('NodeStageVolume', stage);
    expect(calls.filter((call) => call.startsWith('tune')).map((call) => call.slice(0, 9))).toEqual(
      ['tune 256 ', 'tune 1024', 'tune 1024'],
    );
    const modify = (id: string, mutableParameters: object) =>
      codeOf(
        driver.call('ControllerModifyVolume', { volumeId: id, secrets: {}, mutableParameters }),
      );
    expect(await modify(volumeId, { speed: 'high' })).toBe('INVALID_ARGUMENT');
    expect(await modify('vol-none', { readAheadKiB: '1' })).toBe('NOT_FOUND');
    await driver.call('CreateVolume', create('b'));
    const directory = driver.volumes.byName('b')!;
    expect(await modify(directory.id, { readAheadKiB: '1' })).toBe('INVALID_ARGUMENT');
  });

  test('an inline volume is made and deleted with its pod; no other handle is', async () => {
    const { driver } = setUp();
    const inline = { ...publishing, volumeContext: { 'csi.storage.k8s.io/ephemeral': 'true' } };
    const volumeId = `csi-${'0'.repeat(64)}`;
    await driver.call('NodePublishVolume', { volumeId, ...inline });
    expect(driver.volumes.list()).toHaveLength(1);
    await driver.call('NodeUnpublishVolume', { volumeId, targetPath: '/target' });
    expect(driver.volumes.list()).toEqual([]);
    for (const bad of ['../../etc', 'vol-1', 'csi-x'])
      expect(await codeOf(driver.call('NodePublishVolume', { volumeId: bad, ...inline }))).toBe(
        'INVALID_ARGUMENT',
      );
  });

  test('a volume that is unpublished as a pod’s stays if it is a claim’s', async () => {
    const { driver } = setUp();
    await driver.call('CreateVolume', create('a'));
    const { id: volumeId } = driver.volumes.list()[0]!;
    await driver.call('NodePublishVolume', { volumeId, ...publishing });
    await driver.call('NodeUnpublishVolume', { volumeId, targetPath: '/target' });
    expect(driver.volumes.list()).toHaveLength(1);
  });
});

describe('groups of snapshots', () => {
  const image = { parameters: { backing: 'image' } };
  const group = (name: string, sourceVolumeIds: readonly string[], more: object = {}) => ({
    name,
    sourceVolumeIds,
    secrets: {},
    parameters: {},
    ...more,
  });
  interface Response {
    readonly groupSnapshot: {
      readonly groupSnapshotId: string;
      readonly snapshots: readonly { readonly snapshotId: string }[];
    };
  }

  async function withImages() {
    const machine = setUp();
    for (const name of ['a', 'b']) await machine.driver.call('CreateVolume', create(name, image));
    const ids = machine.driver.volumes.list().map(({ id }) => id);
    machine.calls.length = 0;
    return { ...machine, ids };
  }

  test('all volumes stand still until the last one is copied', async () => {
    const { driver, calls, ids, start } = await withImages();
    const first = (await driver.call('CreateVolumeGroupSnapshot', group('g', ids))) as Response;
    expect(calls.map((call) => call.split(' ')[0])).toEqual([
      'freeze',
      'freeze',
      'copy',
      'copy',
      'thaw',
      'thaw',
    ]);
    const { groupSnapshotId, snapshots } = first.groupSnapshot;
    expect(first.groupSnapshot).toMatchObject({ readyToUse: true });
    expect(snapshots).toMatchObject(
      ids.map((sourceVolumeId) => ({ sourceVolumeId, groupSnapshotId, readyToUse: true })),
    );
    // One creation is one group, also after a restart.
    const restarted = start();
    const reversed = ids.toReversed();
    expect(await restarted.call('CreateVolumeGroupSnapshot', group('g', reversed))).toEqual(first);
    const snapshotIds = snapshots.map(({ snapshotId }) => snapshotId);
    const request = { groupSnapshotId, snapshotIds, secrets: {} };
    expect(await restarted.call('GetVolumeGroupSnapshot', request)).toEqual(first);
    // A volume begins as a copy of a member.
    const volumeContentSource = { snapshot: { snapshotId: snapshotIds[0] } };
    await restarted.call('CreateVolume', create('copy', { ...image, volumeContentSource }));
    await restarted.call('DeleteVolumeGroupSnapshot', request);
    await restarted.call('DeleteVolumeGroupSnapshot', request);
    expect([restarted.snapshots.list(), restarted.groups.list()]).toEqual([[], []]);
    expect(await codeOf(restarted.call('GetVolumeGroupSnapshot', request))).toBe('NOT_FOUND');
  });

  test.each(['freeze', 'copy'])('a %s that fails leaves nothing, and is repeated', async (step) => {
    const { driver, state, calls, ids } = await withImages();
    state.failing = step;
    await expect(driver.call('CreateVolumeGroupSnapshot', group('g', ids))).rejects.toThrow(
      `${step} failed`,
    );
    expect([driver.snapshots.list(), driver.groups.list()]).toEqual([[], []]);
    if (step === 'copy') expect(calls.filter((call) => call.startsWith('thaw'))).toHaveLength(2);
    state.failing = '';
    await driver.call('CreateVolumeGroupSnapshot', group('g', ids));
    expect(driver.snapshots.list()).toHaveLength(2);
  });

  test('snapshots whose record was not written any more are there after a repetition', async () => {
    const { driver, start, ids } = await withImages();
    await driver.call('CreateVolumeGroupSnapshot', group('g', ids));
    const [lost] = driver.snapshots.list();
    await rm(join(root, 'snapshots', lost!.id, 'record.json'));
    const restarted = start();
    expect(restarted.snapshots.list()).toHaveLength(1);
    await restarted.call('CreateVolumeGroupSnapshot', group('g', ids));
    expect(restarted.snapshots.list()).toHaveLength(2);
  });

  test('a member is deleted with its group only, and the caller has to know all members', async () => {
    const { driver, ids } = await withImages();
    const { groupSnapshot } = (await driver.call(
      'CreateVolumeGroupSnapshot',
      group('g', ids),
    )) as Response;
    const { groupSnapshotId, snapshots } = groupSnapshot;
    const [one] = snapshots.map(({ snapshotId }) => snapshotId);
    expect(await codeOf(driver.call('DeleteSnapshot', { snapshotId: one }))).toBe(
      'FAILED_PRECONDITION',
    );
    const part = { groupSnapshotId, snapshotIds: [one], secrets: {} };
    for (const method of ['GetVolumeGroupSnapshot', 'DeleteVolumeGroupSnapshot'])
      expect(await codeOf(driver.call(method, part))).toBe('INVALID_ARGUMENT');
    const listed = (await driver.call('ListSnapshots', {
      maxEntries: 0,
      startingToken: '',
      snapshotId: one,
      sourceVolumeId: '',
    })) as { readonly entries: readonly unknown[] };
    expect(listed.entries).toMatchObject([{ snapshot: { groupSnapshotId } }]);
  });

  test('a damaged record of a group keeps its snapshots', async () => {
    const { driver, start, ids } = await withImages();
    const { groupSnapshot } = (await driver.call(
      'CreateVolumeGroupSnapshot',
      group('g', ids),
    )) as Response;
    const { groupSnapshotId } = groupSnapshot;
    await writeFile(join(root, 'groups', groupSnapshotId, 'record.json'), '{"id":"x"}');
    const restarted = start();
    const request = { groupSnapshotId, snapshotIds: [], secrets: {} };
    await expect(restarted.call('DeleteVolumeGroupSnapshot', request)).rejects.toThrow(
      'is damaged',
    );
    expect(restarted.snapshots.list()).toHaveLength(2);
  });

  test('directories, devices and what does not exist cannot be part of a group', async () => {
    const { driver, calls, ids } = await withImages();
    await driver.call('CreateVolume', create('directory'));
    const device = { accessMode: { mode: 'SINGLE_NODE_WRITER' }, block: {} };
    await driver.call('CreateVolume', create('device', { volumeCapabilities: [device] }));
    calls.length = 0;
    const idNamed = (name: string): string => driver.volumes.byName(name)!.id;
    const take = (sources: readonly string[], more: object = {}) =>
      codeOf(driver.call('CreateVolumeGroupSnapshot', group('g', sources, more)));
    expect(await take([...ids, idNamed('directory')])).toBe('FAILED_PRECONDITION');
    expect(await take([...ids, idNamed('device')])).toBe('FAILED_PRECONDITION');
    expect(await take([...ids, 'vol-none'])).toBe('NOT_FOUND');
    expect(await take([])).toBe('INVALID_ARGUMENT');
    expect(await take([ids[0]!, ids[0]!])).toBe('INVALID_ARGUMENT');
    expect(await take(ids, { parameters: { speed: 'high' } })).toBe('INVALID_ARGUMENT');
    expect(calls).toEqual([]);
    expect(await take(ids, { parameters: { deletionPolicy: 'Delete' } })).toBe('OK');
    expect(await take([ids[0]!])).toBe('ALREADY_EXISTS');
  });
});

describe('damaged records', () => {
  const damaged: readonly (readonly [string, string])[] = [
    ['no JSON', '{"id":'],
    ['no fields', '{"id":"ID","name":"v"}'],
    ['another id', '{"id":"vol-0","name":"v"}'],
    [
      'a publication that is none',
      '{"id":"ID","name":"v","capacityBytes":1,"backing":"directory","isBlock":false,"publishedTo":{"n":null}}',
    ],
  ];
  test.each(damaged)('%s: the data stays, and other volumes work', async (_, text) => {
    const { start, calls } = setUp(1);
    const id = idOf('vol', 'v');
    await mkdir(join(root, 'volumes', id), { recursive: true });
    await writeFile(join(root, 'volumes', id, 'record.json'), text.replace('ID', id));
    const { call } = start();
    await expect(call('CreateVolume', create('v'))).rejects.toThrow(/is damaged/);
    await expect(call('DeleteVolume', { volumeId: id })).rejects.toThrow(/is damaged/);
    expect(calls).toEqual([]);
    // A pod that has the volume still ends.
    await call('NodeUnpublishVolume', { volumeId: id, targetPath: '/t' });
    await call('NodeUnstageVolume', { volumeId: id, stagingTargetPath: '/s' });
    const { volume } = (await call('CreateVolume', create('other'))) as {
      readonly volume: { readonly volumeId: string };
    };
    await call('ControllerPublishVolume', {
      volumeId: volume.volumeId,
      nodeId: 'n',
      readonly: false,
      volumeCapability: mountCapability(),
    });
  });
});
