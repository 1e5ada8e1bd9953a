// The tables of volumes, their claims and their classes.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, joined, NAME } from '../tables/columns.ts';

const UNSET = '<unset>';
const MODES = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' } as const;

/** Short, each once, in a fixed order. */
function accessModes(modes: readonly string[] | undefined): string {
  return Object.entries(MODES)
    .flatMap(([mode, short]) => (modes?.includes(mode) === true ? [short] : []))
    .join(',');
}

interface Classified {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly storageClassName?: string };
}

/** The class was an annotation once, which still comes first. */
function classOf({ metadata, spec }: Classified): string {
  return metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec.storageClassName ?? '';
}

const STORAGE_CLASS = column('StorageClass', 'The storage class that it belongs to.');
const ATTRIBUTES_CLASS = column('VolumeAttributesClass', 'The class of its changeable attributes.');
const VOLUME_MODE = column('VolumeMode', 'Whether it is a file system or a block device.', { wide: true });
const ACCESS_MODES = column('Access Modes', 'How it may be used by several at once.');

export const persistentVolumeTable: TableConvertor<Immutable<core.PersistentVolume>> = {
  columns: [
    NAME,
    column('Capacity', 'How much it holds.'),
    ACCESS_MODES,
    column('Reclaim Policy', 'What becomes of it when its claim is gone.'),
    column('Status', 'Whether a claim is bound to it.'),
    column('Claim', 'The claim that it is bound to.'),
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
    column('Status', 'Whether a volume is bound to it.'),
    column('Volume', 'The volume that it is bound to.'),
    column('Capacity', 'How much the volume holds.'),
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

type Annotated = { readonly metadata: Immutable<core.Pod>['metadata'] };

/** Its name, with a mark if it is the class of those who name none. */
function markedName({ metadata }: Annotated, ...annotations: readonly string[]): string {
  const isDefault = annotations.some((annotation) => metadata.annotations?.[annotation] === 'true');
  return isDefault ? `${metadata.name} (default)` : metadata.name;
}

export const storageClassTable: TableConvertor<Immutable<storage.StorageClass>> = {
  columns: [
    NAME,
    column('Provisioner', 'Who makes its volumes.'),
    column('ReclaimPolicy', 'What becomes of a volume when its claim is gone.'),
    column('VolumeBindingMode', 'When volumes are made and bound.'),
    column('AllowVolumeExpansion', 'Whether its volumes can grow.'),
    AGE,
  ],
  cells: (storageClass, now) => [
    markedName(storageClass, 'storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'),
    storageClass.provisioner,
    storageClass.reclaimPolicy ?? 'Delete',
    storageClass.volumeBindingMode ?? 'Immediate',
    storageClass.allowVolumeExpansion ?? false,
    since(storageClass.metadata.creationTimestamp, now),
  ],
};

export const volumeAttributesClassTable: TableConvertor<Immutable<storage.VolumeAttributesClass>> = {
  columns: [NAME, column('DriverName', 'The driver that knows its parameters.'), AGE],
  cells: (attributesClass, now) => [
    markedName(attributesClass, 'volumeattributesclass.alpha.kubernetes.io/is-default-class'),
    attributesClass.driverName,
    since(attributesClass.metadata.creationTimestamp, now),
  ],
};

export const volumeAttachmentTable: TableConvertor<Immutable<storage.VolumeAttachment>> = {
  columns: [
    NAME,
    { ...column('Attacher', 'The driver that attaches the volume.'), format: 'name' },
    column('PV', 'The volume.'),
    column('Node', 'The node that it is attached to.'),
    column('Attached', 'Whether it is.', { type: 'boolean' }),
    AGE,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.attacher,
    spec.source.persistentVolumeName ?? '',
    spec.nodeName,
    status.attached,
    since(metadata.creationTimestamp, now),
  ],
};

export const csiDriverTable: TableConvertor<Immutable<storage.CSIDriver>> = {
  columns: [
    NAME,
    column('AttachRequired', 'Whether volumes must be attached before they are mounted.', { type: 'boolean' }),
    column('PodInfoOnMount', 'Whether the driver is told for which pod it mounts.', { type: 'boolean' }),
    column('StorageCapacity', 'Whether pods wait for a node where there is room for their volumes.', { type: 'boolean' }),
    column('TokenRequests', 'For whom the tokens are that the driver gets.'),
    column('RequiresRepublish', 'Whether mounts are repeated now and then.', { type: 'boolean' }),
    column('Modes', 'The kinds of volumes that it has.'),
    AGE,
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.attachRequired ?? true,
    spec.podInfoOnMount ?? false,
    spec.storageCapacity ?? false,
    spec.tokenRequests === undefined ? UNSET : spec.tokenRequests.map(({ audience }) => audience).join(','),
    spec.requiresRepublish ?? false,
    joined(spec.volumeLifecycleModes),
    since(metadata.creationTimestamp, now),
  ],
};

export const csiNodeTable: TableConvertor<Immutable<storage.CSINode>> = {
  columns: [NAME, column('Drivers', 'Number of drivers on the node.', { type: 'integer' }), AGE],
  cells: ({ metadata, spec }, now) => [metadata.name, (spec.drivers ?? []).length, since(metadata.creationTimestamp, now)],
};

export const csiStorageCapacityTable: TableConvertor<Immutable<storage.CSIStorageCapacity>> = {
  columns: [
    NAME,
    column('StorageClassName', 'The class of the volumes that there is room for.'),
    column('Capacity', 'How much room there is.'),
  ],
  cells: ({ metadata, storageClassName, capacity }) => [metadata.name, storageClassName, capacity ?? UNSET],
};
