// Lets pods that request an extended resource run on the nodes that are reserved for it: those with a
// taint of the resource's name.

import { isExtendedResourceName } from '#api/groups/core/v1/extended-resource.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';

type Toleration = NonNullable<ImmutablePod['spec']['tolerations']>[number];

export class ExtendedResourceToleration implements AdmissionPlugin {
  readonly name = 'ExtendedResourceToleration';

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target);
  }

  admit({ object }: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const pod = object as ImmutablePod;
    const { containers, initContainers = [], tolerations = [] } = pod.spec;
    const names = [...containers, ...initContainers]
      .flatMap(({ resources }) => Object.keys(resources.requests ?? {}))
      .filter(isExtendedResourceName);
    const added = [...new Set(names)].toSorted();
    if (added.length === 0) return object;
    const changed: ImmutablePod = {
      ...pod,
      spec: { ...pod.spec, tolerations: added.reduce(withToleration, tolerations) },
    };
    return changed;
  }
}

/** Returns the list with the toleration, instead of others for the same taint. */
function withToleration(tolerations: readonly Toleration[], key: string): readonly Toleration[] {
  const added: Toleration = { key, operator: 'Exists', effect: 'NoSchedule' };
  const isSame = (each: Toleration): boolean =>
    each.key === key &&
    each.operator === 'Exists' &&
    each.effect === 'NoSchedule' &&
    (each.value ?? '') === '';
  if (tolerations.some((each) => semanticEqual(each, added))) return tolerations;
  return tolerations.some(isSame)
    ? tolerations.map((each) => (isSame(each) ? added : each))
    : [...tolerations, added];
}
