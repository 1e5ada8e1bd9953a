// Labels a pod with the zone and the region of its node when it is bound, so that the downward API
// can pass them to its containers. Labels that the pod had before are overwritten.

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

  /** Pods that are bound through the old resource `bindings` get no labels, as upstream. */
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

/** Adds the labels of the node to a binding, which copies them to its pod. */
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
