// Rejects an update of a pod that needs an optional feature of the kubelet, where the pod's node does
// not declare it (upstream's component-helpers/nodedeclaredfeatures). What a new pod needs is the
// scheduler's to decide.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import type { ImmutablePod } from './pod-defaults.ts';
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
  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    return (
      operation === 'UPDATE' &&
      resource.group === '' &&
      resource.resource === 'pods' &&
      subresource === 'resize'
    );
  }

  validate(attributes: AdmissionAttributes): Awaitable<void> {
    const pod = attributes.object as ImmutablePod;
    const before = attributes.oldObject as ImmutablePod;
    const { nodeName } = pod.spec;
    if (nodeName === undefined || before.metadata.generation === pod.metadata.generation)
      return undefined;
    const needed = Object.keys(FEATURES).filter((name) => FEATURES[name]?.(before.spec, pod.spec));
    if (needed.length === 0) return undefined;
    return andThen(this.#find<Immutable<Node>>('', 'nodes', '', nodeName), (node) =>
      check(attributes, needed, nodeName, node),
    );
  }
}

function check(
  { resource, name }: AdmissionAttributes,
  needed: readonly string[],
  nodeName: string,
  node: Immutable<Node> | undefined,
): void {
  const quoted = JSON.stringify(nodeName);
  if (node === undefined) throw apierrors.forbidden(resource, name, `node ${quoted} not found`);
  const missing = needed.filter((feature) => !node.status.declaredFeatures?.includes(feature));
  if (missing.length === 0) return;
  const why = `pod update requires features ${missing.join(', ')} which are not available on node ${quoted}`;
  throw apierrors.forbidden(resource, name, why);
}
