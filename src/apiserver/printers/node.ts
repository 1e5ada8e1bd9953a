// The table of nodes.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, joined, NAME } from '../tables/columns.ts';

type Node = Immutable<core.Node>;

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
    if (key.startsWith(ROLE_PREFIX)) return key.length > ROLE_PREFIX.length ? [key.slice(ROLE_PREFIX.length)] : [];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return [...new Set(roles)].sort();
}

function addressOf(node: Node, type: string): string {
  return node.status.addresses?.find((address) => address.type === type)?.address ?? '<none>';
}

const orUnknown = (text: string | undefined): string => (text === undefined || text === '' ? '<unknown>' : text);
