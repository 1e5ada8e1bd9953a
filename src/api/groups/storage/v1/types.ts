// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface StorageClass extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  provisioner: string;
  parameters?: Record<string, string>;
  reclaimPolicy?: core.PersistentVolumeReclaimPolicy;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: VolumeBindingMode;
  allowedTopologies?: core.TopologySelectorTerm[];
}

export interface StorageClassList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: StorageClass[];
}

export type VolumeBindingMode = 'Immediate' | 'WaitForFirstConsumer';

export interface VolumeAttachment extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: VolumeAttachmentSpec;
  status: VolumeAttachmentStatus;
}

export interface VolumeAttachmentList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: VolumeAttachment[];
}

export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

export interface VolumeAttachmentSource {
  persistentVolumeName?: string;
  inlineVolumeSpec?: core.PersistentVolumeSpec;
}

export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: Record<string, string>;
  attachError?: VolumeError;
  detachError?: VolumeError;
}

export interface VolumeError {
  time: string | null;
  message?: string;
  errorCode?: number;
}

export interface CSIDriver extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: CSIDriverSpec;
}

export interface CSIDriverList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: CSIDriver[];
}

export interface CSIDriverSpec {
  attachRequired?: boolean;
  podInfoOnMount?: boolean;
  volumeLifecycleModes?: VolumeLifecycleMode[];
  storageCapacity?: boolean;
  fsGroupPolicy?: FSGroupPolicy;
  tokenRequests?: TokenRequest[];
  requiresRepublish?: boolean;
  seLinuxMount?: boolean;
  nodeAllocatableUpdatePeriodSeconds?: number;
  serviceAccountTokenInSecrets?: boolean;
  preventPodSchedulingIfMissing?: boolean;
}

export type FSGroupPolicy = 'ReadWriteOnceWithFSType' | 'File' | 'None' | (string & {});

export type VolumeLifecycleMode = 'Persistent' | 'Ephemeral' | (string & {});

export interface TokenRequest {
  audience: string;
  expirationSeconds?: number;
}

export interface CSINode extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: CSINodeSpec;
}

export interface CSINodeSpec {
  drivers: CSINodeDriver[] | null;
}

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys: string[] | null;
  allocatable?: VolumeNodeResources;
}

export interface VolumeNodeResources {
  count?: number;
}

export interface CSINodeList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: CSINode[];
}

export interface CSIStorageCapacity extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  nodeTopology?: meta.LabelSelector;
  storageClassName: string;
  capacity?: string;
  maximumVolumeSize?: string;
}

export interface CSIStorageCapacityList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: CSIStorageCapacity[];
}

export interface VolumeAttributesClass extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  driverName: string;
  parameters?: Record<string, string>;
}

export interface VolumeAttributesClassList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: VolumeAttributesClass[];
}
