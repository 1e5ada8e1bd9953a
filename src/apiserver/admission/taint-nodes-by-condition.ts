// Adds the not-ready taint to a new node, so that it gets no pods until the node controller has
// seen that it is ready and removes the taint.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from './plugin.ts';

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const;

export class TaintNodesByCondition implements AdmissionPlugin {
  readonly name = 'TaintNodesByCondition';

  concerns({ operation, resource, subresource }: AdmissionTarget): boolean {
    return (
      operation === 'CREATE' &&
      resource.group === '' &&
      resource.resource === 'nodes' &&
      subresource === ''
    );
  }

  admit({ object }: AdmissionAttributes & { readonly object: KubeObject }): KubeObject {
    const node = object as Immutable<Node>;
    const taints = node.spec.taints ?? [];
    if (taints.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect))
      return object;
    const tainted: Immutable<Node> = {
      ...node,
      spec: { ...node.spec, taints: [...taints, NOT_READY] },
    };
    return tainted;
  }
}
