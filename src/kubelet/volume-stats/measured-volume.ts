// Decides how the usage of a volume is measured.

import type { Volume } from '../types.ts';

/**
 * `files`: by walking through the files; `file-system`: the volume has a file system of its own;
 * `claim`: as the claim's volume is; `driver`: its CSI driver is asked; `none`: not measured.
 */
export type Measure = 'files' | 'file-system' | 'claim' | 'driver' | 'none';

/** Returns how upstream measures volumes of this type. */
export function measureOf(volume: Volume): Measure {
  if (volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined) return 'claim';
  if (volume.csi !== undefined) return 'driver';
  if (volume.emptyDir !== undefined)
    return (volume.emptyDir.medium ?? '') === '' ? 'files' : 'file-system';
  const isWritten =
    volume.configMap !== undefined ||
    volume.secret !== undefined ||
    volume.downwardAPI !== undefined ||
    volume.projected !== undefined;
  return isWritten ? 'files' : 'none';
}
