// The objects of the reference CSI driver in the API: its permissions, its CSIDriver and its storage
// classes.

import {
  type ClusterRole,
  type ClusterRoleBinding,
  clusterRoleBindings,
  clusterRoles,
} from '#api/groups/rbac/v1/index.ts';
import {
  type CSIDriver,
  csiDrivers,
  type StorageClass,
  storageClasses,
} from '#api/groups/storage/v1/index.ts';
import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import {
  GROUP_SNAPSHOT_GROUP,
  groupSnapshotDefinitions,
  SNAPSHOT_GROUP,
  snapshotDefinitions,
} from '#controllers/csi/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';

/** The user that the driver's controllers are. */
export const CSI_USER = 'system:coxswain-csi';

const READ = ['get', 'list', 'watch'];
const STORAGE = ['storage.k8s.io'];
const RBAC = 'rbac.authorization.k8s.io';

interface CsiPermissions {
  readonly clusterRole: New<ClusterRole>;
  readonly clusterRoleBinding: New<ClusterRoleBinding>;
}

export const CSI_PERMISSIONS: CsiPermissions = {
  clusterRole: {
    metadata: { name: CSI_USER },
    rules: [
      {
        apiGroups: [''],
        resources: ['persistentvolumes'],
        verbs: [...READ, 'create', 'update', 'patch', 'delete'],
      },
      {
        apiGroups: [''],
        resources: ['persistentvolumeclaims'],
        verbs: [...READ, 'update', 'patch'],
      },
      { apiGroups: [''], resources: ['persistentvolumeclaims/status'], verbs: ['update', 'patch'] },
      { apiGroups: [''], resources: ['nodes'], verbs: READ },
      { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
      { apiGroups: STORAGE, resources: ['csinodes', 'volumeattributesclasses'], verbs: READ },
      {
        apiGroups: STORAGE,
        resources: ['csidrivers', 'storageclasses'],
        verbs: [...READ, 'create'],
      },
      {
        apiGroups: STORAGE,
        resources: ['volumeattachments'],
        verbs: [...READ, 'update', 'patch'],
      },
      {
        apiGroups: STORAGE,
        resources: ['volumeattachments/status'],
        verbs: ['update', 'patch'],
      },
      {
        apiGroups: STORAGE,
        resources: ['csistoragecapacities'],
        verbs: [...READ, 'create', 'update', 'patch', 'delete'],
      },
      {
        apiGroups: [SNAPSHOT_GROUP],
        resources: ['volumesnapshotcontents'],
        verbs: [...READ, 'create', 'update', 'patch', 'delete'],
      },
      {
        apiGroups: [SNAPSHOT_GROUP],
        resources: ['volumesnapshots'],
        verbs: [...READ, 'create', 'update', 'patch', 'delete'],
      },
      {
        apiGroups: [SNAPSHOT_GROUP],
        resources: ['volumesnapshots/status', 'volumesnapshotcontents/status'],
        verbs: ['update', 'patch'],
      },
      { apiGroups: [SNAPSHOT_GROUP], resources: ['volumesnapshotclasses'], verbs: READ },
      {
        apiGroups: [GROUP_SNAPSHOT_GROUP],
        resources: ['volumegroupsnapshotcontents'],
        verbs: [...READ, 'create', 'update', 'patch', 'delete'],
      },
      {
        apiGroups: [GROUP_SNAPSHOT_GROUP],
        resources: ['volumegroupsnapshots'],
        verbs: [...READ, 'update', 'patch'],
      },
      {
        apiGroups: [GROUP_SNAPSHOT_GROUP],
        resources: ['volumegroupsnapshots/status', 'volumegroupsnapshotcontents/status'],
        verbs: ['update', 'patch'],
      },
      { apiGroups: [GROUP_SNAPSHOT_GROUP], resources: ['volumegroupsnapshotclasses'], verbs: READ },
    ],
  },
  clusterRoleBinding: {
    metadata: { name: CSI_USER },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: CSI_USER },
    subjects: [{ kind: 'User', apiGroup: RBAC, name: CSI_USER }],
  },
};

/**
 * Creates the roles, and the API of snapshots unless it exists. A role of an earlier version gets
 * the rules that it lacks. Needs administrator rights.
 */
export async function grantCsiPermissions(client: Client): Promise<void> {
  const { clusterRole, clusterRoleBinding } = CSI_PERMISSIONS;
  try {
    await client.resource(clusterRoles).create(clusterRole);
  } catch (error) {
    if (!apierrors.isAlreadyExists(error)) throw error;
    await addMissingRules(client, clusterRole);
  }
  await apierrors.unlessExists(client.resource(clusterRoleBindings).create(clusterRoleBinding));
  for (const definition of [...snapshotDefinitions, ...groupSnapshotDefinitions])
    await apierrors.unlessExists(client.resource(customResourceDefinitions).create(definition));
}

async function addMissingRules(client: Client, wanted: New<ClusterRole>): Promise<void> {
  const present = (await client.resource(clusterRoles).get(CSI_USER)).rules ?? [];
  const missing = (wanted.rules ?? []).filter(
    (rule) => !present.some((other) => isDeepStrictEqual(rule, other)),
  );
  if (missing.length === 0) return;
  await client
    .resource(clusterRoles)
    .patch(CSI_USER, 'application/merge-patch+json', { rules: [...present, ...missing] });
}

/** Creates the CSIDriver and the storage classes, unless objects of these names exist. */
export async function publishCsiObjects(client: Client, driver: string): Promise<void> {
  await apierrors.unlessExists(client.resource(csiDrivers).create(driverObject(driver)));
  for (const each of classes(driver))
    await apierrors.unlessExists(client.resource(storageClasses).create(each));
}

function driverObject(driver: string): New<CSIDriver> {
  return {
    metadata: { name: driver },
    spec: {
      // Volumes are on their node already.
      attachRequired: false,
      podInfoOnMount: true,
      fsGroupPolicy: 'File',
      storageCapacity: true,
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
    },
  };
}

function classes(driver: string): readonly New<StorageClass>[] {
  const common = {
    provisioner: driver,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  } as const;
  return [
    { ...common, metadata: { name: 'csi-directory' }, parameters: { backing: 'directory' } },
    { ...common, metadata: { name: 'csi-image' }, parameters: { backing: 'image' } },
  ];
}
