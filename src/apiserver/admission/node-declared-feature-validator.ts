// Rejects an update of a pod that needs an optional feature of the kubelet, where the pod's node does
// not declare it (upstream's component-helpers/nodedeclaredfeatures). What a new pod needs is the
// scheduler's to decide.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import type { ImmutablePod } from './pod-defaults.ts';
import { changesBoundPod, isPodResize, refusal, withNodeOf } from './pod-resize.ts';
import type { AdmissionServices } from './services.ts';

type Needs = (before: ImmutablePod['spec'], after: ImmutablePod['spec']) => boolean;

/** By feature that an update may need: reports whether it does. */
const FEATURES: Readonly<Record<string, Needs>> = {
  InPlacePodLevelResourcesVerticalScaling: (before, after) =>
    !deepEqual(before.resources, after.resources),
  InPlacePodVerticalScalingInitContainers: ({ initContainers = [] }, after) =>
    initContainers.some(
      ({ restartPolicy, resources }, index) =>
        restartPolicy !== 'Always' &&
        !deepEqual(resources, after.initContainers?.[index]?.resources),
    ),
};

export class NodeDeclaredFeatureValidator implements AdmissionPlugin {
  readonly name = 'NodeDeclaredFeatureValidator';
  readonly #find: AdmissionServices['find'];

  constructor({ find }: Pick<AdmissionServices, 'find'>) {
    this.#find = find;
  }

  /** An update of the pod itself changes none of what the features are about. */
  concerns(target: AdmissionTarget): boolean {
    return isPodResize(target);
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    if (!changesBoundPod(attributes)) return undefined;
    const before = (attributes.oldObject as ImmutablePod).spec;
    const after = (attributes.object as ImmutablePod).spec;
    const needed = Object.keys(FEATURES).filter((name) => FEATURES[name]?.(before, after));
    if (needed.length === 0) return undefined;
    return withNodeOf(attributes, this.#find, (node) => check(attributes, needed, node));
  }
}

function check(
  attributes: AdmissionAttributes,
  needed: readonly string[],
  { metadata: { name }, status }: Immutable<Node>,
): void {
  const missing = needed.filter((feature) => !status.declaredFeatures?.includes(feature));
  if (missing.length === 0) return;
  const features = missing.join(', ');
  throw refusal(
    attributes,
    `pod update requires features ${features} which are not available on node ${JSON.stringify(name)}`,
  );
}
