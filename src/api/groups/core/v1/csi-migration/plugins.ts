// The in-tree volume plugins that CSI drivers have replaced: their names, their drivers, and the
// translation of a volume for the driver. The rules are those of k8s.io/csi-translation-lib.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { CSIPersistentVolumeSource, PersistentVolume, Volume } from '../index.ts';

type ReadVolume = Immutable<PersistentVolume>;
type Source = Immutable<CSIPersistentVolumeSource>;
type AccessModes = NonNullable<ReadVolume['spec']['accessModes']>;

/** The volume has a value that the driver does not support. */
export class CsiMigrationError extends Error {
  override readonly name = 'CsiMigrationError';
}

export interface Translation {
  readonly csi: Source;
  /** Absent: the volume's own access modes. */
  readonly accessModes?: AccessModes;
}

/** The fields of volumes and pods that configure a plugin. */
type SourceField =
  | 'awsElasticBlockStore'
  | 'azureDisk'
  | 'azureFile'
  | 'cinder'
  | 'gcePersistentDisk'
  | 'portworxVolume'
  | 'vsphereVolume';

export interface InTreePlugin {
  readonly field: SourceField;
  readonly name: string;
  readonly driver: string;
  /** The driver's labels of nodes for their topology, which replace Kubernetes' own. */
  readonly topology?: { readonly zone: string; readonly region?: string };
  /**
   * Translates a persistent volume. Undefined: the volume is not of this plugin. Throws
   * CsiMigrationError.
   */
  readonly persistent: (volume: ReadVolume) => Translation | undefined;
  /**
   * Translates a volume in a pod's spec, which has its own access modes. Otherwise equal to
   * `persistent`.
   */
  readonly inline: (
    volume: Immutable<Volume>,
    namespace: string,
  ) => Required<Translation> | undefined;
}

export const ZONE = 'topology.kubernetes.io/zone';
export const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone';
/** The separator of the zones in the label of a volume in several zones. */
export const ZONE_SEPARATOR = '__';

const ONCE: AccessModes = ['ReadWriteOnce'];
const READERS: AccessModes = ['ReadOnlyMany'];

/** Returns the source without its empty fields. */
function source(
  driver: string,
  volumeHandle: string,
  {
    readOnly,
    fsType,
  }: { readonly readOnly?: boolean | undefined; readonly fsType?: string | undefined },
  volumeAttributes: Readonly<Record<string, string>> = {},
): Source {
  return {
    driver,
    volumeHandle,
    ...(readOnly === true && { readOnly }),
    ...(fsType !== undefined && fsType !== '' && { fsType }),
    ...(Object.keys(volumeAttributes).length > 0 && { volumeAttributes }),
  };
}

/** Returns the translations of a plugin that are equal for both kinds of volumes. */
function alike<K extends SourceField>(
  key: K,
  translate: (
    said: NonNullable<Immutable<Volume>[K]> & NonNullable<ReadVolume['spec'][K]>,
  ) => Source,
  modes: (csi: Source, readOnly: boolean) => AccessModes = () => ONCE,
): Pick<InTreePlugin, 'persistent' | 'inline'> {
  type Said = NonNullable<Immutable<Volume>[K]> & NonNullable<ReadVolume['spec'][K]>;
  return {
    persistent: ({ spec }) => {
      const pluginSource = spec[key] as Said | undefined;
      return pluginSource === undefined ? undefined : { csi: translate(pluginSource) };
    },
    inline: (volume) => {
      const pluginSource = volume[key] as Said | undefined;
      if (pluginSource === undefined) return undefined;
      const csi = translate(pluginSource);
      return {
        csi,
        accessModes: modes(
          csi,
          (pluginSource as { readonly readOnly?: boolean }).readOnly === true,
        ),
      };
    },
  };
}

const EBS = 'ebs.csi.aws.com';
const GCE = 'pd.csi.storage.gke.io';
const AZURE_DISK = 'disk.csi.azure.com';
const AZURE_FILE = 'file.csi.azure.com';
const CINDER = 'cinder.csi.openstack.org';
const VSPHERE = 'csi.vsphere.vmware.com';
const PORTWORX = 'pxd.portworx.com';

/** Returns the handle for `aws://ZONE/vol-1`, `aws:///vol-1`, or the disk's own `vol-1`. */
function ebsHandle(volumeID: string): string {
  if (!volumeID.startsWith('aws://')) return volumeID;
  const path = volumeID.slice('aws://'.length);
  const slash = path.indexOf('/');
  const disk = slash < 0 ? '' : path.slice(slash).replace(/^\/+|(?<!\/)\/+$/g, '');
  if (/^vol-[^/]*$/.test(disk)) return disk;
  throw new CsiMigrationError(
    `failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (${volumeID})`,
  );
}

const UNKNOWN = 'UNSPECIFIED';

function gceSource(
  said: NonNullable<Immutable<Volume>['gcePersistentDisk']>,
  place: string,
): Source {
  const partition =
    said.partition === undefined || said.partition === 0 ? '' : String(said.partition);
  return source(GCE, `projects/${UNKNOWN}/${place}/disks/${said.pdName}`, said, { partition });
}

/** Returns the zone in the labels, or the region of several zones. */
function gcePlace({ metadata: { labels = {} } }: ReadVolume): string {
  const zones = (labels[BETA_ZONE] || labels[ZONE] || UNKNOWN).split(ZONE_SEPARATOR);
  if (zones.length === 1) return `zones/${zones[0]}`;
  const regions = new Set<string>();
  for (const zone of zones) {
    const parts = zone.split('-');
    if (parts.length !== 3) {
      const expected = `zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`;
      throw new CsiMigrationError(`failed to get region from zones: ${expected}`);
    }
    regions.add(`${parts[0]}-${parts[1]}`);
  }
  if (regions.size !== 1) {
    const got = [...regions].sort().join(' ');
    throw new CsiMigrationError(
      `failed to get region from zones: multiple or no regions gotten from zones, got: ${got}`,
    );
  }
  return `regions/${[...regions][0]}`;
}

/**
 * Returns the access modes for the driver: the plugin allowed writes with any mode, the driver does
 * not.
 */
function gceModes(modes: AccessModes): AccessModes {
  const readersOnly =
    modes.includes('ReadOnlyMany') &&
    !modes.includes('ReadWriteOnce') &&
    !modes.includes('ReadWriteMany');
  return readersOnly ? READERS : ONCE;
}

const ACCOUNT = /azure-storage-account-(.+)-secret/;

function azureFileSource(
  said: NonNullable<Immutable<Volume>['azureFile']>,
  {
    group,
    name,
    namespace,
  }: { readonly group: string; readonly name: string; readonly namespace: string },
): Source {
  const { secretName, shareName } = said;
  const account = ACCOUNT.exec(secretName)?.[1] ?? secretName;
  return {
    ...source(AZURE_FILE, [group, account, shareName, name, namespace].join('#'), said, {
      sharename: shareName,
    }),
    nodeStageSecretRef: { name: secretName, namespace },
  };
}

const PORTWORX_SECRET = 'openstorage.io/auth-secret-name';
const PORTWORX_SECRET_NAMESPACE = 'openstorage.io/auth-secret-namespace';

const ebs = alike('awsElasticBlockStore', (said) =>
  source(EBS, ebsHandle(said.volumeID), said, { partition: String(said.partition ?? 0) }),
);

const azureDisk = alike('azureDisk', (said) => {
  const { kind, cachingMode, fsType } = said;
  if (kind !== undefined && kind.toLowerCase() !== 'managed') {
    throw new CsiMigrationError(`kind(${kind}) is not supported in csi migration`);
  }
  return source(AZURE_DISK, said.diskURI, said, {
    kind: 'Managed',
    ...(cachingMode !== undefined && { cachingmode: cachingMode }),
    ...(fsType !== undefined && { fstype: fsType }),
  });
});

const cinder = alike('cinder', (said) => source(CINDER, said.volumeID, said));

const vsphere = alike('vsphereVolume', (said) => {
  const { volumePath, fsType, storagePolicyName = '' } = said;
  return source(
    VSPHERE,
    volumePath,
    { fsType },
    storagePolicyName === '' ? {} : { storagepolicyname: storagePolicyName },
  );
});

const portworx = alike(
  'portworxVolume',
  ({ volumeID, fsType }) => source(PORTWORX, volumeID, { fsType }),
  (_, readOnly) => (readOnly ? READERS : ONCE),
);

export const IN_TREE_PLUGINS: readonly InTreePlugin[] = [
  {
    field: 'awsElasticBlockStore',
    name: 'kubernetes.io/aws-ebs',
    driver: EBS,
    topology: { zone: 'topology.ebs.csi.aws.com/zone' },
    ...ebs,
  },
  {
    field: 'gcePersistentDisk',
    name: 'kubernetes.io/gce-pd',
    driver: GCE,
    topology: { zone: 'topology.gke.io/zone' },
    persistent: (volume) => {
      const { gcePersistentDisk, accessModes } = volume.spec;
      if (gcePersistentDisk === undefined) return undefined;
      const csi = gceSource(gcePersistentDisk, gcePlace(volume));
      return { csi, ...(accessModes !== undefined && { accessModes: gceModes(accessModes) }) };
    },
    inline: ({ gcePersistentDisk }) => {
      if (gcePersistentDisk === undefined) return undefined;
      const accessModes = gcePersistentDisk.readOnly === true ? READERS : ONCE;
      return { csi: gceSource(gcePersistentDisk, `zones/${UNKNOWN}`), accessModes };
    },
  },
  // Disks in regions without zones have zones that the driver does not know: they keep their
  // affinity.
  { field: 'azureDisk', name: 'kubernetes.io/azure-disk', driver: AZURE_DISK, ...azureDisk },
  {
    field: 'azureFile',
    name: 'kubernetes.io/azure-file',
    driver: AZURE_FILE,
    persistent: ({ metadata, spec: { azureFile, claimRef } }) => {
      if (azureFile === undefined) return undefined;
      const namespace = azureFile.secretNamespace ?? claimRef?.namespace ?? '';
      if (namespace === '') {
        throw new CsiMigrationError(
          'could not find a secret namespace in PersistentVolumeSource or ClaimRef',
        );
      }
      const group = metadata.annotations?.['kubernetes.io/azure-file-resource-group'] ?? '';
      return { csi: azureFileSource(azureFile, { group, name: metadata.name, namespace }) };
    },
    inline: ({ name, azureFile }, podNamespace) => {
      if (azureFile === undefined) return undefined;
      const namespace = podNamespace === '' ? 'default' : podNamespace;
      return {
        csi: azureFileSource(azureFile, { group: '', name, namespace }),
        accessModes: ['ReadWriteMany'],
      };
    },
  },
  {
    field: 'cinder',
    name: 'kubernetes.io/cinder',
    driver: CINDER,
    topology: { zone: 'topology.cinder.csi.openstack.org/zone' },
    ...cinder,
  },
  {
    field: 'vsphereVolume',
    name: 'kubernetes.io/vsphere-volume',
    driver: VSPHERE,
    topology: { zone: 'topology.csi.vmware.com/zone', region: 'topology.csi.vmware.com/region' },
    ...vsphere,
  },
  {
    field: 'portworxVolume',
    name: 'kubernetes.io/portworx-volume',
    driver: PORTWORX,
    ...portworx,
    persistent: (volume) => {
      const translation = portworx.persistent(volume);
      const { [PORTWORX_SECRET]: name, [PORTWORX_SECRET_NAMESPACE]: namespace } =
        volume.metadata.annotations ?? {};
      if (translation === undefined || name === undefined || namespace === undefined)
        return translation;
      const secret = { name, namespace };
      return {
        csi: {
          ...translation.csi,
          controllerPublishSecretRef: secret,
          nodeStageSecretRef: secret,
          nodePublishSecretRef: secret,
          controllerExpandSecretRef: secret,
          nodeExpandSecretRef: secret,
        },
      };
    },
  },
];
