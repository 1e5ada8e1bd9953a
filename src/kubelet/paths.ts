// The layout of the kubelet's root directory, which is upstream's.

import { join } from 'node:path';

export function podsDir(rootDir: string): string {
  return join(rootDir, 'pods');
}

export function podDir(rootDir: string, uid: string): string {
  return join(podsDir(rootDir), uid);
}

export function hostsFilePath(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'etc-hosts');
}

/** Returns the directory for termination logs of a container's instances. */
export function containerDir(rootDir: string, uid: string, container: string): string {
  return join(podDir(rootDir, uid), 'containers', container);
}

/** Returns the directory of all parts of volumes that are mounted in a pod's containers. */
export function subpathsDir(rootDir: string, uid: string): string {
  return join(podDir(rootDir, uid), 'volume-subpaths');
}

export function subpathDir(
  rootDir: string,
  uid: string,
  volume: string,
  container: string,
  index: number,
): string {
  return join(subpathsDir(rootDir, uid), volume, container, String(index));
}

/** Returns the directory with the checkpoints of containers. */
export function checkpointsDir(rootDir: string): string {
  return join(rootDir, 'checkpoints');
}

export function localVolumesPath(rootDir: string): string {
  return join(rootDir, 'local-volumes');
}

/** Returns the socket of the API of pod resources. */
export function podResourcesSocket(rootDir: string): string {
  return join(rootDir, 'pod-resources', 'kubelet.sock');
}

/** Returns the directory of device plugins: their sockets, the kubelet's own, the checkpoint. */
export function devicePluginsDir(rootDir: string): string {
  return join(rootDir, 'device-plugins');
}

/** Returns the directory in which plugins create their registration sockets. */
export function pluginsRegistryDir(rootDir: string): string {
  return join(rootDir, 'plugins_registry');
}

export function seccompDir(rootDir: string): string {
  return join(rootDir, 'seccomp');
}
