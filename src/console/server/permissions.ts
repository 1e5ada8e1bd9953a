// The permissions of every authenticated user at the console's own paths: sign in with an identity that it
// has, and have objects explained that it may read. As objects that an administrator can change.

import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';

const NAME = 'coxswain:console';

export const CONSOLE_PERMISSIONS = {
  clusterRole: {
    metadata: { name: NAME },
    rules: [
      { nonResourceURLs: ['/console/codes'], verbs: ['post'] },
      {
        nonResourceURLs: ['features', 'timeline', 'why'].map((name) => `/console/api/${name}`),
        verbs: ['get'],
      },
    ],
  },
  clusterRoleBinding: {
    metadata: { name: NAME },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' },
    ],
  },
};

/** Creates the roles. Needs administrator rights. Existing objects are kept. */
export async function grantConsolePermissions(client: Client): Promise<void> {
  const { clusterRole, clusterRoleBinding } = CONSOLE_PERMISSIONS;
  await Promise.all([
    apierrors.unlessExists(client.resource(clusterRoles).create(clusterRole)),
    apierrors.unlessExists(client.resource(clusterRoleBindings).create(clusterRoleBinding)),
  ]);
}
