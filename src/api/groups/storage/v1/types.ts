// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A class of storage, and how volumes of it are provisioned. */
export interface StorageClass extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The provisioner of volumes. */
  provisioner: string;
  /** Parameters that the provisioner gets. */
  parameters?: Record<string, string>;
  /** The reclaim policy of the volumes: Delete or Retain. Default: Delete. */
  reclaimPolicy?: core.PersistentVolumeReclaimPolicy;
  /** Mount options of the volumes. They are not validated. */
  mountOptions?: string[];
  /** Whether claims can be expanded. */
  allowVolumeExpansion?: boolean;
  /** Immediate, or WaitForFirstConsumer to bind when a pod is scheduled. Default: Immediate. */
  volumeBindingMode?: VolumeBindingMode;
  /** The topologies in which volumes may be provisioned. */
  allowedTopologies?: core.TopologySelectorTerm[];
}

/** A list of StorageClass objects. */
export interface StorageClassList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: StorageClass[];
}

export type VolumeBindingMode = 'Immediate' | 'WaitForFirstConsumer';

/** The intent to attach a volume to a node, and its state. */
export interface VolumeAttachment extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: VolumeAttachmentSpec;
  /** The observed state. */
  status: VolumeAttachmentStatus;
}

/** A list of VolumeAttachment objects. */
export interface VolumeAttachmentList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: VolumeAttachment[];
}

/** The volume and the node. */
export interface VolumeAttachmentSpec {
  /** The CSI driver that attaches. */
  attacher: string;
  /** The volume to attach. */
  source: VolumeAttachmentSource;
  /** The node to attach it to. */
  nodeName: string;
}

/** The volume to attach. One field is set. */
export interface VolumeAttachmentSource {
  /** A persistent volume. */
  persistentVolumeName?: string;
  /** The volume of a pod that was migrated from an in-tree plugin. */
  inlineVolumeSpec?: core.PersistentVolumeSpec;
}

/** The state of an attachment. */
export interface VolumeAttachmentStatus {
  /** Whether the volume is attached. */
  attached: boolean;
  /** Information of the driver that mounting needs. */
  attachmentMetadata?: Record<string, string>;
  /** The last error of attaching. */
  attachError?: VolumeError;
  /** The last error of detaching. */
  detachError?: VolumeError;
}

/** An error of a storage operation. */
export interface VolumeError {
  /** When the error occurred. */
  time: string | null;
  /** The error. It must not contain secrets. */
  message?: string;
  /** The gRPC code of the error. */
  errorCode?: number;
}

/** Properties of a CSI driver that is installed in the cluster. */
export interface CSIDriver extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: CSIDriverSpec;
}

/** A list of CSIDriver objects. */
export interface CSIDriverList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: CSIDriver[];
}

/** Properties of the driver that the cluster must know. */
export interface CSIDriverSpec {
  /** Whether volumes are attached before they are mounted. Default: true. */
  attachRequired?: boolean;
  /** Whether the driver gets the name, namespace and UID of the pod. Default: false. */
  podInfoOnMount?: boolean;
  /** Persistent, Ephemeral or both. Default: Persistent. */
  volumeLifecycleModes?: VolumeLifecycleMode[];
  /** Whether the scheduler considers CSIStorageCapacity objects of the driver. Default: false. */
  storageCapacity?: boolean;
  /** When the ownership of files is changed to fsGroup: ReadWriteOnceWithFSType, File or None. */
  fsGroupPolicy?: FSGroupPolicy;
  /** Tokens of the service account of the pod that the driver gets. */
  tokenRequests?: TokenRequest[];
  /** Whether mounting is repeated regularly, to refresh the content. Default: false. */
  requiresRepublish?: boolean;
  /** Whether volumes can be mounted with an SELinux context. Default: false. */
  seLinuxMount?: boolean;
  /** How often the number of volumes that a node can have is updated. At least 10 seconds. */
  nodeAllocatableUpdatePeriodSeconds?: number;
  /** Whether tokens are passed in the secrets of a call instead of its attributes. Default: false. */
  serviceAccountTokenInSecrets?: boolean;
  /** Whether pods that use the driver are kept off nodes on which it is not registered. Default: false. */
  preventPodSchedulingIfMissing?: boolean;
}

export type FSGroupPolicy = 'ReadWriteOnceWithFSType' | 'File' | 'None' | (string & {});

export type VolumeLifecycleMode = 'Persistent' | 'Ephemeral' | (string & {});

/** A token that a CSI driver gets. */
export interface TokenRequest {
  /** The audience of the token. Empty: the API server. */
  audience: string;
  /** The lifetime of the token. Default: 3600. */
  expirationSeconds?: number;
}

/** The CSI drivers that are registered on a node. */
export interface CSINode extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: CSINodeSpec;
}

/** The drivers of a node. */
export interface CSINodeSpec {
  /** The drivers. */
  drivers: CSINodeDriver[] | null;
}

/** A driver on a node. */
export interface CSINodeDriver {
  /** The name of the driver. */
  name: string;
  /** The name of the node, as the driver knows it. */
  nodeID: string;
  /** The labels of nodes by which the driver distinguishes topologies. */
  topologyKeys: string[] | null;
  /** The volumes of the driver that the node can have. */
  allocatable?: VolumeNodeResources;
}

/** A number of volumes. */
export interface VolumeNodeResources {
  /** The largest number of volumes. Absent: no limit. */
  count?: number;
}

/** A list of CSINode objects. */
export interface CSINodeList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: CSINode[];
}

/** The free storage of a CSI driver in one topology. */
export interface CSIStorageCapacity extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The nodes from which the storage can be used. Absent: none. */
  nodeTopology?: meta.LabelSelector;
  /** The storage class that the numbers are for. */
  storageClassName: string;
  /** The free capacity, as the driver reports it. */
  capacity?: string;
  /** The largest volume that can be provisioned. */
  maximumVolumeSize?: string;
}

/** A list of CSIStorageCapacity objects. */
export interface CSIStorageCapacityList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: CSIStorageCapacity[];
}

/** Settings of volumes that can be changed after they were provisioned. */
export interface VolumeAttributesClass extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The CSI driver. */
  driverName: string;
  /** The settings. They cannot be changed here. */
  parameters?: Record<string, string>;
}

/** A list of VolumeAttributesClass objects. */
export interface VolumeAttributesClassList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: VolumeAttributesClass[];
}
