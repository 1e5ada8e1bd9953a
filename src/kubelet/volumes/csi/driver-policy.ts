// Decides by a driver's CSIDriver object how its volumes are mounted. Pure.

import type { CSIDriver } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { podUid, type Pod } from '../../types.ts';
import type { CsiVolume } from './host.ts';

type ReadDriver = Immutable<CSIDriver>;

/** Reports whether volumes are attached to nodes; so they are without an object of the driver. */
export function needsAttaching(driver: ReadDriver | undefined): boolean {
  return driver?.spec.attachRequired !== false;
}

/** Throws the reason if the driver does not support volumes of the kind. */
export function checkLifecycleMode(driver: ReadDriver | undefined, volume: CsiVolume): void {
  const mode = volume.isInline ? 'Ephemeral' : 'Persistent';
  if (driver === undefined) {
    if (!volume.isInline) return;
    throw new Error(
      `volume mode "${mode}" not supported by driver ${volume.driver} (no CSIDriver object)`,
    );
  }
  const modes = driver.spec.volumeLifecycleModes ?? ['Persistent'];
  if (modes.includes(mode)) return;
  const supported = modes.map((each) => JSON.stringify(each)).join(' ');
  throw new Error(
    `volume mode "${mode}" not supported by driver ${volume.driver} (only supports [${supported}])`,
  );
}

/** Reports whether the kubelet gives the volume's files to the pod's group. */
export function changesGroup(driver: ReadDriver | undefined, volume: CsiVolume): boolean {
  const policy = driver?.spec.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (volume.readOnly || policy === 'None') return false;
  if (policy === 'File') return true;
  if (volume.fsType === '') return false;
  return (
    volume.isInline ||
    volume.accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod')
  );
}

/** Returns the attributes that tell the driver about the pod, if it wants them. */
export function podAttributes(
  driver: ReadDriver | undefined,
  pod: Pod,
  volume: CsiVolume,
): Readonly<Record<string, string>> {
  if (driver?.spec.podInfoOnMount !== true) return {};
  return {
    'csi.storage.k8s.io/pod.name': pod.metadata.name,
    'csi.storage.k8s.io/pod.namespace': pod.metadata.namespace ?? '',
    'csi.storage.k8s.io/pod.uid': podUid(pod),
    'csi.storage.k8s.io/serviceAccount.name': pod.spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(volume.isInline),
  };
}
