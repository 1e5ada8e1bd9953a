// The subresources that change the spec of a running pod. ephemeralcontainers adds debug
// containers; resize changes the requests and limits of containers. Other fields that the client
// sends are ignored.

import { withoutDisabledPodFields } from '#api/groups/core/v1/disabled-pod-fields.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validatePodEphemeralContainersUpdate,
  validatePodResize,
} from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import type { Pod } from './pod.ts';

type Container = Immutable<core.Container>;

const specChanged = (pod: Pod, old: Pod): boolean => !semanticEqual(pod.spec, old.spec);

export const ephemeralContainersStrategy: SubresourceStrategy<Pod> = {
  resetFields: [['status']],
  generation: specChanged,
  prepareForUpdate(pod, old) {
    const { ephemeralContainers: _, ...spec } = old.spec;
    const { ephemeralContainers } = pod.spec;
    const changed = { ...spec, ...(ephemeralContainers !== undefined && { ephemeralContainers }) };
    return withSpec(pod, old, withoutDisabledPodFields(changed, old.spec));
  },
  validateUpdate: validatePodEphemeralContainersUpdate,
};

export const resizeStrategy: SubresourceStrategy<Pod> = {
  resetFields: [['status']],
  generation: specChanged,
  prepareForUpdate(pod, old) {
    const [now, before] = [pod.spec, old.spec];
    const sameLength = (list: 'containers' | 'initContainers'): boolean =>
      now[list]?.length === before[list]?.length;
    // The pod is passed on unchanged, because validation rejects it.
    if (!sameLength('containers') || !sameLength('initContainers')) return pod;
    const { resources: _, ...spec } = before;
    return withSpec(pod, old, {
      ...spec,
      containers: resized(now.containers, before.containers),
      ...(before.initContainers !== undefined && {
        initContainers: resized(now.initContainers ?? [], before.initContainers),
      }),
      ...(now.resources !== undefined && { resources: now.resources }),
    });
  },
  validateUpdate: validatePodResize,
};

/**
 * Returns the old containers with the new resources and policies; the new containers if their names
 * differ, which validation rejects.
 */
function resized(now: readonly Container[], before: readonly Container[]): readonly Container[] {
  if (now.some(({ name }, index) => name !== before[index]?.name)) return now;
  return before.map((container, index) => {
    const { resizePolicy: _, ...kept } = container;
    const { resources, resizePolicy } = now[index]!;
    return { ...kept, resources, ...(resizePolicy !== undefined && { resizePolicy }) };
  });
}

/** Returns the old pod with the new spec and the new managed fields. */
function withSpec(pod: Pod, old: Pod, spec: Pod['spec']): Pod {
  const { managedFields, resourceVersion } = pod.metadata;
  const { managedFields: _, ...metadata } = old.metadata;
  return {
    ...old,
    metadata: {
      ...metadata,
      resourceVersion,
      ...(managedFields !== undefined && { managedFields }),
    },
    spec,
  };
}
