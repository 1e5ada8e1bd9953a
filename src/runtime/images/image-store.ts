// An ImageService with real images: pulled from registries and unpacked into directories.
//
//   DIR/index.json       the images and their names
//   DIR/HEX/rootfs       the files of the image whose ID is sha256:HEX
//   DIR/pull-N           files of a pull in progress
//
// An image is one directory: its layers are unpacked over each other and not shared with other
// images. A removed image that containers use stays on the disk until collect() finds it unused.

import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { mkdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AuthConfig,
  type CallOptions,
  complete,
  CriError,
  type Image,
  type ImageFilter,
  type ImageFsInfo,
  type ImageService,
  type ImageSpec,
  type ImageStatusResponse,
  toNanoseconds,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import { readUntrustedSync } from '#machinery/files/untrusted.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import type { Logger } from '#machinery/log.ts';
import { type ImageConfig, parseImageConfig } from './image-config.ts';
import { familiarName, type ImageReference, isImageId, parseReference } from './reference.ts';
import { type HttpGet, type Manifest, RegistryClient } from './registry-client.ts';
import { type Unpacking, unpackLayer } from './unpack.ts';

export interface StoredImage {
  /** sha256:HEX of the image's configuration. */
  readonly id: string;
  /** Names with tags. */
  readonly tags: readonly string[];
  /** Names with digests. */
  readonly digests: readonly string[];
  /** The size of its compressed layers, in bytes. */
  readonly size: number;
  readonly config: ImageConfig;
}

export interface ImageStoreConfig {
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly unpacking: Omit<Unpacking, 'signal'>;
  readonly httpGet: HttpGet;
  /** The base URL that serves the images of a registry, by the registry's host. */
  readonly mirrors: ReadonlyMap<string, string>;
}

/** The time for one pull, if the caller gives none. */
const PULL_TIMEOUT_MS = 15 * 60_000;
const MAX_ACCOUNT_BYTES = 4 * 1024 * 1024;

export class ImageStore implements ImageService {
  readonly #config: ImageStoreConfig;
  /** Images by ID. */
  readonly #images = new Map<string, StoredImage>();
  readonly #mutex = new KeyedMutex();
  #pulls = 0;
  #removed: () => void = () => undefined;

  constructor(config: ImageStoreConfig) {
    this.#config = config;
    for (const image of readIndex(join(config.dir, 'index.json'), config.logger))
      if (existsSync(this.#directory(image.id))) this.#images.set(image.id, image);
  }

  /** The directory of all images. */
  get dir(): string {
    return this.#config.dir;
  }

  /** Returns the ID of the image that a container is made from. Throws ImageNotFound. */
  use(spec: ImageSpec): string {
    return this.require(spec).id;
  }

  /** Returns the image. Throws ImageNotFound. */
  require(spec: ImageSpec): StoredImage {
    const image = this.#find(spec);
    if (image === undefined)
      throw new CriError(
        'ImageNotFound',
        `image ${JSON.stringify(spec.image ?? '')} is not present`,
      );
    return image;
  }

  /** Returns an image by its ID, also if it was removed; undefined if it is gone from the disk. */
  rootDirectory(id: string): string | undefined {
    const dir = join(this.#directory(id), 'rootfs');
    return existsSync(dir) ? dir : undefined;
  }

  /**
   * Returns the text of a file in the image, such as /etc/passwd; '' if there is none. A link that
   * leads out of the image counts as none.
   */
  readFile(id: string, path: string): string {
    const root = this.rootDirectory(id);
    if (root === undefined) return '';
    try {
      const real = realpathSync(join(root, path));
      if (!real.startsWith(`${realpathSync(root)}/`)) return '';
      return readUntrustedSync(real, MAX_ACCOUNT_BYTES).data.toString('utf8');
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return '';
      throw error;
    }
  }

  listImages(filter?: ImageFilter): Promise<readonly Image[]> {
    const wanted = filter?.image;
    if (!wanted?.image) return Promise.resolve([...this.#images.values()].map(toImage));
    const image = this.#find(wanted);
    return Promise.resolve(image === undefined ? [] : [toImage(image)]);
  }

  imageStatus(
    spec: ImageSpec,
    options?: CallOptions & { verbose?: boolean },
  ): Promise<ImageStatusResponse> {
    const image = this.#find(spec);
    return Promise.resolve(
      complete('ImageStatusResponse', {
        image: image && toImage(image),
        ...(image !== undefined &&
          options?.verbose === true && { info: { info: JSON.stringify(image) } }),
      }),
    );
  }

  async pullImage(
    spec: ImageSpec,
    auth?: AuthConfig,
    _sandbox?: unknown,
    options?: CallOptions,
  ): Promise<string> {
    const name = requireName(spec);
    const reference = parseReference(name);
    const late = new AbortController();
    const timer = this.#config.clock.setTimer(options?.timeoutMs ?? PULL_TIMEOUT_MS, () =>
      late.abort(new CriError('DeadlineExceeded', `pull of ${name} timed out`)),
    );
    const signal = options?.signal ? AbortSignal.any([options.signal, late.signal]) : late.signal;
    try {
      const client = new RegistryClient(reference, {
        httpGet: this.#config.httpGet,
        mirrors: this.#config.mirrors,
        auth,
        signal,
      });
      const { digest, manifest } = await client.manifest(reference.digest ?? reference.tag!);
      // Pulls of one image follow each other: the second finds what the first has unpacked.
      return await this.#mutex.run(manifest.config.digest, async () => {
        const config = parseImageConfig(await client.config(manifest.config));
        await this.#unpack(client, manifest, config, signal);
        return this.#add(reference, digest, manifest, config);
      });
    } catch (error) {
      options?.signal?.throwIfAborted();
      late.signal.throwIfAborted();
      if (!(error instanceof CriError))
        throw new CriError(
          'ImagePull',
          `failed to pull image ${JSON.stringify(name)}: ${String(error)}`,
          {
            cause: error,
          },
        );
      throw new CriError(
        error.reason,
        `failed to pull and unpack image ${JSON.stringify(name)}: ${error.message}`,
        { cause: error },
      );
    } finally {
      timer.cancel();
    }
  }

  async #unpack(
    client: RegistryClient,
    { config: { digest: id }, layers }: Manifest,
    config: ImageConfig,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.rootDirectory(id) !== undefined) return;
    const pull = join(this.#config.dir, `pull-${process.pid}-${++this.#pulls}`);
    try {
      await rm(pull, { recursive: true, force: true });
      await mkdir(join(pull, 'rootfs'), { recursive: true, mode: 0o755 });
      for (const [i, layer] of layers.entries()) {
        const file = join(pull, 'layer');
        await client.download(layer, file);
        await unpackLayer(file, layer, config.diffIds[i], join(pull, 'rootfs'), {
          ...this.#config.unpacking,
          signal,
        });
        await rm(file);
      }
      await rename(pull, this.#directory(id));
    } finally {
      await rm(pull, { recursive: true, force: true });
    }
  }

  #add(reference: ImageReference, digest: string, manifest: Manifest, config: ImageConfig): string {
    const { digest: id } = manifest.config;
    const name = familiarName(reference);
    const tag = reference.tag === undefined ? [] : [`${name}:${reference.tag}`];
    // A tag names one image: the newest.
    for (const other of this.#images.values()) {
      if (other.id === id || !other.tags.some((each) => tag.includes(each))) continue;
      const tags = other.tags.filter((each) => !tag.includes(each));
      this.#images.set(other.id, { ...other, tags });
    }
    const known = this.#images.get(id);
    this.#images.set(id, {
      id,
      tags: [...new Set([...(known?.tags ?? []), ...tag])],
      digests: [...new Set([...(known?.digests ?? []), `${name}@${digest}`])],
      size: manifest.config.size + manifest.layers.reduce((sum, { size }) => sum + size, 0),
      config,
    });
    this.#save();
    return id;
  }

  removeImage(spec: ImageSpec): Promise<void> {
    requireName(spec);
    const image = this.#find(spec);
    if (image !== undefined) {
      this.#images.delete(image.id);
      this.#save();
      this.#removed();
    }
    return Promise.resolve();
  }

  /** Calls back whenever an image was removed. There is one callback. */
  onRemove(callback: () => void): void {
    this.#removed = callback;
  }

  /** Deletes the files of images that were removed, except of those in use. */
  async collect(inUse: ReadonlySet<string>): Promise<void> {
    const { dir, logger } = this.#config;
    for (const name of existsSync(dir) ? readdirSync(dir) : []) {
      const id = `sha256:${name}`;
      if (!isImageId(id)) continue;
      await this.#mutex.run(id, async () => {
        if (this.#images.has(id) || inUse.has(id)) return;
        await rm(join(dir, name), { recursive: true, force: true }).catch((error: unknown) =>
          logger.warn('removed image not deleted', { image: id, err: error }),
        );
      });
    }
  }

  async imageFsInfo(): Promise<ImageFsInfo> {
    const { dir, clock } = this.#config;
    await mkdir(dir, { recursive: true });
    const { bsize, blocks, bfree, files, ffree } = await statfs(dir);
    const usage = {
      timestamp: toNanoseconds(clock.now()),
      fsId: { mountpoint: dir },
      usedBytes: { value: (blocks - bfree) * bsize },
      inodesUsed: { value: files - ffree },
    };
    return complete('ImageFsInfoResponse', {
      imageFilesystems: [usage],
      containerFilesystems: [usage],
    });
  }

  #directory(id: string): string {
    return join(this.#config.dir, id.replace(/^sha256:/, ''));
  }

  /** Returns an image by its ID, name with tag or name with digest. */
  #find(spec: ImageSpec): StoredImage | undefined {
    const name = requireName(spec);
    if (isImageId(name)) return this.#images.get(`sha256:${name.replace(/^sha256:/, '')}`);
    const reference = parseReference(name);
    const full = familiarName(reference);
    for (const image of this.#images.values()) {
      const found =
        reference.digest === undefined
          ? image.tags.includes(`${full}:${reference.tag}`)
          : image.digests.includes(`${full}@${reference.digest}`);
      if (found) return image;
    }
    return undefined;
  }

  #save(): void {
    writeDurableFile(
      join(this.#config.dir, 'index.json'),
      JSON.stringify([...this.#images.values()]),
    );
  }
}

function readIndex(path: string, logger: Logger): readonly StoredImage[] {
  if (!existsSync(path)) return [];
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as readonly StoredImage[];
  } catch (error) {
    // The images are pulled again.
    logger.error('index of images is damaged, starting without images', { path, err: error });
    return [];
  }
}

function toImage({ id, tags, digests, size, config }: StoredImage): Image {
  const [user = ''] = config.user.split(':');
  return complete('Image', {
    id,
    repoTags: tags,
    repoDigests: digests,
    size,
    ...(/^\d+$/.test(user) ? { uid: { value: Number(user) } } : { username: user }),
    spec: { image: id },
  });
}

function requireName(spec: ImageSpec): string {
  if (!spec.image) throw new CriError('InvalidArgument', 'an image name is needed');
  return spec.image;
}
