// The resource nodes.

import type * as core from '../../../../api/core/v1/index.ts';
import { nodes } from '../../../../api/core/v1/index.ts';
import { validateNode, validateNodeUpdate } from '../../../../api/core/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { nodeProxySubresource } from '../../../node-proxy/subresources.ts';
import { nodeTable } from '../../../printers/node.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../../strategy.ts';

type Node = Immutable<core.Node>;

/** A kubelet registers its node with its status: it is kept on creation. */
export const nodeStrategy: ResourceStrategy<Node> = {
  validate: (node) => validateNode(node),
  prepareForUpdate: (node, old) => ({ ...node, status: old.status }),
  validateUpdate: (node, old) => validateNodeUpdate(node, old),
  selectableFieldNames: ['spec.unschedulable'],
  selectableFields: (node) => ({ 'spec.unschedulable': String(node.spec.unschedulable ?? false) }),
};

const nodeStatusStrategy: SubresourceStrategy<Node> = {
  prepareForUpdate: (node, old) => ({ ...node, spec: old.spec }),
  validateUpdate: (node, old) => validateNodeUpdate(node, old),
};

export function nodeResource(services: RegistryServices): ServedResource {
  const store = new ResourceStore<Node>({ ...services, type: nodes, strategy: nodeStrategy });
  return {
    type: nodes,
    rest: store,
    table: nodeTable,
    subresources: [
      { name: 'status', kind: { group: '', version: 'v1', kind: 'Node' }, rest: store.view(nodeStatusStrategy) },
      nodeProxySubresource(services),
    ],
  };
}
