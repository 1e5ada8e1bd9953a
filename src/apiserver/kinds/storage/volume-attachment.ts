// The resource volumeattachments.

import { volumeAttachments } from '#api/groups/storage/v1/index.ts';
import type * as storage from '#api/groups/storage/v1/index.ts';
import {
  validateVolumeAttachment,
  validateVolumeAttachmentUpdate,
} from '#api/groups/storage/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type VolumeAttachment = Immutable<storage.VolumeAttachment>;
type Metadata = VolumeAttachment['metadata'];

const volumeAttachmentStrategy: ResourceStrategy<VolumeAttachment> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (attachment) => ({ ...attachment, status: { attached: false } }),
  validate: (attachment) => validateVolumeAttachment(attachment),
  prepareForUpdate: (attachment, old) => ({ ...attachment, status: old.status }),
  validateUpdate: (attachment, old) => validateVolumeAttachmentUpdate(attachment, old),
};

const volumeAttachmentStatusStrategy: SubresourceStrategy<VolumeAttachment> = {
  allowUnconditionalUpdate: false,
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (attachment, old) => ({
    ...attachment,
    metadata: withMetadataOf(attachment.metadata, old.metadata),
    spec: old.spec,
  }),
  validateUpdate: (attachment, old) => validateVolumeAttachmentUpdate(attachment, old),
};

/**
 * Returns the old labels, annotations, finalizers and owners with the new other metadata: a status
 * update must not change them.
 */
function withMetadataOf(metadata: Metadata, old: Metadata): Metadata {
  const { labels: _, annotations: __, finalizers: ___, ownerReferences: ____, ...rest } = metadata;
  const { labels, annotations, finalizers, ownerReferences } = old;
  return {
    ...rest,
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(finalizers !== undefined && { finalizers }),
    ...(ownerReferences !== undefined && { ownerReferences }),
  };
}

const volumeAttachmentTable: TableConvertor<VolumeAttachment> = {
  columns: [
    NAME,
    { ...column('Attacher', 'The driver that attaches the volume.'), format: 'name' },
    column('PV', 'The volume.'),
    column('Node', 'The node that it is attached to.'),
    column('Attached', 'Whether the volume is attached.', { type: 'boolean' }),
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

export const volumeAttachmentKind = defineKind<VolumeAttachment>({
  type: volumeAttachments,
  strategy: volumeAttachmentStrategy,
  table: volumeAttachmentTable,
  subresources: { status: { strategy: volumeAttachmentStatusStrategy } },
});
