// Mounts of the operating system. The kubelet needs few: memory-backed volumes, devices of local
// volumes, and subpaths that must not be replaced between check and use.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { parseMountPoints } from '#machinery/files/mount-points.ts';
import { type DeviceMount, formatAndMount, growFileSystem } from './format-and-mount.ts';

export interface NetworkMount {
  /** 'nfs'. */
  readonly type: string;
  /** 'SERVER:/PATH'. */
  readonly source: string;
  /** An existing directory. */
  readonly target: string;
  readonly options: readonly string[];
}

/** The longest time for a mount of another machine's file system. mount.nfs gives up after two minutes. */
const NETWORK_TIMEOUT_MS = 180_000;
/** How long an unmount may take before it is forced: a server that does not respond blocks it. */
const UNMOUNT_TIMEOUT_MS = 60_000;

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
  /** Mounts a file system of another machine. Rejects with the words of mount(8). */
  network(mount: NetworkMount): Promise<void>;
  /** Grows the mounted file system of a device to the device's size. */
  grow(device: string, mountPoint: string): Promise<void>;
  unmount(target: string): Promise<void>;
  /** Returns every mount point at or below the directory, the deepest first. */
  mountsBelow(directory: string): Promise<readonly string[]>;
}

/** Reports whether something is mounted at the path itself. */
export async function isMounted(mounter: Mounter, path: string): Promise<boolean> {
  return (await mounter.mountsBelow(path)).includes(path);
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
    network: mountNetwork,
    grow: (device, mountPoint) => growFileSystem(device, mountPoint),
    async unmount(target) {
      if (await run('umount', [target], UNMOUNT_TIMEOUT_MS)) return;
      await run('umount', ['-f', target], UNMOUNT_TIMEOUT_MS);
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
  network: impossible,
  grow: impossible,
  unmount: () => Promise.resolve(),
  mountsBelow: () => Promise.resolve([]),
};

/** Rejects with an error in the form of upstream's, which users search for. */
async function mountNetwork({ type, source, target, options }: NetworkMount): Promise<void> {
  const args = [
    '-t',
    type,
    ...(options.length > 0 ? ['-o', options.join(',')] : []),
    source,
    target,
  ];
  const { code, signal, output } = await execute('mount', args, NETWORK_TIMEOUT_MS);
  if (code === 0) return;
  const how = signal === undefined ? `exit status ${code}` : `signal: ${signal}`;
  throw new Error(
    `mount failed: ${how}\nMounting command: mount\nMounting arguments: ${args.join(' ')}\n` +
      `Output: ${output}`,
  );
}

/** Returns false if the program was killed after the time limit. Rejects if it fails. */
async function run(command: string, args: readonly string[], timeoutMs = 0): Promise<boolean> {
  const { code, signal, output } = await execute(command, args, timeoutMs);
  if (code === 0) return true;
  if (signal !== undefined && timeoutMs > 0) return false;
  throw new Error(`${command} ${args.join(' ')}: ${output.trim() || `exit status ${code}`}`);
}

interface Outcome {
  readonly code: number | undefined;
  /** The signal that ended the program. */
  readonly signal: string | undefined;
  /** Its messages. */
  readonly output: string;
}

/** Runs a program to its end, or kills it after the time limit (0: none). */
function execute(command: string, args: readonly string[], timeoutMs: number): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, killSignal: 'SIGKILL' } as const;
    const child = execFile(command, args, options, (error, _stdout, output) => {
      if (error === null) resolve({ code: 0, signal: undefined, output });
      else if (typeof error.code === 'string') reject(error);
      else
        resolve({
          code: child.exitCode ?? undefined,
          signal: child.signalCode ?? undefined,
          output,
        });
    });
  });
}
