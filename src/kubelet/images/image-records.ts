// When images were first seen and last used, and which of them may be removed to free space: a pure
// value of the runtime's lists.

import type { Container, Image } from '#cri/index.ts';

export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: number;
  /** The runtime needs the image, such as that of sandboxes. */
  readonly pinned: boolean;
  /** Wall-clock times in milliseconds. */
  readonly firstSeen: number;
  /** 0 if it was never seen in use. */
  readonly lastUsed: number;
  /** A container uses the image now, or an image volume does. */
  readonly inUse: boolean;
}

export interface ImageRecordsInput {
  readonly images: readonly Image[];
  /** All containers, dead ones included: they may be restarted. */
  readonly containers: readonly Container[];
  /** Names of images that volumes use. */
  readonly volumeImages: ReadonlySet<string>;
  readonly now: number;
}

/** Returns the records of the images that exist. `previous`: by ID of the image. */
export function updateRecords(
  previous: ReadonlyMap<string, ImageRecord>,
  { images, containers, volumeImages, now }: ImageRecordsInput,
): ReadonlyMap<string, ImageRecord> {
  const used = new Set(volumeImages);
  for (const { imageId, imageRef, image } of containers)
    for (const name of [imageId, imageRef, image?.image]) if (name) used.add(name);
  return new Map(
    images.map(({ id, size, pinned, repoTags, repoDigests }) => {
      const inUse = [id, ...repoTags, ...repoDigests].some((name) => used.has(name));
      const before = previous.get(id);
      const record: ImageRecord = {
        id,
        sizeBytes: size,
        pinned,
        firstSeen: before?.firstSeen ?? now,
        lastUsed: inUse ? now : (before?.lastUsed ?? 0),
        inUse,
      };
      return [id, record];
    }),
  );
}

/** Returns the images that may be removed, the one that was not used for the longest time first. */
export function removableImages(records: ReadonlyMap<string, ImageRecord>): readonly ImageRecord[] {
  return [...records.values()]
    .filter(({ inUse, pinned }) => !inUse && !pinned)
    .toSorted((a, b) => a.lastUsed - b.lastUsed || a.firstSeen - b.firstSeen);
}

export interface ImageGcPolicy {
  /** Usage of the images' file system in percent: above `high`, images are removed down to `low`. */
  readonly highThresholdPercent: number;
  readonly lowThresholdPercent: number;
  /** A younger image is kept: it may have been pulled for a container that is about to start. */
  readonly minAgeMs: number;
  /** An image that was not used for longer is removed. 0: images do not age. */
  readonly maxAgeMs: number;
}

/** Upstream's defaults. */
export const DEFAULT_IMAGE_GC: ImageGcPolicy = {
  highThresholdPercent: 85,
  lowThresholdPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
};

/** Returns how many bytes to free, and the usage in percent; undefined if there is enough space. */
export function bytesToFree(
  policy: Pick<ImageGcPolicy, 'highThresholdPercent' | 'lowThresholdPercent'>,
  capacityBytes: number,
  availableBytes: number,
): { readonly usagePercent: number; readonly bytes: number } | undefined {
  const available = Math.min(availableBytes, capacityBytes);
  const usagePercent = 100 - Math.floor((available * 100) / capacityBytes);
  if (usagePercent < policy.highThresholdPercent) return undefined;
  const wanted = Math.floor((capacityBytes * (100 - policy.lowThresholdPercent)) / 100);
  return { usagePercent, bytes: wanted - available };
}
