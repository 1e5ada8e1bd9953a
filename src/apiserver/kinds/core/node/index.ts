// The resource nodes.

import type * as core from '#api/groups/core/v1/index.ts';
import { nodes } from '#api/groups/core/v1/index.ts';
import { validateNode, validateNodeUpdate } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { nodeProxySubresource } from '#apiserver/node-proxy/subresources.ts';
import { nodeTable } from '#apiserver/printers/node.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type Node = Immutable<core.Node>;

/** Kubelets are no longer configured through their nodes. What names such a configuration still keeps it. */
function withoutConfigSource(node: Node, old?: Node): Node {
  if (node.spec.configSource === undefined || old?.spec.configSource !== undefined) return node;
  const { configSource: _, ...spec } = node.spec;
  return { ...node, spec };
}

function withoutConfigStatus(node: Node, old: Node): Node {
  if (node.status.config === undefined || old.status.config !== undefined) return node;
  const { config: _, ...status } = node.status;
  return { ...node, status };
}

function warnings({ spec }: Node): string[] {
  const found: string[] = [];
  if (spec.configSource !== undefined) found.push('spec.configSource: the feature is removed');
  if ((spec.externalID ?? '') !== '') found.push('spec.externalID: this field is deprecated, and is unused by Kubernetes');
  return found;
}

/** A kubelet registers its node with its status: it is kept on creation. */
export const nodeStrategy: ResourceStrategy<Node> = {
  prepareForCreate: (node) => withoutConfigSource(node),
  validate: (node) => validateNode(node),
  warningsOnCreate: warnings,
  prepareForUpdate: (node, old) => withoutConfigSource({ ...node, status: old.status }, old),
  // Both sets of rules have some in common: a cause for each.
  validateUpdate: (node, old) => [...validateNode(node), ...validateNodeUpdate(node, old)],
  warningsOnUpdate: warnings,
  selectableFieldNames: ['spec.unschedulable'],
  selectableFields: (node) => ({ 'spec.unschedulable': String(node.spec.unschedulable ?? false) }),
};

const nodeStatusStrategy: SubresourceStrategy<Node> = {
  prepareForUpdate: (node, old) => withoutConfigStatus({ ...node, spec: old.spec }, old),
  validateUpdate: (node, old) => validateNodeUpdate(node, old),
};

export function nodeResource(services: RegistryServices): Kind {
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
