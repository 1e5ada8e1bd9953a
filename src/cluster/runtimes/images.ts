// The images of a cluster's containerd: listed, imported, and removed where no container uses them.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isCriError, type Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { dataDirLayout, isDataDir } from '../data-dir/data-dir.ts';
import { UserError } from '../user-error.ts';

export interface ImagesConfig {
  readonly dataDir: string;
  /** unix:///…: a runtime that is there already, in place of the cluster's own containerd. */
  readonly endpoint?: string;
}

export interface ImageInfo {
  readonly id: string;
  /** With tags; empty for an image without one. */
  readonly names: readonly string[];
  readonly digests: readonly string[];
  readonly bytes: number;
  readonly inUse: boolean;
}

const ANSWER_MS = 10_000;
const UNIX = 'unix://';
/** Files that are taken for images in a folder of images. */
const ARCHIVE = /\.(tar|tgz|tar\.gz|tar\.zst|oci)$/;
/** More in one folder are taken for a mistake. */
const MAX_SOURCES = 1000;

/** Returns the images, by name. Throws UserError if the cluster has no containerd that answers. */
export function listImages(config: ImagesConfig): Promise<readonly ImageInfo[]> {
  return withRuntime(config, imagesOf);
}

/**
 * Imports archives and OCI layouts, and returns the images that are new or that have another content than before.
 * `onSource` is called with each source before it is read. Throws UserError.
 */
export function loadImages(
  config: ImagesConfig,
  sources: readonly string[],
  options: { readonly baseName?: string; readonly onSource?: (source: string) => void } = {},
): Promise<readonly ImageInfo[]> {
  return withRuntime(config, async (runtime, socket) => {
    const { importImages, usedSnapshotter, pathsIn } = await import('#runtime/containerd/index.ts');
    const snapshotter =
      config.endpoint === undefined
        ? usedSnapshotter(pathsIn(dataDirLayout(config.dataDir).containerd).root)
        : undefined;
    const before = new Map((await imagesOf(runtime)).map(({ id, names }) => [id, names.join()]));
    for (const source of sources) {
      options.onSource?.(source);
      await importImages({
        socket,
        source: resolve(source),
        ...(snapshotter !== undefined && { snapshotter }),
        ...(options.baseName !== undefined && { baseName: options.baseName }),
      });
    }
    return (await imagesOf(runtime)).filter(({ id, names }) => before.get(id) !== names.join());
  });
}

/**
 * Removes images that no container uses, and returns them. The pause image and pinned ones stay. `dryRun`: removes
 * nothing.
 */
export function pruneImages(
  config: ImagesConfig,
  options: { readonly dryRun?: boolean } = {},
): Promise<readonly ImageInfo[]> {
  return withRuntime(config, async (runtime) => {
    const { pauseImage } = await import('#runtime/containerd/index.ts');
    const pinned = new Set(
      (await runtime.images.listImages()).filter((image) => image.pinned).map(({ id }) => id),
    );
    const unused = (await imagesOf(runtime)).filter(
      ({ id, names, inUse }) =>
        !inUse && !pinned.has(id) && !names.some((name) => isPause(name, pauseImage)),
    );
    if (options.dryRun === true) return unused;
    for (const { id } of unused) await runtime.images.removeImage({ image: id });
    return unused;
  });
}

const isPause = (name: string, own: string): boolean =>
  name === own || name.startsWith('registry.k8s.io/pause:');

async function imagesOf(runtime: Runtime): Promise<readonly ImageInfo[]> {
  const [images, containers] = await Promise.all([
    runtime.images.listImages(),
    runtime.runtime.listContainers(),
  ]);
  const used = new Set(containers.flatMap(({ image, imageRef }) => [image?.image ?? '', imageRef]));
  return images
    .map(({ id, repoTags, repoDigests, size }) => ({
      id,
      names: repoTags.toSorted(),
      digests: repoDigests,
      bytes: size,
      inUse: [id, ...repoTags, ...repoDigests].some((name) => used.has(name)),
    }))
    .toSorted((a, b) => ((a.names[0] ?? a.id) < (b.names[0] ?? b.id) ? -1 : 1));
}

async function withRuntime<T>(
  config: ImagesConfig,
  work: (runtime: Runtime, socket: string) => Promise<T>,
): Promise<T> {
  const { createContainerdRuntime } = await import('#runtime/containerd/index.ts');
  const socket = await socketOf(config);
  const runtime = createContainerdRuntime({ endpoint: `${UNIX}${socket}`, clock: systemClock });
  try {
    try {
      await runtime.runtime.version({ timeoutMs: ANSWER_MS });
    } catch (error) {
      throw new UserError(`no containerd answers at ${socket}: is the cluster running?`, {
        cause: error,
      });
    }
    return await work(runtime, socket);
  } catch (error) {
    if (isCriError(error)) throw new UserError(errorMessage(error), { cause: error });
    throw error;
  } finally {
    await runtime.close();
  }
}

async function socketOf({ dataDir, endpoint }: ImagesConfig): Promise<string> {
  if (endpoint !== undefined)
    return endpoint.startsWith(UNIX) ? endpoint.slice(UNIX.length) : endpoint;
  const layout = dataDirLayout(dataDir);
  if (!isDataDir(layout)) throw new UserError(`no cluster has ever run on ${layout.root}`);
  const { pathsIn } = await import('#runtime/containerd/index.ts');
  const { socket } = pathsIn(layout.containerd);
  if (existsSync(socket)) return socket;
  throw new UserError(
    `the cluster of ${layout.root} has no containerd that runs. Simulated pods take any image, ` +
      'and those of --runtime process run programs of this machine; ' +
      'for a runtime of your own see --container-runtime-endpoint',
  );
}

/**
 * Returns the archives and OCI layouts in a folder, sorted by name; the folder itself if it is a layout. Throws
 * UserError.
 */
export async function imageSourcesIn(dir: string): Promise<readonly string[]> {
  const { isOciLayout } = await import('#runtime/containerd/index.ts');
  const root = resolve(dir);
  let names: readonly string[];
  try {
    names = readdirSync(root);
  } catch (error) {
    throw new UserError(`--images: cannot read ${root}: ${errorMessage(error)}`, { cause: error });
  }
  if (isOciLayout(root)) return [root];
  const sources = names
    .toSorted()
    .map((name) => join(root, name))
    .filter((path) => isOciLayout(path) || (ARCHIVE.test(path) && statSync(path).isFile()));
  if (sources.length === 0)
    throw new UserError(
      `--images: ${root} has neither archives (.tar, .tar.gz …) nor folders with an OCI layout`,
    );
  if (sources.length > MAX_SOURCES)
    throw new UserError(`--images: ${root} has more than ${MAX_SOURCES} images`);
  return sources;
}
