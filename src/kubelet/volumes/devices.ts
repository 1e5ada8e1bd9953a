// The devices of a container: block volumes of its pod.

import type { Device } from '#cri/index.ts';
import type { Container, Pod } from '../types.ts';
import type { VolumePaths } from './volume-manager.ts';

/** Returns the devices. Throws the reason why the container cannot be created. */
export function makeDevices(
  pod: Pod,
  container: Container,
  volumes: VolumePaths,
): readonly Device[] {
  return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    const hostPath = volumes.get(name);
    if (hostPath === undefined || hostPath === '')
      throw new Error(`cannot find volume "${name}" to pass into container "${container.name}"`);
    const claim = pod.spec.volumes?.find((volume) => volume.name === name)?.persistentVolumeClaim;
    return {
      containerPath: devicePath,
      hostPath,
      permissions: claim?.readOnly === true ? 'mr' : 'mrw',
    };
  });
}
