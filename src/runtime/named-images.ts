// Images for runtimes that need no image content: every name exists, unless it was removed or a
// simulation says otherwise. IDs and digests are derived from the names.

import { createHash } from 'node:crypto';
import {
  type CallOptions,
  complete,
  CriError,
  type Image,
  type ImageFilter,
  type ImageFsInfo,
  type ImageService,
  type ImageSpec,
  type ImageStatusResponse,
  type Input,
  toNanoseconds,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';

/** The reported size of every image, in bytes. */
const IMAGE_SIZE = 10_000_000;

/** The simulated behaviour of an image. */
export interface ImageSimulation {
  /**
   * The image does not exist, and a pull fails with this message; if it contains `not found`, the
   * reason is ImageNotFound.
   */
  readonly pullError: string | undefined;
  /** The image is not on the node initially, and a pull takes this long. */
  readonly pullDurationMs: number | undefined;
}

/** Which images are on a node. */
export interface ImagesState {
  readonly known: ReadonlyMap<string, Image>;
  readonly removed: ReadonlySet<string>;
}

export interface NamedImagesConfig {
  /** The images to begin with. Default: none was used yet. */
  readonly state?: ImagesState;
  /** Called before an image comes or goes. */
  readonly beforeChange?: () => void;
  readonly clock: Clock;
  /**
   * Returns the behaviour of an image by its canonical name and the annotations of its spec.
   * Default: every image exists on the node.
   */
  readonly simulation?: (
    name: string,
    annotations: Readonly<Record<string, string>> | undefined,
  ) => ImageSimulation;
  /** Returns the usage of the image file system. Default: constants. */
  readonly usage?: () => Promise<Input<'FilesystemUsage'>>;
}

const plain: ImageSimulation = { pullError: undefined, pullDurationMs: undefined };

/** Returns the full name: docker.io/library/busybox:latest for busybox. */
function canonicalImageName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  const hasRegistry =
    rest.length > 0 && (first.includes('.') || first.includes(':') || first === 'localhost');
  let full = hasRegistry
    ? name
    : rest.length > 0
      ? `docker.io/${name}`
      : `docker.io/library/${name}`;
  if (!full.includes('@') && !full.slice(full.lastIndexOf('/')).includes(':')) full += ':latest';
  return full;
}

/** Returns a digest that is derived from the name alone. */
function digestOf(name: string): string {
  return `sha256:${createHash('sha256').update(name).digest('hex')}`;
}

export class NamedImages implements ImageService {
  readonly #clock: Clock;
  readonly #simulation: NonNullable<NamedImagesConfig['simulation']>;
  readonly #usage: NonNullable<NamedImagesConfig['usage']>;
  /** By canonical name: images that were used or pulled. */
  readonly #known: Map<string, Image>;
  /** Canonical names that were removed and not pulled since. */
  readonly #removed: Set<string>;
  readonly #beforeChange: () => void;

  constructor({
    clock,
    simulation,
    usage,
    state,
    beforeChange = () => undefined,
  }: NamedImagesConfig) {
    this.#known = new Map(state?.known);
    this.#removed = new Set(state?.removed);
    this.#beforeChange = beforeChange;
    this.#clock = clock;
    this.#simulation = simulation ?? (() => plain);
    this.#usage = usage ?? (() => Promise.resolve(this.#playedUsage()));
  }

  /** Returns a copy of what is on the node. */
  state(): ImagesState {
    return { known: new Map(this.#known), removed: new Set(this.#removed) };
  }

  /** Reports whether the same images are on both nodes. */
  hasSameNames(other: NamedImages): boolean {
    return (
      this.#removed.size === 0 &&
      other.#removed.size === 0 &&
      this.#known.size === other.#known.size &&
      [...this.#known.keys()].every((name) => other.#known.has(name))
    );
  }

  /** The reference of the image for a container to be made from. Throws ImageNotFound if it is not there. */
  use(spec: ImageSpec): string {
    const image = this.#find(spec);
    if (image === undefined)
      throw new CriError(
        'ImageNotFound',
        `image ${JSON.stringify(spec.image ?? '')} is not present`,
      );
    return image.repoDigests[0] ?? image.id;
  }

  listImages(filter?: ImageFilter): Promise<readonly Image[]> {
    const wanted = filter?.image?.image;
    if (!wanted) return Promise.resolve([...this.#known.values()]);
    const image = this.#known.get(this.#name(wanted));
    return Promise.resolve(image ? [image] : []);
  }

  imageStatus(spec: ImageSpec): Promise<ImageStatusResponse> {
    return Promise.resolve(complete('ImageStatusResponse', { image: this.#find(spec) }));
  }

  async pullImage(
    spec: ImageSpec,
    _auth?: unknown,
    _sandbox?: unknown,
    options?: CallOptions,
  ): Promise<string> {
    const name = requireName(spec);
    const { pullError, pullDurationMs } = this.#simulation(
      canonicalImageName(name),
      spec.annotations,
    );
    if (pullDurationMs) await this.#clock.sleep(pullDurationMs, options?.signal);
    if (pullError !== undefined) {
      const reason = /not found/i.test(pullError) ? 'ImageNotFound' : 'ImagePull';
      throw new CriError(
        reason,
        `failed to pull and unpack image ${JSON.stringify(canonicalImageName(name))}: ${pullError}`,
      );
    }
    this.#beforeChange();
    this.#removed.delete(this.#name(name));
    return this.#add(this.#name(name)).repoDigests[0]!;
  }

  removeImage(spec: ImageSpec): Promise<void> {
    const name = this.#name(requireName(spec));
    this.#beforeChange();
    this.#known.delete(name);
    this.#removed.add(name);
    return Promise.resolve();
  }

  async imageFsInfo(): Promise<ImageFsInfo> {
    const usage = await this.#usage();
    return complete('ImageFsInfoResponse', {
      imageFilesystems: [usage],
      containerFilesystems: [usage],
    });
  }

  #playedUsage(): Input<'FilesystemUsage'> {
    return {
      timestamp: toNanoseconds(this.#clock.now()),
      fsId: { mountpoint: '/' },
      usedBytes: { value: this.#known.size * IMAGE_SIZE },
      inodesUsed: { value: this.#known.size },
    };
  }

  /** Returns the canonical name of an image, given by name, digest reference or ID. */
  #name(name: string): string {
    for (const [known, image] of this.#known) {
      if (image.id === name || image.repoDigests.includes(name)) return known;
    }
    return canonicalImageName(name);
  }

  #find(spec: ImageSpec): Image | undefined {
    const name = this.#name(requireName(spec));
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const { pullError, pullDurationMs } = this.#simulation(name, spec.annotations);
    if (pullError !== undefined || pullDurationMs !== undefined || this.#removed.has(name))
      return undefined;
    return this.#add(name);
  }

  #add(name: string): Image {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const id = digestOf(name);
    const at = name.indexOf('@');
    const repository = at < 0 ? name.slice(0, name.lastIndexOf(':')) : name.slice(0, at);
    const image = complete('Image', {
      id,
      repoTags: at < 0 ? [name] : [],
      repoDigests: [at < 0 ? `${repository}@${id}` : name],
      size: IMAGE_SIZE,
      spec: { image: id },
    });
    this.#beforeChange();
    this.#known.set(name, image);
    return image;
  }
}

function requireName(spec: ImageSpec): string {
  if (!spec.image) throw new CriError('InvalidArgument', 'an image name is needed');
  return spec.image;
}
