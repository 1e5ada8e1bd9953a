// The usage of CSI volumes, as their drivers report it.

import type { CsiNodeService } from './node-client.ts';

export interface CsiVolumeStats {
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

/**
 * Returns the usage of the volume at the path; undefined if the driver has no statistics. Rejects
 * if the driver fails.
 */
export async function csiVolumeStats(
  service: CsiNodeService,
  handle: string,
  path: string,
): Promise<CsiVolumeStats | undefined> {
  if (!(await service.capabilities()).has('GET_VOLUME_STATS')) return undefined;
  const { usage } = await service.stats(handle, path);
  if (usage.length === 0) throw new Error('failed to get usage from response. usage is nil');
  const bytes = usage.find(({ unit }) => unit === 'BYTES');
  const inodes = usage.find(({ unit }) => unit === 'INODES');
  return {
    ...(bytes !== undefined && {
      availableBytes: bytes.available,
      capacityBytes: bytes.total,
      usedBytes: bytes.used,
    }),
    ...(inodes !== undefined && {
      inodesFree: inodes.available,
      inodes: inodes.total,
      inodesUsed: inodes.used,
    }),
  };
}
