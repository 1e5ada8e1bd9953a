// The resource nodes.

import { nodes } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { validateNode, validateNodeUpdate } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { nodeProxySubresource } from '#apiserver/endpoint-proxy/proxy.ts';
import type { NodeProxyServices } from '#apiserver/node-proxy/subresources.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, joined } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Node = Immutable<core.Node>;

/**
 * Returns the node without configSource, since dynamic kubelet configuration was removed. A stored
 * one stays.
 */
function withoutConfigSource(node: Node, old?: Node): Node {
  if (node.spec.configSource === undefined || old?.spec.configSource !== undefined) return node;
  const { configSource: _, ...spec } = node.spec;
  return { ...node, spec };
}

function withoutConfigStatus(node: Node, old?: Node): Node {
  if (node.status.config === undefined || old?.status.config !== undefined) return node;
  const { config: _, ...status } = node.status;
  return { ...node, status };
}

function warnings({ spec }: Node): string[] {
  const texts: string[] = [];
  if (spec.configSource !== undefined) texts.push('spec.configSource: the feature is removed');
  if ((spec.externalID ?? '') !== '')
    texts.push('spec.externalID: this field is deprecated, and is unused by Kubernetes');
  return texts;
}

/**
 * The rules for nodes. A new node keeps its status, because a kubelet registers its node with it.
 */
const nodeStrategy: ResourceStrategy<Node> = {
  prepareForCreate: (node) => withoutConfigStatus(withoutConfigSource(node)),
  validate: (node) => validateNode(node),
  warningsOnCreate: warnings,
  prepareForUpdate: (node, old) => withoutConfigSource({ ...node, status: old.status }, old),
  // Some checks are in both sets of rules, and each one has its own cause, as upstream.
  validateUpdate: (node, old) => [...validateNode(node), ...validateNodeUpdate(node, old)],
  warningsOnUpdate: warnings,
};

const nodeStatusStrategy: SubresourceStrategy<Node> = {
  prepareForUpdate: (node, old) => withoutConfigStatus({ ...node, spec: old.spec }, old),
  validateUpdate: (node, old) => validateNodeUpdate(node, old),
};

const ROLE_PREFIX = 'node-role.kubernetes.io/';

export const nodeTable: TableConvertor<Node> = {
  columns: [
    NAME,
    column('Status', 'Whether the node is ready, and whether pods may be scheduled to it.'),
    column('Roles', 'Roles of the node, from its labels.'),
    AGE,
    column('Version', 'Version of the kubelet.'),
    column('Internal-IP', 'Address within the cluster.', { wide: true }),
    column('External-IP', 'Address outside of the cluster.', { wide: true }),
    column('OS-Image', 'Operating system.', { wide: true }),
    column('Kernel-Version', 'Version of the kernel.', { wide: true }),
    column('Container-Runtime', 'Runtime of the containers, and its version.', { wide: true }),
  ],
  cells(node, now) {
    const { nodeInfo } = node.status;
    return [
      node.metadata.name,
      statusOf(node),
      joined(rolesOf(node)),
      since(node.metadata.creationTimestamp, now),
      nodeInfo?.kubeletVersion ?? '',
      addressOf(node, 'InternalIP'),
      addressOf(node, 'ExternalIP'),
      orUnknown(nodeInfo?.osImage),
      orUnknown(nodeInfo?.kernelVersion),
      orUnknown(nodeInfo?.containerRuntimeVersion),
    ];
  },
};

function statusOf(node: Node): string {
  const ready = node.status.conditions?.find((condition) => condition.type === 'Ready');
  const parts = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (node.spec.unschedulable === true) parts.push('SchedulingDisabled');
  return parts.join(',');
}

function rolesOf(node: Node): string[] {
  const roles = Object.entries(node.metadata.labels ?? {}).flatMap(([key, value]) => {
    if (key.startsWith(ROLE_PREFIX))
      return key.length > ROLE_PREFIX.length ? [key.slice(ROLE_PREFIX.length)] : [];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return [...new Set(roles)].sort();
}

function addressOf(node: Node, type: string): string {
  return node.status.addresses?.find((address) => address.type === type)?.address ?? '<none>';
}

const orUnknown = (text: string | undefined): string =>
  text === undefined || text === '' ? '<unknown>' : text;

export const nodeKind = defineKind<Node, StoreServices & NodeProxyServices>({
  type: nodes,
  strategy: nodeStrategy,
  selectableFields: { 'spec.unschedulable': ({ spec }) => String(spec.unschedulable ?? false) },
  table: nodeTable,
  subresources: {
    status: { strategy: nodeStatusStrategy },
    proxy: ({ services }) => nodeProxySubresource(services),
  },
});
