// What several plugins ask about pods.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionTarget } from './plugin.ts';

export type ImmutablePod = Immutable<Pod>;

/** A pod itself is written, not one of its subresources. */
export function isPodWrite({ resource, subresource, operation }: AdmissionTarget): boolean {
  return (
    resource.resource === 'pods' &&
    resource.group === '' &&
    subresource === '' &&
    (operation === 'CREATE' || operation === 'UPDATE')
  );
}

/** The API's image of a pod that a kubelet runs from a file. */
export function isMirrorPod(pod: ImmutablePod): boolean {
  return pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}
