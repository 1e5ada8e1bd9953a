// An ImageService on the CRI of a container runtime.

import {
  type AuthConfig,
  type CallOptions,
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

/** The only deadline of a pull: enough for a large image over a slow connection. */
const PULL_TIMEOUT_MS = 3_600_000;

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
      throw fromPullError(error);
    }
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
