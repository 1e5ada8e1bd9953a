// The metrics of claims: kubelet_volume_stats_…, with upstream's names and texts.

import { Instruments, type Sample } from '#machinery/metrics/instruments.ts';
import type { FsStats, PodFiles, VolumeStats } from './types.ts';

const GAUGES: readonly (readonly [string, keyof FsStats, string])[] = [
  ['capacity_bytes', 'capacityBytes', 'Capacity in bytes of the volume'],
  ['available_bytes', 'availableBytes', 'Number of available bytes in the volume'],
  ['used_bytes', 'usedBytes', 'Number of used bytes in the volume'],
  ['inodes', 'inodes', 'Maximum number of inodes in the volume'],
  ['inodes_free', 'inodesFree', 'Number of free inodes in the volume'],
  ['inodes_used', 'inodesUsed', 'Number of used inodes in the volume'],
];

/** Returns the metrics in Prometheus' text format. A claim that several pods use counts once. */
export function volumeMetrics(files: Iterable<PodFiles>): string {
  const byClaim = new Map<string, VolumeStats>();
  for (const { volumes } of files) {
    for (const volume of volumes) {
      if (volume.claim === undefined) continue;
      const key = `${volume.claim.namespace}/${volume.claim.name}`;
      if (!byClaim.has(key)) byClaim.set(key, volume);
    }
  }
  const instruments = new Instruments();
  const gauge = (
    name: string,
    help: string,
    valueOf: (volume: VolumeStats) => number | undefined,
  ): void =>
    instruments.gauge(
      {
        name: `kubelet_volume_stats_${name}`,
        help,
        labels: ['namespace', 'persistentvolumeclaim'],
      },
      () =>
        [...byClaim.values()].flatMap((volume): Sample[] => {
          const value = valueOf(volume);
          const { namespace = '', name: claim = '' } = volume.claim ?? {};
          return value === undefined ? [] : [[[namespace, claim], value]];
        }),
    );
  for (const [name, key, help] of GAUGES) gauge(name, help, (volume) => volume[key]);
  gauge(
    'health_status_abnormal',
    'Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is ' +
      'unhealthy, 0 indicates volume is healthy',
    ({ abnormal }) => (abnormal === undefined ? undefined : Number(abnormal)),
  );
  return instruments.text();
}
