// In-tree plugins of clouds that are gone: what names them is meant for the CSI drivers that have replaced them.

import type { PersistentVolume } from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import { MIGRATED_TO, PROVISIONED_BY } from './names.ts';

type ReadVolume = Immutable<PersistentVolume>;

const DRIVERS: ReadonlyMap<string, string> = new Map([
  ['kubernetes.io/aws-ebs', 'ebs.csi.aws.com'],
  ['kubernetes.io/azure-disk', 'disk.csi.azure.com'],
  ['kubernetes.io/azure-file', 'file.csi.azure.com'],
  ['kubernetes.io/cinder', 'cinder.csi.openstack.org'],
  ['kubernetes.io/gce-pd', 'pd.csi.storage.gke.io'],
  ['kubernetes.io/portworx-volume', 'pxd.portworx.com'],
  ['kubernetes.io/vsphere-volume', 'csi.vsphere.vmware.com'],
]);
const IN_TREE = 'kubernetes.io/';

/** Who provisions for a class that names this provisioner; undefined for plugins that there are none of. */
export function provisionerOf(name: string): string | undefined {
  return DRIVERS.get(name) ?? (name.startsWith(IN_TREE) ? undefined : name);
}

/** A volume that an in-tree plugin has made says which driver it belongs to now. The very same volume if nothing is to change. */
export function migratedVolume(volume: ReadVolume): ReadVolume {
  const { annotations = {} } = volume.metadata;
  const provisioner = annotations[PROVISIONED_BY];
  const driver = provisioner === undefined ? undefined : DRIVERS.get(provisioner);
  if (provisioner === undefined || annotations[MIGRATED_TO] === driver) return volume;
  const { [MIGRATED_TO]: _, ...others } = annotations;
  const changed = driver === undefined ? others : { ...others, [MIGRATED_TO]: driver };
  return { ...volume, metadata: { ...volume.metadata, annotations: changed } };
}

/** Somebody else has provisioned it, and deletes it. */
export function isExternal({ metadata, spec }: ReadVolume): boolean {
  const { [PROVISIONED_BY]: provisioner = '', [MIGRATED_TO]: driver = '' } = metadata.annotations ?? {};
  if (driver !== '') return true;
  return provisioner === '' ? spec.csi !== undefined : !provisioner.startsWith(IN_TREE);
}
