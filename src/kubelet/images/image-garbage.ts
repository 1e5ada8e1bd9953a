// Removes images that no container uses: when their file system fills up, when the node is short of
// disk, and when they were not used for very long.

import type { ImageService, RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import {
  bytesToFree,
  type ImageGcPolicy,
  type ImageRecord,
  removableImages,
  updateRecords,
} from './image-records.ts';

export interface ImageGarbageConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly images: ImageService;
  readonly runtime: Pick<RuntimeService, 'listContainers'>;
  readonly policy: ImageGcPolicy;
  /** Returns the names of images that volumes of pods on this node use. */
  readonly volumeImages: () => ReadonlySet<string>;
  /** Reads the file system of the images. Resolves with undefined if it is unknown. */
  readonly fileSystem: () => Promise<
    { readonly capacityBytes: number; readonly availableBytes: number } | undefined
  >;
  /** Records a warning about the node. */
  readonly warn: (
    reason: 'ImageGCFailed' | 'FreeDiskSpaceFailed' | 'InvalidDiskCapacity',
    message: string,
  ) => void;
  readonly onRemoved: (reason: 'age' | 'space') => void;
}

/** The time between two passes. */
const PERIOD_MS = 300_000;

export class ImageGarbage {
  readonly #config: ImageGarbageConfig;
  readonly #beganAt: number;
  #records: ReadonlyMap<string, ImageRecord> = new Map();

  constructor(config: ImageGarbageConfig) {
    this.#config = config;
    this.#beganAt = config.clock.now();
  }

  /** Collects garbage every five minutes, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, warn } = this.#config;
    let failedBefore = false;
    while (!signal.aborted) {
      try {
        await this.collect(signal);
        failedBefore = false;
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('image garbage collection failed', { err: error });
        // The first failure may be one of a start.
        if (failedBefore) warn('ImageGCFailed', errorMessage(error));
        failedBefore = true;
      }
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
  }

  /**
   * Removes images that are too old, and others if their file system is above the high threshold.
   * Rejects if images could not be removed, or not enough space was freed.
   */
  async collect(signal: AbortSignal): Promise<void> {
    const { policy, fileSystem, warn } = this.#config;
    const removable = await this.#removeOld(await this.#detect(signal), signal);
    // A threshold of 100 switches the rest off.
    if (policy.highThresholdPercent >= 100) return;
    const state = await fileSystem();
    if (state === undefined) return;
    if (state.capacityBytes === 0) {
      const message = 'invalid capacity 0 on image filesystem';
      warn('InvalidDiskCapacity', message);
      throw new Error(message);
    }
    const goal = bytesToFree(policy, state.capacityBytes, state.availableBytes);
    if (goal === undefined) return;
    const freed = await this.#free(removable, goal.bytes, signal);
    if (freed >= goal.bytes) return;
    const message =
      `Insufficient free disk space on the node's image filesystem (${goal.usagePercent}% of ` +
      `${formatSize(state.capacityBytes)} used). Failed to free sufficient space by deleting ` +
      `unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by ` +
      'active images, logs, volumes, or other data.';
    warn('FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** Removes all images that are not in use and old enough. */
  async removeUnused(signal: AbortSignal): Promise<void> {
    this.#config.logger.info('deleting unused images');
    await this.#free(await this.#detect(signal), Number.POSITIVE_INFINITY, signal);
  }

  /** Reads the runtime's lists. Returns the images that may be removed, in order. */
  async #detect(signal: AbortSignal): Promise<readonly ImageRecord[]> {
    const { images, runtime, volumeImages, clock } = this.#config;
    const [all, containers] = await Promise.all([
      images.listImages({}, { signal }),
      runtime.listContainers({}, { signal }),
    ]);
    const now = clock.now();
    this.#records = updateRecords(this.#records, {
      images: all,
      containers,
      volumeImages: volumeImages(),
      now,
    });
    return removableImages(this.#records);
  }

  async #removeOld(
    removable: readonly ImageRecord[],
    signal: AbortSignal,
  ): Promise<readonly ImageRecord[]> {
    const { policy, clock } = this.#config;
    const now = clock.now();
    // When images were used before this start is unknown.
    if (policy.maxAgeMs === 0 || now - this.#beganAt <= policy.maxAgeMs) return removable;
    const isOld = (image: ImageRecord): boolean => now - image.lastUsed > policy.maxAgeMs;
    await this.#removeAll(removable.filter(isOld), 'age', signal);
    return removable.filter((image) => !isOld(image));
  }

  /** Returns the freed bytes. */
  async #free(
    removable: readonly ImageRecord[],
    bytes: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { policy, clock } = this.#config;
    const chosen: ImageRecord[] = [];
    let sum = 0;
    for (const image of removable) {
      if (clock.now() - image.firstSeen < policy.minAgeMs) continue;
      if (sum >= bytes) break;
      chosen.push(image);
      sum += image.sizeBytes;
    }
    await this.#removeAll(chosen, 'space', signal);
    return sum;
  }

  /** Removes the images; rejects after all attempts if some failed. */
  async #removeAll(
    chosen: readonly ImageRecord[],
    reason: 'age' | 'space',
    signal: AbortSignal,
  ): Promise<void> {
    const { images, logger, onRemoved } = this.#config;
    const failures: string[] = [];
    for (const { id, sizeBytes } of chosen) {
      logger.info('removing image to free bytes', { image: id, bytes: sizeBytes });
      try {
        await images.removeImage({ image: id }, { signal });
        onRemoved(reason);
      } catch (error) {
        signal.throwIfAborted();
        failures.push(errorMessage(error));
      }
    }
    if (failures.length > 0)
      throw new Error(`errors in image deletion: ${failures.slice(0, 10).join('; ')}`);
  }
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

function formatSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return unit === 0 ? `${size} B` : `${size.toFixed(1)} ${UNITS[unit] ?? ''}`;
}
