// Decides which updates of a pod are evaluated. Of the fields that the standards restrict, an
// update can only change images and add ephemeral containers.

import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ImmutablePod = Immutable<Pod>;
type Images = readonly { readonly name: string; readonly image?: string }[];

export function isSignificantUpdate(pod: ImmutablePod, old: ImmutablePod): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  if (
    !sameImages(containers, old.spec.containers) ||
    !sameImages(initContainers, old.spec.initContainers ?? [])
  )
    return true;
  const before = old.spec.ephemeralContainers ?? [];
  return ephemeralContainers.some(({ name, image }) => {
    const oldContainer = before.find((each) => each.name === name);
    return oldContainer === undefined || oldContainer.image !== image;
  });
}

function sameImages(containers: Images, old: Images): boolean {
  return (
    containers.length === old.length &&
    containers.every(({ image }, index) => image === old[index]?.image)
  );
}
