// Adds the protection finalizer to new volumes, claims and volume attributes classes, so that they
// are not deleted while they are in use.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

const FINALIZERS: ReadonlyMap<string, string> = new Map([
  ['/persistentvolumes', 'kubernetes.io/pv-protection'],
  ['/persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['storage.k8s.io/volumeattributesclasses', 'kubernetes.io/vac-protection'],
]);

export class StorageObjectInUseProtection implements AdmissionPlugin {
  readonly name = 'StorageObjectInUseProtection';

  concerns(target: AdmissionTarget): boolean {
    return (
      target.operation === 'CREATE' &&
      target.subresource === '' &&
      finalizerOf(target) !== undefined
    );
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const { object } = attributes;
    const finalizer = finalizerOf(attributes);
    const { finalizers = [] } = object.metadata;
    if (finalizer === undefined || finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
  }
}

function finalizerOf({ resource: { group, resource } }: AdmissionTarget): string | undefined {
  return FINALIZERS.get(`${group}/${resource}`);
}
