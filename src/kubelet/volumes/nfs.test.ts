import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Mounter, type NetworkMount, noMounter, systemMounter } from './mounter.ts';
import { mountNfs, type NfsVolume, nfsSource } from './nfs.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'cox-nfs-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A machine whose mounts are a list. */
class FakeMounter implements Mounter {
  readonly available: boolean = true;
  readonly tmpfs = noMounter.tmpfs;
  readonly bind = noMounter.bind;
  readonly device = noMounter.device;
  readonly grow = noMounter.grow;
  readonly unmount = noMounter.unmount;
  readonly mounted: NetworkMount[] = [];
  failure: Error | undefined;

  network(mount: NetworkMount): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.mounted.push(mount);
    return Promise.resolve();
  }

  mountsBelow(): Promise<readonly string[]> {
    return Promise.resolve(this.mounted.map(({ target }) => target));
  }
}

const volume: NfsVolume = {
  name: 'data',
  source: { server: '192.0.2.1', path: '/exports' },
  readOnly: false,
  mountOptions: [],
};
const directory = (): string => join(root, 'pods/uid-1/volumes/kubernetes.io~nfs/data');

describe('mountNfs', () => {
  test('mounts once, in the directory of the pod', async () => {
    const mounter = new FakeMounter();
    expect(await mountNfs(mounter, root, 'uid-1', volume)).toBe(directory());
    await mountNfs(mounter, root, 'uid-1', volume);
    expect(mounter.mounted).toEqual([
      { type: 'nfs', source: '192.0.2.1:/exports', target: directory(), options: [] },
    ]);
  });

  test('options are sorted, and each is there once', async () => {
    const mounter = new FakeMounter();
    const mountOptions = ['nfsvers=4.2', 'hard', 'ro'];
    await mountNfs(mounter, root, 'uid-1', { ...volume, readOnly: true, mountOptions });
    expect(mounter.mounted[0]?.options).toEqual(['hard', 'nfsvers=4.2', 'ro']);
  });

  test('a failed mount leaves no directory', async () => {
    const mounter = new FakeMounter();
    mounter.failure = new Error('no route to host');
    await expect(mountNfs(mounter, root, 'uid-1', volume)).rejects.toThrow('no route to host');
    expect(existsSync(directory())).toBe(false);
  });

  test('without the right to mount, the error says so', async () => {
    await expect(mountNfs(noMounter, root, 'uid-1', volume)).rejects.toThrow('it takes root');
  });

  // A machine with the kernel's nfs and mount.nfs would wait for the server.
  test.skipIf(!systemMounter().available || existsSync('/sbin/mount.nfs'))(
    'without mount.nfs, the error is that of upstream and of mount(8)',
    async () => {
      const message: string = await mountNfs(systemMounter(), root, 'uid-1', volume).then(
        () => '',
        (error: Error) => error.message,
      );
      expect(message).toContain(
        'mount failed: exit status 32\nMounting command: mount\n' +
          `Mounting arguments: -t nfs 192.0.2.1:/exports ${directory()}\nOutput: `,
      );
      expect(message).toMatch(/unknown filesystem type 'nfs'|you might need a .* helper program/);
    },
  );
});

test('sources for mount(8)', () => {
  expect(nfsSource({ server: 'files', path: '/a b' })).toBe('files:/a b');
  expect(nfsSource({ server: 'fd00::1', path: '/a' })).toBe('[fd00::1]:/a');
  expect(() => nfsSource({ server: '-oexec', path: '/a' })).toThrow('invalid server "-oexec"');
});
