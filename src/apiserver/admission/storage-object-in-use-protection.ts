// Volumes, claims and attributes classes are made with the finalizer that keeps them for as long as something uses them.

import type { KubeObject } from '../../client/client.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const FINALIZERS: ReadonlyMap<string, string> = new Map([
  ['/persistentvolumes', 'kubernetes.io/pv-protection'],
  ['/persistentvolumeclaims', 'kubernetes.io/pvc-protection'],
  ['storage.k8s.io/volumeattributesclasses', 'kubernetes.io/vac-protection'],
]);

export class StorageObjectInUseProtection implements AdmissionPlugin {
  readonly name = 'StorageObjectInUseProtection';

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && attributes.subresource === '' && finalizerOf(attributes) !== undefined;
  }

  admit(attributes: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const { object } = attributes;
    const finalizer = finalizerOf(attributes);
    const { finalizers = [] } = object.metadata;
    if (finalizer === undefined || finalizers.includes(finalizer)) return object;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
  }
}

function finalizerOf({ resource: { group, resource } }: AdmissionAttributes): string | undefined {
  return FINALIZERS.get(`${group}/${resource}`);
}
