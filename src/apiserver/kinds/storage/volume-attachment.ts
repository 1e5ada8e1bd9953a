// The resource volumeattachments.

import type * as storage from '#api/groups/storage/v1/index.ts';
import { volumeAttachments } from '#api/groups/storage/v1/index.ts';
import { validateVolumeAttachment, validateVolumeAttachmentUpdate } from '#api/groups/storage/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { volumeAttachmentTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type VolumeAttachment = Immutable<storage.VolumeAttachment>;
type Metadata = VolumeAttachment['metadata'];

export const volumeAttachmentStrategy: ResourceStrategy<VolumeAttachment> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  allowUnconditionalUpdate: false,
  prepareForCreate: (attachment) => ({ ...attachment, status: { attached: false } }),
  validate: (attachment) => validateVolumeAttachment(attachment),
  prepareForUpdate: (attachment, old) => ({ ...attachment, status: old.status }),
  validateUpdate: (attachment, old) => validateVolumeAttachmentUpdate(attachment, old),
};

export const volumeAttachmentStatusStrategy: SubresourceStrategy<VolumeAttachment> = {
  allowUnconditionalUpdate: false,
  resetFields: [['metadata'], ['spec']],
  prepareForUpdate: (attachment, old) => ({
    ...attachment,
    metadata: withMetadataOf(attachment.metadata, old.metadata),
    spec: old.spec,
  }),
  validateUpdate: (attachment, old) => validateVolumeAttachmentUpdate(attachment, old),
};

/** Of the metadata a status is not the place to change anything that users do. */
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

export function volumeAttachmentResource(services: RegistryServices): Kind {
  const store = new ResourceStore<VolumeAttachment>({
    ...services,
    type: volumeAttachments,
    strategy: volumeAttachmentStrategy,
  });
  return {
    type: volumeAttachments,
    rest: store,
    table: volumeAttachmentTable,
    subresources: [
      {
        name: 'status',
        kind: { group: 'storage.k8s.io', version: 'v1', kind: 'VolumeAttachment' },
        rest: store.view(volumeAttachmentStatusStrategy),
      },
    ],
  };
}
