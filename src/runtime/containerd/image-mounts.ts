// Image volumes for a containerd before 2.1, whose CRI does not support them: a read-only view of
// the image is mounted on the host once per pod, and the container gets that directory. Names of
// directories record the mounts, so nothing is lost with this process: the snapshot
// coxswain/SANDBOX/HASH is mounted at DIR/SANDBOX/HASH.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type CallOptions,
  type ContainerConfig,
  CriError,
  isCriError,
  type Mount,
} from '#cri/index.ts';
import type { CriConnection } from './connection.ts';
import { mountsBelow, systemPath } from './host.ts';
import { removeSnapshot, snapshotMounts, viewSnapshot, type Snapshot } from './snapshot-service.ts';

const run = promisify(execFile);

export interface ImageMountsConfig {
  readonly connection: CriConnection;
  /** The directory of mounts; containerd must see the same files. */
  readonly dir: string;
}

export class ImageMounts {
  readonly #config: ImageMountsConfig;
  /** Whether the runtime mounts images itself, and its snapshotter; read once. */
  #runtime: Promise<{ readonly mountsImages: boolean; readonly snapshotter: string }> | undefined;
  /** By pod: the operation in flight. Images of one pod are mounted one after the other. */
  readonly #working = new Map<string, Promise<unknown>>();

  constructor(config: ImageMountsConfig) {
    this.#config = config;
  }

  /**
   * Returns the config with host directories in place of images, unless the runtime mounts images
   * itself. Rejects with a CriError.
   */
  async prepare(
    sandboxId: string,
    config: ContainerConfig,
    options?: CallOptions,
  ): Promise<ContainerConfig> {
    const mounts = config.mounts ?? [];
    if (!mounts.some(({ image }) => image !== undefined)) return config;
    const { mountsImages, snapshotter } = await (this.#runtime ??= this.#ask(options));
    if (mountsImages) return config;
    const prepared: Mount[] = [];
    for (const mount of mounts) {
      const { image, imageSubPath, ...rest } = mount;
      if (image === undefined) prepared.push(mount);
      else {
        const root = await this.#inTurn(sandboxId, () =>
          this.#mount(sandboxId, image.image ?? '', snapshotter, options),
        );
        prepared.push({
          ...rest,
          hostPath: await inside(root, imageSubPath ?? ''),
          readonly: true,
        });
      }
    }
    return { ...config, mounts: prepared };
  }

  /** Unmounts the images of a pod after its containers are gone. Idempotent. */
  async release(sandboxId: string): Promise<void> {
    const pod = join(this.#config.dir, sandboxId);
    let hashes: readonly string[];
    try {
      hashes = await readdir(pod);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    const { snapshotter } = await (this.#runtime ??= this.#ask());
    await this.#inTurn(sandboxId, async () => {
      for (const path of mountsBelow(pod)) await command('umount', path);
      for (const hash of hashes) {
        try {
          await removeSnapshot(this.#config.connection, {
            snapshotter,
            key: keyOf(sandboxId, hash),
          });
        } catch (error) {
          if (!isCriError(error, 'NotFound')) throw error;
        }
        await rmdir(join(pod, hash));
      }
      await rmdir(pod);
    });
  }

  async #mount(
    sandboxId: string,
    image: string,
    snapshotter: string,
    options?: CallOptions,
  ): Promise<string> {
    const { connection, dir } = this.#config;
    const { info } = await connection.call(
      'ImageService',
      'ImageStatus',
      { image: { image }, verbose: true },
      options,
    );
    const { chainID } = JSON.parse(info['info'] ?? '{}') as { readonly chainID?: string };
    if (chainID === undefined)
      throw new CriError('ImageNotFound', `image ${JSON.stringify(image)} is not present`);
    const hash = createHash('sha256').update(chainID).digest('hex').slice(0, 16);
    const target = join(dir, sandboxId, hash);
    await mkdir(target, { recursive: true, mode: 0o711 });
    if (mountsBelow(target).includes(target)) return target;
    const snapshot: Snapshot = { snapshotter, key: keyOf(sandboxId, hash) };
    const mounts = await viewSnapshot(connection, snapshot, chainID).catch((error: unknown) => {
      // A process that was killed before it mounted the image has left the snapshot.
      if (isCriError(error, 'AlreadyExists')) return snapshotMounts(connection, snapshot);
      throw error;
    });
    for (const { type, source, options: flags } of mounts) {
      const readOnly = [...new Set([...flags.filter((flag) => flag !== 'rw'), 'ro'])].join(',');
      // A bind mount is requested by its option; with a type, mount(8) would look for a file system
      // of that name.
      await command(
        'mount',
        ...(type === 'bind' ? [] : ['-t', type]),
        '-o',
        readOnly,
        source,
        target,
      );
    }
    return target;
  }

  async #ask(options?: CallOptions): Promise<{ mountsImages: boolean; snapshotter: string }> {
    try {
      const { connection } = this.#config;
      const { runtimeName, runtimeVersion } = await connection.call(
        'RuntimeService',
        'Version',
        { version: 'v1' },
        options,
      );
      if (runtimeName !== 'containerd' || mountsImages(runtimeVersion))
        return { mountsImages: true, snapshotter: '' };
      const { info } = await connection.call(
        'RuntimeService',
        'Status',
        { verbose: true },
        options,
      );
      const { containerd } = JSON.parse(info['config'] ?? '{}') as {
        readonly containerd?: { readonly snapshotter?: string };
      };
      return { mountsImages: false, snapshotter: containerd?.snapshotter ?? 'overlayfs' };
    } catch (error) {
      this.#runtime = undefined;
      throw error;
    }
  }

  async #inTurn<T>(sandboxId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#working.get(sandboxId) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#working.set(sandboxId, mine);
    try {
      return await mine;
    } finally {
      if (this.#working.get(sandboxId) === mine) this.#working.delete(sandboxId);
    }
  }
}

const keyOf = (sandboxId: string, hash: string): string => `coxswain/${sandboxId}/${hash}`;

/** Reports whether a containerd of this version mounts images through CRI: since 2.1. */
export function mountsImages(version: string): boolean {
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 1);
}

/**
 * Returns a path within the image. A link could lead to the host's files, so links are not
 * followed.
 */
export async function inside(root: string, subPath: string): Promise<string> {
  let path = root;
  for (const part of subPath.split('/').filter((each) => each !== '' && each !== '.')) {
    if (part === '..')
      throw new CriError(
        'InvalidArgument',
        `image sub path ${JSON.stringify(subPath)} leads out of the image`,
      );
    path = join(path, part);
    const stats = await lstat(path).catch((error: unknown) => {
      throw new CriError(
        'NotFound',
        `image sub path ${JSON.stringify(subPath)} does not exist in the image`,
        {
          cause: error,
        },
      );
    });
    if (stats.isSymbolicLink()) {
      throw new CriError(
        'InvalidArgument',
        `image sub path ${JSON.stringify(subPath)}: links are not followed with this containerd`,
      );
    }
  }
  return path;
}

async function command(program: string, ...args: readonly string[]): Promise<void> {
  try {
    await run(program, args, { env: { PATH: systemPath() } });
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    throw new CriError(
      'Internal',
      `${program} ${args.join(' ')}: ${stderr.trim() || String(error)}`,
      { cause: error },
    );
  }
}
