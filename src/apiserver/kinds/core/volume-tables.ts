// The tables of volumes and of their claims.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

const UNSET = '<unset>';
const MODES = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
} as const;

/** Returns the short names of the modes, without duplicates, in a fixed order. */
function accessModes(modes: readonly string[] | undefined): string {
  return Object.entries(MODES)
    .flatMap(([mode, short]) => (modes?.includes(mode) === true ? [short] : []))
    .join(',');
}

interface Classified {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly storageClassName?: string };
}

/** Returns the class. The old annotation overrides the field. */
function classOf({ metadata, spec }: Classified): string {
  return (
    metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec.storageClassName ?? ''
  );
}

const STORAGE_CLASS = column('StorageClass', 'The storage class.');
const ATTRIBUTES_CLASS = column('VolumeAttributesClass', 'The volume attributes class.');
const VOLUME_MODE = column('VolumeMode', 'Whether it is a file system or a block device.', {
  wide: true,
});
const ACCESS_MODES = column('Access Modes', 'The access modes of the volume.');

export const persistentVolumeTable: TableConvertor<Immutable<core.PersistentVolume>> = {
  columns: [
    NAME,
    column('Capacity', 'The size of the volume.'),
    ACCESS_MODES,
    column('Reclaim Policy', 'Whether the volume is kept or deleted after its claim.'),
    column('Status', 'Whether the volume is bound to a claim.'),
    column('Claim', 'The claim that the volume is bound to.'),
    STORAGE_CLASS,
    ATTRIBUTES_CLASS,
    column('Reason', 'Why it failed, in one word.'),
    AGE,
    VOLUME_MODE,
  ],
  cells: (volume, now) => {
    const { metadata, spec, status } = volume;
    const { claimRef } = spec;
    return [
      metadata.name,
      spec.capacity?.['storage'] ?? '0',
      accessModes(spec.accessModes),
      spec.persistentVolumeReclaimPolicy ?? '',
      metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
      claimRef === undefined ? '' : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
      classOf(volume),
      spec.volumeAttributesClassName ?? UNSET,
      status.reason ?? '',
      since(metadata.creationTimestamp, now),
      spec.volumeMode ?? UNSET,
    ];
  },
};

export const persistentVolumeClaimTable: TableConvertor<Immutable<core.PersistentVolumeClaim>> = {
  columns: [
    NAME,
    column('Status', 'Whether the claim is bound to a volume.'),
    column('Volume', 'The volume that the claim is bound to.'),
    column('Capacity', 'The size of the volume.'),
    ACCESS_MODES,
    STORAGE_CLASS,
    ATTRIBUTES_CLASS,
    AGE,
    VOLUME_MODE,
  ],
  cells: (claim, now) => {
    const { metadata, spec, status } = claim;
    const volumeName = spec.volumeName ?? '';
    return [
      metadata.name,
      metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
      volumeName,
      volumeName === '' ? '' : (status.capacity?.['storage'] ?? '0'),
      volumeName === '' ? '' : accessModes(status.accessModes),
      classOf(claim),
      spec.volumeAttributesClassName ?? UNSET,
      since(metadata.creationTimestamp, now),
      spec.volumeMode ?? UNSET,
    ];
  },
};
