// An ImageService on the CRI of a container runtime.

import {
  type AuthConfig,
  type CallOptions,
  CriError,
  type Image,
  type ImageFilter,
  type ImageFsInfo,
  type ImageService,
  type ImageSpec,
  type ImageStatusResponse,
  isCriError,
  type PodSandboxConfig,
} from '#cri/index.ts';
import type { CriConnection } from './connection.ts';
import { fromPullError } from './errors.ts';
import { pauseImage } from './pause.ts';

/** The only deadline of a pull: enough for a large image over a slow connection. */
const PULL_TIMEOUT_MS = 3_600_000;
/** How long the list of images may take when a pull has failed. */
const LIST_TIMEOUT_MS = 5000;
/** At most so many images are named in an error. */
const NAMED_IMAGES = 10;

export class ContainerdImages implements ImageService {
  readonly #connection: CriConnection;

  constructor(connection: CriConnection) {
    this.#connection = connection;
  }

  async listImages(filter?: ImageFilter, options?: CallOptions): Promise<readonly Image[]> {
    const wanted = filter?.image;
    if (wanted?.image) {
      // containerd ignores the filter.
      const { image } = await this.imageStatus(wanted, options);
      return image ? [image] : [];
    }
    return (await this.#connection.call('ImageService', 'ListImages', {}, options)).images;
  }

  imageStatus(
    image: ImageSpec,
    options: CallOptions & { verbose?: boolean } = {},
  ): Promise<ImageStatusResponse> {
    return this.#connection.call(
      'ImageService',
      'ImageStatus',
      { image, verbose: options.verbose ?? false },
      options,
    );
  }

  async pullImage(
    image: ImageSpec,
    auth?: AuthConfig,
    sandboxConfig?: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string> {
    const limits = { timeoutMs: PULL_TIMEOUT_MS, ...options };
    try {
      return (
        await this.#connection.call(
          'ImageService',
          'PullImage',
          { image, auth, sandboxConfig },
          limits,
        )
      ).imageRef;
    } catch (error) {
      options?.signal?.throwIfAborted();
      throw await this.#withPresentImages(fromPullError(error), options);
    }
  }

  /** Without a registry, only the images on the node can be used: the error of a pull names them. */
  async #withPresentImages(error: CriError, options: CallOptions | undefined): Promise<CriError> {
    if (error.reason !== 'RegistryUnavailable') return error;
    let images: readonly Image[];
    try {
      images = await this.listImages(undefined, {
        signal: options?.signal,
        timeoutMs: LIST_TIMEOUT_MS,
      });
    } catch {
      // The pull's own error says more than this one would.
      return error;
    }
    const names = images
      .flatMap(({ repoTags }) => repoTags.slice(0, 1))
      .filter((name) => name !== pauseImage)
      .toSorted();
    const more = names.length - NAMED_IMAGES;
    const listed =
      names.length === 0
        ? 'there are no images on this node'
        : `images on this node: ${names.slice(0, NAMED_IMAGES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
    return new CriError(error.reason, `${error.message} (${listed})`, { cause: error.cause });
  }

  async removeImage(image: ImageSpec, options?: CallOptions): Promise<void> {
    try {
      await this.#connection.call('ImageService', 'RemoveImage', { image }, options);
    } catch (error) {
      if (!isCriError(error, 'NotFound')) throw error;
    }
  }

  imageFsInfo(options?: CallOptions): Promise<ImageFsInfo> {
    return this.#connection.call('ImageService', 'ImageFsInfo', {}, options);
  }
}
