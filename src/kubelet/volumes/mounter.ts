// Mounts of the operating system. The kubelet needs few: memory-backed volumes, devices of local
// volumes, and subpaths that must not be replaced between check and use.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parseMountPoints } from '#machinery/files/mount-points.ts';
import { type DeviceMount, formatAndMount, growFileSystem } from './format-and-mount.ts';

export interface Mounter {
  /** Whether this process may mount. */
  readonly available: boolean;
  tmpfs(
    target: string,
    options: { readonly sizeBytes?: number; readonly mode: number },
  ): Promise<void>;
  /** Makes `source` visible at `target`. Links in `source` are not resolved. */
  bind(source: string, target: string): Promise<void>;
  /** Mounts the file system of a device, and creates one on a blank device. */
  device(mount: DeviceMount): Promise<void>;
  /** Grows the mounted file system of a device to the device's size. */
  grow(device: string, mountPoint: string): Promise<void>;
  unmount(target: string): Promise<void>;
  /** Returns every mount point at or below the directory, the deepest first. */
  mountsBelow(directory: string): Promise<readonly string[]>;
}

/** Returns a mounter that uses mount(8), as root on Linux. */
export function systemMounter(): Mounter {
  const available = process.platform === 'linux' && process.getuid?.() === 0;
  return {
    available,
    async tmpfs(target, { sizeBytes, mode }) {
      const options = [`mode=${mode.toString(8).padStart(4, '0')}`];
      if (sizeBytes !== undefined) options.push(`size=${sizeBytes}`);
      await run('mount', ['-t', 'tmpfs', '-o', options.join(','), 'tmpfs', target]);
    },
    async bind(source, target) {
      await run('mount', ['--no-canonicalize', '--bind', source, target]);
    },
    device: (mount) => formatAndMount(mount),
    grow: (device, mountPoint) => growFileSystem(device, mountPoint),
    async unmount(target) {
      await run('umount', [target]);
    },
    async mountsBelow(directory) {
      if (process.platform !== 'linux') return [];
      const table = await readFile('/proc/self/mountinfo', 'utf8');
      return parseMountPoints(table)
        .filter((point) => point === directory || point.startsWith(`${directory}/`))
        .toReversed();
    },
  };
}

const impossible = (): Promise<void> =>
  Promise.reject(new Error('mounting is not possible here: it takes root on Linux'));

/** A mounter without mounts, for simulated nodes and processes that may not mount. */
export const noMounter: Mounter = {
  available: false,
  tmpfs: impossible,
  bind: impossible,
  device: impossible,
  grow: impossible,
  unmount: () => Promise.resolve(),
  mountsBelow: () => Promise.resolve([]),
};

function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(command, args, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else
        reject(
          new Error(`${command} ${args.join(' ')}: ${stderr.trim() || error.message}`, {
            cause: error,
          }),
        );
    });
  });
}
