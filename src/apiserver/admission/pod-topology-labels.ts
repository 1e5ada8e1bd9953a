// A pod says where it runs: as it comes to its node, the zone and the region of that become labels of the pod, from where the downward
// API hands them on to its containers. What the pod says otherwise does not count.

import type { Binding as MutableBinding, Node } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { mergedMap } from '#machinery/collections/string-map.ts';
import type { AdmissionServices } from './services.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';
import type { ImmutablePod } from './pod-defaults.ts';

type Binding = Immutable<MutableBinding>;
type Labels = Readonly<Record<string, string>>;

const ZONE = 'topology.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';

export class PodTopologyLabels implements AdmissionPlugin {
  readonly name = 'PodTopologyLabels';
  readonly #find: AdmissionServices['find'];

  constructor({ find }: Pick<AdmissionServices, 'find'>) {
    this.#find = find;
  }

  /** The older way to bind a pod, through the resource bindings, leaves it as it is. */
  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    const isPods = resource.group === '' && resource.resource === 'pods';
    return operation === 'CREATE' && isPods && (subresource === '' || subresource === 'binding');
  }

  admit({
    object,
    subresource,
  }: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject> {
    const name =
      subresource === ''
        ? (object as ImmutablePod).spec.nodeName
        : nodeOfBinding(object as Binding);
    if (name === undefined) return object;
    return andThen(this.#find<Immutable<Node>>('', 'nodes', '', name), (node) =>
      withLabels(object, node?.metadata.labels),
    );
  }
}

function nodeOfBinding({ target }: Binding): string | undefined {
  return target.kind === 'Node' ? target.name : undefined;
}

/** A binding's labels become those of its pod. */
function withLabels(object: KubeObject, ofNode: Labels | undefined): KubeObject {
  const zone = ofNode?.[ZONE];
  const region = ofNode?.[REGION];
  if (zone === undefined && region === undefined) return object;
  const labels = mergedMap(object.metadata.labels, {
    ...(zone !== undefined && { [ZONE]: zone }),
    ...(region !== undefined && { [REGION]: region }),
  });
  return { ...object, metadata: { ...object.metadata, labels } };
}
