// The volumes of type emptyDir, and file systems in memory.

import { chmod, mkdir, stat } from 'node:fs/promises';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { podLimits } from '../pod/resources.ts';
import type { Pod, Volume } from '../types.ts';
import { isMounted, type Mounter } from './mounter.ts';
import { setVolumeGroup } from './ownership.ts';

/** Makes the directory of an emptyDir, in memory if its medium says so. Idempotent. */
export async function setUpEmptyDir(
  mounter: Mounter,
  pod: Pod,
  volume: Volume,
  directory: string,
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const medium = volume.emptyDir?.medium ?? '';
  if (medium === 'Memory') {
    if (!mounter.available)
      throw new Error(
        'emptyDir with medium "Memory" takes a mount, which this kubelet may not make: it takes root on Linux',
      );
    const sizeBytes = memorySize(pod, volume);
    await ensureTmpfs(mounter, directory, {
      mode: 0o1777,
      ...(sizeBytes !== undefined ? { sizeBytes } : {}),
    });
  } else if (medium !== '') throw new Error(`unknown storage medium "${medium}"`);
  // The set-group-ID bit of an earlier sync stays: containers may be looking at it.
  if (((await stat(directory)).mode & 0o777) !== 0o777) await chmod(directory, 0o777);
  const group = pod.spec.securityContext?.fsGroup;
  if (group !== undefined) await setVolumeGroup(directory, group, false);
}

/** Mounts a file system in memory at the directory, unless one is mounted or none can be. */
export async function ensureTmpfs(
  mounter: Mounter,
  directory: string,
  options: { readonly sizeBytes?: number; readonly mode: number },
): Promise<void> {
  if (!mounter.available) return;
  if (await isMounted(mounter, directory)) return;
  await mounter.tmpfs(directory, options);
}

/** Returns the lower one of the volume's own limit and the sum of the containers' memory limits. */
function memorySize(pod: Pod, volume: Volume): number | undefined {
  const limit = volume.emptyDir?.sizeLimit;
  const own = limit === undefined ? 0 : parseQuantity(limit).value();
  const everyLimited = pod.spec.containers.every(
    (container) => container.resources?.limits?.['memory'] !== undefined,
  );
  const pods = everyLimited ? (podLimits(pod).get('memory') ?? 0) : 0;
  const bounds = [own, pods].filter((bytes) => bytes > 0);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}
