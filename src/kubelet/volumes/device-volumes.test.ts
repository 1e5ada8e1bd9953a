import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { execute } from '#machinery/execute.ts';
import { DeviceVolumes, type DeviceVolume } from './device-volumes.ts';
import type { DeviceMount } from './format-and-mount.ts';
import { type Mounter, noMounter, systemMounter } from './mounter.ts';

let root: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'devices-')));
});
afterEach(async () => {
  const mounter = systemMounter();
  for (const target of await mounter.mountsBelow(root)) await mounter.unmount(target);
  await rm(root, { recursive: true, force: true });
});

/** A mounter that only records. */
class RecordingMounter implements Mounter {
  readonly available = true;
  readonly tmpfs = noMounter.tmpfs;
  readonly grow = noMounter.grow;
  readonly network = noMounter.network;
  readonly mounts = new Set<string>();
  readonly devices: DeviceMount[] = [];
  failure: Error | undefined;

  bind(_source: string, target: string): Promise<void> {
    this.mounts.add(target);
    return Promise.resolve();
  }

  device(mount: DeviceMount): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.devices.push(mount);
    this.mounts.add(mount.target);
    return Promise.resolve();
  }

  unmount(target: string): Promise<void> {
    this.mounts.delete(target);
    return Promise.resolve();
  }

  mountsBelow(directory: string): Promise<readonly string[]> {
    const isBelow = (path: string) => path === directory || path.startsWith(`${directory}/`);
    return Promise.resolve([...this.mounts].filter(isBelow));
  }
}

const disk: DeviceVolume = {
  name: 'pv',
  device: '/dev/x',
  fsType: 'ext4',
  mountOptions: ['noatime'],
  readOnly: false,
};
const podPath = (uid: string) => join(root, `pods/${uid}/volumes/kubernetes.io~local-volume/pv`);

/** Ends a pod: what VolumeManager.unmount does with its directory. */
async function endPod(uid: string, mounter: Mounter, volumes: DeviceVolumes): Promise<void> {
  await mounter.unmount(podPath(uid));
  await rm(join(root, 'pods', uid), { recursive: true });
  await volumes.unmountUnused();
}

test('a device is mounted once, for all pods, until the last one has ended', async () => {
  const mounter = new RecordingMounter();
  const volumes = new DeviceVolumes(root, mounter);
  const shared = join(root, 'plugins/kubernetes.io/local-volume/mounts/pv');
  const paths = await Promise.all(['a', 'b'].map((uid) => volumes.mount(uid, disk)));
  expect(paths).toEqual([podPath('a'), podPath('b')]);
  expect(await volumes.mount('a', disk)).toBe(podPath('a'));
  expect(mounter.devices).toEqual([
    { device: '/dev/x', target: shared, fsType: 'ext4', options: ['noatime'], readOnly: false },
  ]);
  await endPod('a', mounter, volumes);
  expect([...mounter.mounts].toSorted()).toEqual([shared, podPath('b')].toSorted());
  // A restarted kubelet remembers nothing.
  await endPod('b', mounter, new DeviceVolumes(root, mounter));
  expect([...mounter.mounts]).toEqual([]);
  expect(existsSync(shared)).toBe(false);
});

test('a mount that has failed is tried again', async () => {
  const mounter = new RecordingMounter();
  const volumes = new DeviceVolumes(root, mounter);
  mounter.failure = new Error('no such device');
  await expect(volumes.mount('a', disk)).rejects.toThrow('no such device');
  mounter.failure = undefined;
  expect(await volumes.mount('a', disk)).toBe(podPath('a'));
});

test('a kubelet that may not mount rejects devices', async () => {
  await expect(new DeviceVolumes(root, noMounter).mount('a', disk)).rejects.toThrow(
    'cannot be mounted by this kubelet',
  );
  await new DeviceVolumes(root, noMounter).unmountUnused();
});

test.skipIf(!systemMounter().available)(
  'a blank loop device gets a file system, which keeps its files (needs root on Linux)',
  async (task) => {
    const image = join(root, 'image');
    const file = await open(image, 'w');
    await file.truncate(16 * 1024 * 1024);
    await file.close();
    const attached = await execute(['losetup', '--find', '--show', image], '').catch(
      (error: Error) => ({ code: 1, stdout: '', stderr: error.message }),
    );
    if (attached.code !== 0) return task.skip(`no loop device: ${attached.stderr}`);
    const device = attached.stdout.trim();
    const mounter = systemMounter();
    const volumes = new DeviceVolumes(root, mounter);
    try {
      for (const uid of ['a', 'b']) {
        const path = await volumes.mount(uid, { ...disk, device, mountOptions: [] });
        if (uid === 'a') await writeFile(join(path, 'file'), 'kept');
        else expect(await readFile(join(path, 'file'), 'utf8')).toBe('kept');
        await endPod(uid, mounter, volumes);
        expect(await mounter.mountsBelow(root)).toEqual([]);
      }
    } finally {
      await execute(['losetup', '--detach', device], '');
    }
  },
  60_000,
);
