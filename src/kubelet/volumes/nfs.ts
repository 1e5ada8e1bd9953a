// Volumes of NFS servers: mounted for each pod, in the directory of upstream's plugin. A machine
// needs the kernel's nfs module and mount.nfs(8); without them mount(8) says so.

import { mkdir, rmdir } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { podDir } from '../paths.ts';
import { isMounted, type Mounter } from './mounter.ts';

export interface NfsVolume {
  /** The name of the pod's volume, or of the persistent volume. */
  readonly name: string;
  readonly source: Immutable<v1.NFSVolumeSource>;
  readonly readOnly: boolean;
  readonly mountOptions: readonly string[];
}

/**
 * Returns the source for mount(8): 'SERVER:/PATH'. Throws for a server that mount(8) would take for
 * an option.
 */
export function nfsSource({ server, path }: NfsVolume['source']): string {
  if (server.startsWith('-')) throw new Error(`invalid server ${JSON.stringify(server)}`);
  return `${isIPv6(server) ? `[${server}]` : server}:${path}`;
}

/** Returns the options of a mount, each once, in the order of upstream. */
function joinMountOptions(...options: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(options.flat())].sort();
}

/** Mounts the volume for a pod, and returns the path. Idempotent. Rejects with the reason. */
export async function mountNfs(
  mounter: Mounter,
  rootDir: string,
  podUid: string,
  { name, source, readOnly, mountOptions }: NfsVolume,
): Promise<string> {
  const target = join(podDir(rootDir, podUid), 'volumes', 'kubernetes.io~nfs', name);
  if (await isMounted(mounter, target)) return target;
  if (!mounter.available)
    throw new Error('NFS volumes cannot be mounted by this kubelet: it takes root on Linux');
  await mkdir(target, { recursive: true, mode: 0o750 });
  try {
    await mounter.network({
      type: 'nfs',
      source: nfsSource(source),
      target,
      options: joinMountOptions(mountOptions, readOnly ? ['ro'] : []),
    });
  } catch (error) {
    // The directory marks nothing, unlike that of a volume that has to be unmounted.
    if (!(await isMounted(mounter, target))) await rmdir(target).catch(() => undefined);
    throw error;
  }
  return target;
}
