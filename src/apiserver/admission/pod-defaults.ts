// Questions about pods that several plugins share.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionTarget } from './plugin.ts';

export type ImmutablePod = Immutable<Pod>;

/** Reports whether a write is of a pod itself, not of a subresource. */
export function isPodWrite({ resource, subresource, operation }: AdmissionTarget): boolean {
  return (
    resource.resource === 'pods' &&
    resource.group === '' &&
    subresource === '' &&
    (operation === 'CREATE' || operation === 'UPDATE')
  );
}

/** Reports whether the request changes the resources of a pod in place. */
export function isPodResize({ resource, subresource, operation }: AdmissionTarget): boolean {
  return (
    resource.resource === 'pods' &&
    resource.group === '' &&
    subresource === 'resize' &&
    operation === 'UPDATE'
  );
}

/** Reports whether a pod is the mirror of a static pod, which a kubelet runs from a file. */
export function isMirrorPod(pod: ImmutablePod): boolean {
  return pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
}
