import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import type { DeviceMount } from '../format-and-mount.ts';
import { type Mounter, noMounter } from '../mounter.ts';
import { diskOf } from './disk.ts';
import { FakeIscsiSystem } from './fake-system.ts';
import { type IscsiVolume, IscsiVolumes } from './iscsi-volumes.ts';

const IQN = 'iqn.2001-04.com.example:storage';

let root: string;
let system: FakeIscsiSystem;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cox-iscsi-'));
  system = new FakeIscsiSystem();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A machine whose mounts are a list. */
class FakeMounter implements Mounter {
  readonly available = true;
  readonly tmpfs = noMounter.tmpfs;
  readonly grow = noMounter.grow;
  readonly network = noMounter.network;
  readonly mounts = new Map<string, string>();
  readonly devices: DeviceMount[] = [];
  failure: Error | undefined;

  bind(source: string, target: string): Promise<void> {
    this.mounts.set(target, source);
    return Promise.resolve();
  }

  device(mount: DeviceMount): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.devices.push(mount);
    this.mounts.set(mount.target, mount.device);
    return Promise.resolve();
  }

  unmount(target: string): Promise<void> {
    this.mounts.delete(target);
    return Promise.resolve();
  }

  mountsBelow(directory: string): Promise<readonly string[]> {
    return Promise.resolve([...this.mounts.keys()].filter((path) => path === directory));
  }
}

const volume = (name = 'data', lun = 1): IscsiVolume => ({
  disk: diskOf(name, { targetPortal: '192.0.2.1', iqn: IQN, lun }),
  fsType: undefined,
  mountOptions: [],
  readOnly: false,
  secret: {},
});
const volumesWith = (mounter: Mounter): IscsiVolumes =>
  new IscsiVolumes({
    rootDir: root,
    clock: new VirtualClock(),
    logger: recordingLogger(),
    mounter,
    system,
  });
const podPath = (uid: string, name = 'data'): string =>
  join(root, `pods/${uid}/volumes/kubernetes.io~iscsi/${name}`);
const shared = (lun = 1): string =>
  join(root, `plugins/kubernetes.io/iscsi/iface-default/192.0.2.1:3260-${IQN}-lun-${lun}`);

/** Ends a pod, as VolumeManager.unmount does. */
async function endPod(
  uid: string,
  mounter: FakeMounter,
  volumes: IscsiVolumes,
  name = 'data',
): Promise<void> {
  await mounter.unmount(podPath(uid, name));
  await volumes.beforeRemoval(uid);
  await rm(join(root, 'pods', uid), { recursive: true, force: true });
  await volumes.unmountUnused(uid);
}

test('a disk is mounted once, for all pods, until the last one has ended', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  expect(await volumes.mount('a', volume())).toBe(podPath('a'));
  await volumes.mount('a', volume());
  await volumes.mount('b', volume());
  expect(mounter.devices).toMatchObject([{ target: shared(), fsType: 'ext4' }]);
  expect(mounter.mounts.get(podPath('b'))).toBe(shared());
  await endPod('a', mounter, volumes);
  expect(mounter.mounts.has(shared())).toBe(true);
  // A restarted kubelet finds the disk.
  await endPod('b', mounter, volumesWith(mounter));
  expect(mounter.mounts.size).toBe(0);
  expect(existsSync(shared())).toBe(false);
  expect((await system.hosts(IQN)).size).toBe(0);
});

test('a block volume is a device with links, for all pods, until the last one has ended', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  const device = `/dev/disk/by-path/ip-192.0.2.1:3260-iscsi-${IQN}-lun-1`;
  const directory = join(
    root,
    `plugins/kubernetes.io/iscsi/volumeDevices/iface-default/192.0.2.1:3260-${IQN}-lun-1`,
  );
  for (const uid of ['a', 'a', 'b']) expect(await volumes.map(uid, volume())).toBe(device);
  expect(mounter.mounts.size).toBe(0);
  expect(system.commands.filter((command) => command.endsWith('--login'))).toHaveLength(1);
  expect(readlinkSync(join(directory, 'a'))).toBe(device);
  expect(readlinkSync(join(root, 'pods/a/volumeDevices/kubernetes.io~iscsi/data'))).toBe(device);
  await endPod('a', mounter, volumes);
  expect(readdirSync(directory).toSorted()).toEqual(['b', 'iscsi.json']);
  expect(system.removed).toEqual([]);
  // A restarted kubelet finds the disk.
  await endPod('b', mounter, volumesWith(mounter));
  expect(existsSync(directory)).toBe(false);
  expect(system.removed).toEqual([`${IQN} 1`]);
  expect((await system.hosts(IQN)).size).toBe(0);
});

test('a disk that is also mounted is not detached with its last device', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  await volumes.mount('a', volume());
  await volumes.map('b', volume());
  await endPod('b', mounter, volumes);
  expect(system.removed).toEqual([]);
  expect(mounter.mounts.has(shared())).toBe(true);
  await endPod('a', mounter, volumes);
  expect(system.removed).toEqual([`${IQN} 1`]);
});

test('without iscsiadm a device cannot be mapped, and its pod can end', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  system.isInstalled = false;
  await expect(volumes.map('a', volume())).rejects.toMatchObject({
    operation: 'MapVolume.WaitForAttach failed',
  });
  await endPod('a', mounter, volumes);
});

test('the session stays while another disk of the target is used', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  await volumes.mount('a', volume('data', 1));
  await volumes.mount('b', volume('other', 2));
  await endPod('a', mounter, volumes);
  expect(system.removed).toEqual([`${IQN} 1`]);
  expect((await system.hosts(IQN)).size).toBe(1);
  await endPod('b', mounter, volumes, 'other');
  expect((await system.hosts(IQN)).size).toBe(0);
});

test('without iscsiadm the volume cannot be attached, and its pod can end', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  system.isInstalled = false;
  await expect(volumes.mount('a', volume())).rejects.toMatchObject({
    operation: 'MountVolume.WaitForAttach failed',
    message: expect.stringContaining('executable file not found in $PATH'),
  });
  await endPod('a', mounter, volumes);
  expect(existsSync(shared())).toBe(false);
});

test('a mount that fails is tried again, with the session that there is', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  mounter.failure = new Error('bad superblock');
  await expect(volumes.mount('a', volume())).rejects.toMatchObject({
    operation: 'MountVolume.MountDevice failed',
    message: 'bad superblock',
  });
  mounter.failure = undefined;
  await volumes.mount('a', volume());
  expect(system.commands.filter((command) => command.endsWith('--login'))).toHaveLength(1);
});

test('a disk that cannot be detached keeps its own pod only', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  await volumes.mount('a', volume());
  await volumes.mount('b', { ...volume(), disk: { ...volume().disk, iqn: `${IQN}2` } });
  system.failing.set(`-T ${IQN} --logout`, 10);
  await expect(endPod('a', mounter, volumes)).rejects.toThrow('failed to finish detachISCSIDisk');
  await endPod('b', mounter, volumes);
  await expect(endPod('a', mounter, volumes)).rejects.toThrow('failed to finish detachISCSIDisk');
  system.failing.clear();
  await endPod('a', mounter, volumes);
  expect(existsSync(shared())).toBe(false);
});

test('a damaged record is an error: the disk stays', async () => {
  const mounter = new FakeMounter();
  const volumes = volumesWith(mounter);
  await volumes.mount('a', volume());
  expect(JSON.parse(readFileSync(join(shared(), 'iscsi.json'), 'utf8'))).toMatchObject({
    Iqn: IQN,
  });
  writeFileSync(join(shared(), 'iscsi.json'), '{}');
  await expect(endPod('a', mounter, volumes)).rejects.toThrow('not complete');
  expect(existsSync(shared())).toBe(true);
});

test('without the right to mount, the error says so', async () => {
  await expect(volumesWith(noMounter).mount('a', volume())).rejects.toThrow('it takes root');
});
