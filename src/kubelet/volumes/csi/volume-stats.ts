// The statistics of a volume, as its driver reports them.

import type { CsiNodeService } from './node-client.ts';

export interface CsiVolumeStats {
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
  /** Absent: the driver does not report conditions. */
  readonly condition?: { readonly abnormal: boolean; readonly message: string };
}

/** More of a driver's message is cut off: it becomes an event. */
const MAX_MESSAGE = 1024;

/**
 * Returns undefined for a driver without statistics. What the driver does not report is 0, as is what
 * it reports to be negative. Rejects with the driver's error, or if it reports nothing.
 */
export async function volumeStats(
  service: CsiNodeService,
  handle: string,
  path: string,
  signal: AbortSignal,
): Promise<CsiVolumeStats | undefined> {
  const capabilities = await service.capabilities();
  if (!capabilities.has('GET_VOLUME_STATS')) return undefined;
  const { usage, volumeCondition } = await service.stats(handle, path, signal);
  if (usage.length === 0) throw new Error('failed to get usage from response. usage is nil');
  const bytes = usage.findLast(({ unit }) => unit === 'BYTES');
  const inodes = usage.findLast(({ unit }) => unit === 'INODES');
  const amount = (value: number | undefined): number => Math.max(0, value ?? 0);
  return {
    availableBytes: amount(bytes?.available),
    capacityBytes: amount(bytes?.total),
    usedBytes: amount(bytes?.used),
    inodes: amount(inodes?.total),
    inodesFree: amount(inodes?.available),
    inodesUsed: amount(inodes?.used),
    ...(capabilities.has('VOLUME_CONDITION') &&
      volumeCondition !== undefined && {
        condition: {
          abnormal: volumeCondition.abnormal,
          message: volumeCondition.message.slice(0, MAX_MESSAGE),
        },
      }),
  };
}
