// Makes every container pull its image at each start. The registry then checks the credentials of
// each pod, and no pod uses an image that another user's pod has brought to the node.

import type { Container } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { FieldPath, notSupported } from '#machinery/validation/field.ts';
import { type ImmutablePod, isPodWrite } from '../pod-defaults.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';

type Spec = ImmutablePod['spec'];
type AnyContainer = Pick<Immutable<Container>, 'image' | 'imagePullPolicy'>;

const ALWAYS = 'Always';
const LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

export class AlwaysPullImages implements AdmissionPlugin {
  readonly name = 'AlwaysPullImages';

  concerns(target: AdmissionTarget): boolean {
    return isPodWrite(target);
  }

  handles({ object, oldObject }: AdmissionAttributes): boolean {
    return (
      oldObject === undefined || hasNewImage(object as ImmutablePod, oldObject as ImmutablePod)
    );
  }

  admit({ object }: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const pod = object as ImmutablePod;
    const { spec } = pod;
    const changed = Object.fromEntries(
      LISTS.flatMap((list) =>
        spec[list] === undefined ? [] : [[list, spec[list].map(withPolicy)] as const],
      ),
    );
    const volumes = spec.volumes?.map((volume) =>
      volume.image === undefined
        ? volume
        : { ...volume, image: { ...volume.image, pullPolicy: ALWAYS } },
    );
    return {
      ...pod,
      spec: { ...spec, ...changed, ...(volumes !== undefined && { volumes }) },
    } as KubeObject;
  }

  /** Rejects a policy that a later plugin has set. */
  validate({ object, resource }: AdmissionAttributes): void {
    const { metadata, spec } = object as ImmutablePod;
    const [problem] = [...policies(spec)]
      .filter(([, policy]) => policy !== ALWAYS)
      .map(([path, policy]) => notSupported(path, policy, [ALWAYS]));
    if (problem === undefined) return;
    throw apierrors.forbidden(resource, metadata.name, new Error(problem.message));
  }
}

const withPolicy = <T extends AnyContainer>(container: T): T => ({
  ...container,
  imagePullPolicy: ALWAYS,
});

/** Yields the pull policies of containers and image volumes, with their paths. */
function* policies(spec: Spec): Iterable<readonly [FieldPath, string]> {
  const root = new FieldPath('spec');
  for (const list of LISTS) {
    for (const [index, { imagePullPolicy = '' }] of (spec[list] ?? []).entries())
      yield [root.child(list).index(index).child('imagePullPolicy'), imagePullPolicy];
  }
  for (const [index, { image }] of (spec.volumes ?? []).entries()) {
    if (image !== undefined)
      yield [
        root.child('volumes').index(index).child('image', 'pullPolicy'),
        image.pullPolicy ?? '',
      ];
  }
}

function hasNewImage(pod: ImmutablePod, old: ImmutablePod): boolean {
  const before = new Set(imagesOf(old.spec));
  return imagesOf(pod.spec).some((image) => !before.has(image));
}

const imagesOf = (spec: Spec): readonly (string | undefined)[] =>
  LISTS.flatMap((list) => (spec[list] ?? []).map(({ image }) => image));
