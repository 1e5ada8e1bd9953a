// The role `cox csi-driver`: the reference CSI driver on this node, with the controllers that provision
// its volumes.

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import { checkCanMount } from '../csi/check-can-mount.ts';
import { groupSnapshotDefinitions, snapshotDefinitions } from '#controllers/csi/index.ts';
import { CSI_PERMISSIONS } from '../csi/csi-objects.ts';
import { runCsiDriver } from '../csi/run-csi-driver.ts';
import { clientFor, type RoleConfig, type RunningRole, supervised } from './role.ts';
import { readKubeconfig } from '../flags/flag-files.ts';

export interface CsiDriverRoleConfig extends RoleConfig {
  /** The identity of the controllers, and the address of the API server. */
  readonly kubeconfig: string;
  /** The root directory of the node's kubelet. */
  readonly rootDir: string;
  /** The directory of volumes and snapshots. */
  readonly volumesDir: string;
  /** Default: the machine's name. */
  readonly nodeName?: string;
  /** Default: any number. */
  readonly maxVolumes?: number;
}

/** Starts the driver. Rejects with UserError for a problem that the user can solve. */
export async function startCsiDriverRole(config: CsiDriverRoleConfig): Promise<RunningRole> {
  const { clock, random, rootDir, volumesDir, maxVolumes } = config;
  const logger = config.logger.with({ component: 'csi-driver' });
  checkCanMount('cox csi-driver');
  const access = await readKubeconfig('--kubeconfig', config.kubeconfig);
  const nodeName = config.nodeName ?? hostname().toLowerCase();
  const running = supervised('CSI driver', (signal) =>
    runCsiDriver(
      {
        client: clientFor(access, 'coxswain-csi', config),
        clock,
        random,
        logger,
        nodeName,
        kubeletDir: resolve(rootDir),
        directory: resolve(volumesDir),
        ...(maxVolumes !== undefined && { maxVolumes }),
        onStarted: () => logger.info('CSI driver is ready'),
      },
      signal,
    ),
  );
  return {
    ...running,
    description: `CSI driver of node ${nodeName} for ${access.server}, volumes in ${resolve(volumesDir)}`,
  };
}

/** Returns the objects that allow the user of this role to do what it does, as YAML for an administrator to apply. */
export async function csiPermissionsYaml(): Promise<string> {
  const { clusterRole, clusterRoleBinding } = CSI_PERMISSIONS;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const objects = [
    { apiVersion, kind: 'ClusterRole', ...clusterRole },
    { apiVersion, kind: 'ClusterRoleBinding', ...clusterRoleBinding },
    ...snapshotDefinitions,
    ...groupSnapshotDefinitions,
  ];
  return (await Promise.all(objects.map((object) => formatYamlLazily(object)))).join('---\n');
}
