// Reads the settings of a CSI volume from a persistent volume or a pod.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { podUid, type Pod } from '../../types.ts';
import type { PersistentVolume } from '../claims.ts';
import type { CsiVolume, SecretReference } from './host.ts';
import { ephemeralHandle } from './names.ts';

type InlineSource = Immutable<v1.CSIVolumeSource>;
type PersistentSource = Immutable<v1.CSIPersistentVolumeSource>;

export function inlineVolume(pod: Pod, name: string, source: InlineSource): CsiVolume {
  const { driver, fsType = '', readOnly = false, volumeAttributes = {} } = source;
  const secret = source.nodePublishSecretRef?.name;
  return {
    name,
    nameInPod: name,
    driver,
    handle: ephemeralHandle(podUid(pod), name),
    isInline: true,
    isBlock: false,
    readOnly,
    fsType,
    attributes: volumeAttributes,
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    stageSecret: undefined,
    publishSecret:
      secret === undefined || secret === ''
        ? undefined
        : { namespace: pod.metadata.namespace ?? '', name: secret },
    expandSecret: undefined,
  };
}

/** Returns the settings. `readOnly`: the pod mounts its claim read-only. */
export function persistentVolume(
  volume: PersistentVolume,
  source: PersistentSource,
  readOnly: boolean,
  nameInPod: string,
): CsiVolume {
  return {
    name: volume.metadata.name,
    nameInPod,
    driver: source.driver,
    handle: source.volumeHandle,
    isInline: false,
    isBlock: volume.spec.volumeMode === 'Block',
    readOnly: readOnly || source.readOnly === true,
    fsType: source.fsType ?? '',
    attributes: source.volumeAttributes ?? {},
    accessModes: volume.spec.accessModes ?? [],
    mountOptions: volume.spec.mountOptions ?? [],
    stageSecret: reference(source.nodeStageSecretRef),
    publishSecret: reference(source.nodePublishSecretRef),
    expandSecret: reference(source.nodeExpandSecretRef),
  };
}

function reference(secret: Immutable<v1.SecretReference> | undefined): SecretReference | undefined {
  return secret?.name === undefined
    ? undefined
    : { namespace: secret.namespace ?? '', name: secret.name };
}
