// Names and paths of CSI volumes, as every Kubernetes node has them.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { podDir } from '../../paths.ts';

const PLUGIN = 'kubernetes.io/csi';
/** The plugin's name as a directory. */
const ESCAPED_PLUGIN = 'kubernetes.io~csi';

/** Returns the handle of an inline volume. */
export function ephemeralHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256(`${podUid}${volumeName}`)}`;
}

export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

/** Returns the volume's name in the status of nodes. */
export function uniqueVolumeName(driver: string, handle: string): string {
  return `${PLUGIN}/${driver}^${handle}`;
}

/** Returns the directory with a directory for each driver, and in those one for each staged volume. */
export function stagedVolumesDir(rootDir: string): string {
  return join(rootDir, 'plugins', PLUGIN);
}

/** Returns the directory of a staged volume; below it is the mount point. */
export function stagedVolumeDir(rootDir: string, driver: string, handle: string): string {
  return join(stagedVolumesDir(rootDir), safeName(driver), sha256(handle));
}

/** Returns the path at which a driver stages a volume. */
export function stagingPath(volumeDir: string): string {
  return join(volumeDir, 'globalmount');
}

/** Returns the directory with the CSI volumes of a pod. */
export function podVolumesDir(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'volumes', ESCAPED_PLUGIN);
}

/** Returns the path at which a driver publishes a volume. `volumeDir`: its directory in the pod's. */
export function publishPath(volumeDir: string): string {
  return join(volumeDir, 'mount');
}

/** Returns the directory with links to the devices of a pod. */
export function podDevicesDir(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'volumeDevices', ESCAPED_PLUGIN);
}

/** Returns the directory of all block volumes. */
export function blockVolumesDir(rootDir: string): string {
  return join(stagedVolumesDir(rootDir), 'volumeDevices');
}

export interface BlockPaths {
  /** The directory of the file with the volume's data. */
  readonly data: string;
  readonly staging: string;
  /** The directory that contains the device of each pod, by UID. */
  readonly publishDir: string;
}

export function blockPaths(rootDir: string, volumeName: string): BlockPaths {
  const name = safeName(volumeName);
  const directory = blockVolumesDir(rootDir);
  return {
    data: join(directory, name, 'data'),
    staging: join(directory, 'staging', name),
    publishDir: join(directory, 'publish', name),
  };
}

/** Returns the name if it is safe as part of a path. */
export function safeName(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    throw new Error(`${JSON.stringify(name)} cannot be part of a path`);
  return name;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
