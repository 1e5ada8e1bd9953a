// The permissions of nodes in addition to those of upstream's kubelets: reading all Nodes. As
// objects that an administrator can apply.

import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';

const NAME = 'coxswain:pod-network';

export const POD_NETWORK_PERMISSIONS = {
  clusterRole: {
    metadata: { name: NAME },
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list', 'watch'] }],
  },
  clusterRoleBinding: {
    metadata: { name: NAME },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:nodes' }],
  },
};

/** Creates the roles. Needs administrator rights. Existing objects are kept. */
export async function grantPodNetworkPermissions(client: Client): Promise<void> {
  const { clusterRole, clusterRoleBinding } = POD_NETWORK_PERMISSIONS;
  await Promise.all([
    apierrors.unlessExists(client.resource(clusterRoles).create(clusterRole)),
    apierrors.unlessExists(client.resource(clusterRoleBindings).create(clusterRoleBinding)),
  ]);
}
