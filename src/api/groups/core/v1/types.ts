// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A directory that containers of the pod can mount, and its source. */
export interface Volume extends VolumeSource {
  /** The name of the volume in the pod. */
  name: string;
}

/** The source of a volume. Exactly one field is set. */
export interface VolumeSource {
  /** A file or directory of the node. It gives the pod access to the node, so use it with care. */
  hostPath?: HostPathVolumeSource;
  /** A directory that is empty at first and deleted with the pod. */
  emptyDir?: EmptyDirVolumeSource;
  /** A disk of Google Compute Engine. Deprecated: the CSI driver pd.csi.storage.gke.io has replaced it. */
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  /** An AWS EBS volume. Deprecated: the CSI driver ebs.csi.aws.com has replaced it. */
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  /** A git repository at one revision. Deprecated and disabled; clone in an init container instead. */
  gitRepo?: GitRepoVolumeSource;
  /** The keys of a secret as files. */
  secret?: SecretVolumeSource;
  /** An NFS export. */
  nfs?: NFSVolumeSource;
  /** A disk that is attached by iSCSI. */
  iscsi?: ISCSIVolumeSource;
  /** A Glusterfs volume. Deprecated and no longer supported. */
  glusterfs?: GlusterfsVolumeSource;
  /** The volume that is bound to a claim in the namespace of the pod. */
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  /** A Ceph block device. Deprecated and no longer supported. */
  rbd?: RBDVolumeSource;
  /** A volume of an exec-based plugin. Deprecated: use a CSI driver. */
  flexVolume?: FlexVolumeSource;
  /** An OpenStack Cinder volume. Deprecated: the CSI driver cinder.csi.openstack.org has replaced it. */
  cinder?: CinderVolumeSource;
  /** A CephFS volume. Deprecated and no longer supported. */
  cephfs?: CephFSVolumeSource;
  /** A Flocker volume. Deprecated and no longer supported. */
  flocker?: FlockerVolumeSource;
  /** Fields of the pod as files. */
  downwardAPI?: DownwardAPIVolumeSource;
  /** A disk that is attached by Fibre Channel. */
  fc?: FCVolumeSource;
  /** An Azure file share. Deprecated: the CSI driver file.csi.azure.com has replaced it. */
  azureFile?: AzureFileVolumeSource;
  /** The keys of a ConfigMap as files. */
  configMap?: ConfigMapVolumeSource;
  /** A vSphere volume. Deprecated: the CSI driver csi.vsphere.vmware.com has replaced it. */
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  /** A Quobyte volume. Deprecated and no longer supported. */
  quobyte?: QuobyteVolumeSource;
  /** An Azure data disk. Deprecated: the CSI driver disk.csi.azure.com has replaced it. */
  azureDisk?: AzureDiskVolumeSource;
  /** A Photon disk. Deprecated and no longer supported. */
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  /** Several secrets, ConfigMaps, tokens and fields of the pod in one directory. */
  projected?: ProjectedVolumeSource;
  /** A Portworx volume. Deprecated: the CSI driver pxd.portworx.com has replaced it. */
  portworxVolume?: PortworxVolumeSource;
  /** A ScaleIO volume. Deprecated and no longer supported. */
  scaleIO?: ScaleIOVolumeSource;
  /** A StorageOS volume. Deprecated and no longer supported. */
  storageos?: StorageOSVolumeSource;
  /** An ephemeral volume of a CSI driver. */
  csi?: CSIVolumeSource;
  /** A volume for which a claim is created and deleted with the pod. */
  ephemeral?: EphemeralVolumeSource;
  /** The content of an image, read-only. */
  image?: ImageVolumeSource;
}

/** A reference to a claim in the namespace of the pod. */
export interface PersistentVolumeClaimVolumeSource {
  /** The name of the claim. */
  claimName: string;
  /** Mounts the volume read-only in all containers. Default: false. */
  readOnly?: boolean;
}

/** The storage of a persistent volume. Exactly one field is set. */
export interface PersistentVolumeSource {
  /** A disk of Google Compute Engine. Deprecated: the CSI driver pd.csi.storage.gke.io has replaced it. */
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  /** An AWS EBS volume. Deprecated: the CSI driver ebs.csi.aws.com has replaced it. */
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  /** A directory of the node, for tests on a single node. */
  hostPath?: HostPathVolumeSource;
  /** A Glusterfs volume. Deprecated and no longer supported. */
  glusterfs?: GlusterfsPersistentVolumeSource;
  /** An NFS export. */
  nfs?: NFSVolumeSource;
  /** A Ceph block device. Deprecated and no longer supported. */
  rbd?: RBDPersistentVolumeSource;
  /** A disk that is attached by iSCSI. */
  iscsi?: ISCSIPersistentVolumeSource;
  /** An OpenStack Cinder volume. Deprecated: the CSI driver cinder.csi.openstack.org has replaced it. */
  cinder?: CinderPersistentVolumeSource;
  /** A CephFS volume. Deprecated and no longer supported. */
  cephfs?: CephFSPersistentVolumeSource;
  /** A disk that is attached by Fibre Channel. */
  fc?: FCVolumeSource;
  /** A Flocker volume. Deprecated and no longer supported. */
  flocker?: FlockerVolumeSource;
  /** A volume of an exec-based plugin. Deprecated: use a CSI driver. */
  flexVolume?: FlexPersistentVolumeSource;
  /** An Azure file share. Deprecated: the CSI driver file.csi.azure.com has replaced it. */
  azureFile?: AzureFilePersistentVolumeSource;
  /** A vSphere volume. Deprecated: the CSI driver csi.vsphere.vmware.com has replaced it. */
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
  /** A Quobyte volume. Deprecated and no longer supported. */
  quobyte?: QuobyteVolumeSource;
  /** An Azure data disk. Deprecated: the CSI driver disk.csi.azure.com has replaced it. */
  azureDisk?: AzureDiskVolumeSource;
  /** A Photon disk. Deprecated and no longer supported. */
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  /** A Portworx volume. Deprecated: the CSI driver pxd.portworx.com has replaced it. */
  portworxVolume?: PortworxVolumeSource;
  /** A ScaleIO volume. Deprecated and no longer supported. */
  scaleIO?: ScaleIOPersistentVolumeSource;
  /** A directory or disk of one node. */
  local?: LocalVolumeSource;
  /** A StorageOS volume. Deprecated and no longer supported. */
  storageos?: StorageOSPersistentVolumeSource;
  /** Storage of a CSI driver. */
  csi?: CSIPersistentVolumeSource;
}

/** Storage in the cluster that a claim can be bound to. */
export interface PersistentVolume extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: PersistentVolumeSpec;
  /** The observed state. */
  status: PersistentVolumeStatus;
}

/** The properties of a persistent volume. */
export interface PersistentVolumeSpec extends PersistentVolumeSource {
  /** The size of the volume. */
  capacity?: ResourceList;
  /** The ways in which the volume can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod. */
  accessModes?: PersistentVolumeAccessMode[];
  /** The claim that the volume is bound to, or reserved for. */
  claimRef?: ObjectReference;
  /** Treatment of the volume when its claim is deleted: Retain, Delete or Recycle. */
  persistentVolumeReclaimPolicy?: PersistentVolumeReclaimPolicy;
  /** The storage class of the volume. Empty: it has none. */
  storageClassName?: string;
  /** Options of the mount command. They are not validated. */
  mountOptions?: string[];
  /** Filesystem for a mounted directory, Block for a raw device. Default: Filesystem. */
  volumeMode?: PersistentVolumeMode;
  /** The nodes from which the volume can be used. Pods that use it run there. */
  nodeAffinity?: VolumeNodeAffinity;
  /** The VolumeAttributesClass of the volume. */
  volumeAttributesClassName?: string;
}

/** The nodes from which a volume can be used. */
export interface VolumeNodeAffinity {
  /** Terms that the labels of a node must match. */
  required?: NodeSelector;
}

export type PersistentVolumeReclaimPolicy = 'Recycle' | 'Delete' | 'Retain';

export type PersistentVolumeMode = 'Block' | 'Filesystem';

/** The observed state of a persistent volume. */
export interface PersistentVolumeStatus {
  /** Pending, Available, Bound, Released or Failed. */
  phase?: PersistentVolumePhase;
  /** Details about the state, for people. */
  message?: string;
  /** The cause of a failure, as one word for programs. */
  reason?: string;
  /** When the phase last changed. */
  lastPhaseTransitionTime?: string;
}

/** A list of PersistentVolume objects. */
export interface PersistentVolumeList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PersistentVolume[];
}

/** A request for storage, which is bound to a persistent volume. */
export interface PersistentVolumeClaim extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: PersistentVolumeClaimSpec;
  /** The observed state. */
  status: PersistentVolumeClaimStatus;
}

/** A list of PersistentVolumeClaim objects. */
export interface PersistentVolumeClaimList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PersistentVolumeClaim[];
}

/** The properties of the storage that is requested. */
export interface PersistentVolumeClaimSpec {
  /** The ways in which the volume must be mountable: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod. */
  accessModes?: PersistentVolumeAccessMode[];
  /** Labels that a volume must have to be bound. */
  selector?: meta.LabelSelector;
  /** The minimum size. It can be increased if the storage class allows expansion. */
  resources: VolumeResourceRequirements;
  /** The volume that the claim is bound to. */
  volumeName?: string;
  /** The storage class that provisions the volume. Empty: a volume without a class. Absent: the default class. */
  storageClassName?: string;
  /** Filesystem for a mounted directory, Block for a raw device. Default: Filesystem. */
  volumeMode?: PersistentVolumeMode;
  /** A snapshot or claim in the same namespace whose content the volume starts with. */
  dataSource?: TypedLocalObjectReference;
  /** An object, of any kind that a populator supports, whose content the volume starts with. */
  dataSourceRef?: TypedObjectReference;
  /** The VolumeAttributesClass with the settings of the volume. It can be changed later. */
  volumeAttributesClassName?: string;
}

/** A reference to an object of any kind. */
export interface TypedObjectReference {
  /** The API group of the object. Empty: the core group. */
  apiGroup: string | null;
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** The name of the object. */
  name: string;
  /** The namespace of the object. Another namespace needs a ReferenceGrant there. */
  namespace?: string;
}

export type PersistentVolumeClaimConditionType = 'Resizing' | 'FileSystemResizePending' | 'ControllerResizeError' | 'NodeResizeError' | 'ModifyVolumeError' | 'ModifyingVolume' | 'Unused' | (string & {});

export type ClaimResourceStatus = 'ControllerResizeInProgress' | 'ControllerResizeInfeasible' | 'NodeResizePending' | 'NodeResizeInProgress' | 'NodeResizeInfeasible';

export type PersistentVolumeClaimModifyVolumeStatus = 'Pending' | 'InProgress' | 'Infeasible';

/** The state of a change to another VolumeAttributesClass. */
export interface ModifyVolumeStatus {
  /** The class that the volume is being changed to. */
  targetVolumeAttributesClassName?: string;
  /** Pending, InProgress or Infeasible. */
  status: PersistentVolumeClaimModifyVolumeStatus;
}

/** A condition of a claim. */
export interface PersistentVolumeClaimCondition {
  /** The type of the condition. */
  type: PersistentVolumeClaimConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the condition was last checked. */
  lastProbeTime: string | null;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** The observed state of a claim. */
export interface PersistentVolumeClaimStatus {
  /** Pending, Bound or Lost. */
  phase?: PersistentVolumeClaimPhase;
  /** The access modes of the bound volume. */
  accessModes?: PersistentVolumeAccessMode[];
  /** The actual size of the bound volume. */
  capacity?: ResourceList;
  /** Conditions of the claim, such as a resize in progress. */
  conditions?: PersistentVolumeClaimCondition[];
  /** The size that a resize aims at. It counts for quotas. */
  allocatedResources?: ResourceList;
  /** The state of the resize of each resource. */
  allocatedResourceStatuses?: Record<string, ClaimResourceStatus>;
  /** The VolumeAttributesClass that the volume has. */
  currentVolumeAttributesClassName?: string;
  /** The state of a change to another VolumeAttributesClass. */
  modifyVolumeStatus?: ModifyVolumeStatus;
}

export type PersistentVolumeAccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany' | 'ReadWriteOncePod';

export type PersistentVolumePhase = 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed';

export type PersistentVolumeClaimPhase = 'Pending' | 'Bound' | 'Lost';

export type HostPathType = '' | 'DirectoryOrCreate' | 'Directory' | 'FileOrCreate' | 'File' | 'Socket' | 'CharDevice' | 'BlockDevice';

/** A file or directory of the node. */
export interface HostPathVolumeSource {
  /** The path on the node. */
  path: string;
  /** Type that the path must have, or that is created: DirectoryOrCreate, File, Socket and so on. */
  type?: HostPathType;
}

/** An empty directory with the lifetime of the pod. */
export interface EmptyDirVolumeSource {
  /** Memory to keep it in memory. Default: on disk. */
  medium?: StorageMedium;
  /** The maximum size. */
  sizeLimit?: string;
}

/** A Glusterfs volume. */
export interface GlusterfsVolumeSource {
  /** The Endpoints object with the addresses of the servers. */
  endpoints: string;
  /** The name of the Glusterfs volume. */
  path: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A Glusterfs volume. */
export interface GlusterfsPersistentVolumeSource {
  /** The Endpoints object with the addresses of the servers. */
  endpoints: string;
  /** The name of the Glusterfs volume. */
  path: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The namespace of the Endpoints object. Default: that of the claim. */
  endpointsNamespace?: string;
}

/** A Ceph block device. */
export interface RBDVolumeSource {
  /** Addresses of the Ceph monitors. */
  monitors: string[];
  /** The image name. */
  image: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The pool of the image. Default: rbd. */
  pool?: string;
  /** The user to connect as. Default: admin. */
  user?: string;
  /** The path of the keyring on the node. Default: /etc/ceph/keyring. */
  keyring?: string;
  /** The secret with the credentials of the storage system. */
  secretRef?: LocalObjectReference;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A Ceph block device. */
export interface RBDPersistentVolumeSource {
  /** Addresses of the Ceph monitors. */
  monitors: string[];
  /** The image name. */
  image: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The pool of the image. Default: rbd. */
  pool?: string;
  /** The user to connect as. Default: admin. */
  user?: string;
  /** The path of the keyring on the node. Default: /etc/ceph/keyring. */
  keyring?: string;
  /** The secret with the credentials of the storage system. */
  secretRef?: SecretReference;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** An OpenStack Cinder volume. */
export interface CinderVolumeSource {
  /** The ID of the volume. */
  volumeID: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The secret with the credentials of the storage system. */
  secretRef?: LocalObjectReference;
}

/** An OpenStack Cinder volume. */
export interface CinderPersistentVolumeSource {
  /** The ID of the volume. */
  volumeID: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The secret with the credentials of the storage system. */
  secretRef?: SecretReference;
}

/** A CephFS volume. */
export interface CephFSVolumeSource {
  /** Addresses of the Ceph monitors. */
  monitors: string[];
  /** The directory to mount. Default: /. */
  path?: string;
  /** The user to connect as. Default: admin. */
  user?: string;
  /** The path of the key ring of the user on the node. */
  secretFile?: string;
  /** The secret with the credentials of the storage system. */
  secretRef?: LocalObjectReference;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A reference to a secret in any namespace. */
export interface SecretReference {
  /** The name of the secret. */
  name?: string;
  /** The namespace of the secret. */
  namespace?: string;
}

/** A CephFS volume. */
export interface CephFSPersistentVolumeSource {
  /** Addresses of the Ceph monitors. */
  monitors: string[];
  /** The directory to mount. Default: /. */
  path?: string;
  /** The user to connect as. Default: admin. */
  user?: string;
  /** The path of the key ring of the user on the node. */
  secretFile?: string;
  /** The secret with the credentials of the storage system. */
  secretRef?: SecretReference;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A Flocker volume. One field is set. */
export interface FlockerVolumeSource {
  /** The name of the dataset, as its metadata has it. */
  datasetName?: string;
  /** The UUID of the dataset. */
  datasetUUID?: string;
}

export type StorageMedium = '' | 'Memory' | 'HugePages' | 'HugePages-' | (string & {});

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** A disk of Google Compute Engine, in the zone of the node. */
export interface GCEPersistentDiskVolumeSource {
  /** The name of the disk. */
  pdName: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The partition to mount. The whole volume is mounted if it is empty. */
  partition?: number;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A Quobyte volume. */
export interface QuobyteVolumeSource {
  /** Addresses of the registries, separated by commas. */
  registry: string;
  /** The name of the volume. */
  volume: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The user to mount as. */
  user?: string;
  /** The group to mount as. */
  group?: string;
  /** The tenant that owns the volume. */
  tenant?: string;
}

/** A volume of an exec-based plugin. */
export interface FlexPersistentVolumeSource {
  /** The name of the driver. */
  driver: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The secret with the credentials of the storage system. */
  secretRef?: SecretReference;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** Options that the driver gets. */
  options?: Record<string, string>;
}

/** A volume of an exec-based plugin. */
export interface FlexVolumeSource {
  /** The name of the driver. */
  driver: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The secret with the credentials of the storage system. */
  secretRef?: LocalObjectReference;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** Options that the driver gets. */
  options?: Record<string, string>;
}

/** An AWS EBS volume, in the zone of the node. */
export interface AWSElasticBlockStoreVolumeSource {
  /** The ID of the volume. */
  volumeID: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The partition to mount. The whole volume is mounted if it is empty. */
  partition?: number;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A git repository. */
export interface GitRepoVolumeSource {
  /** The URL of the repository. */
  repository: string;
  /** The commit to check out. */
  revision?: string;
  /** The directory to clone into, without "..". A dot is the volume itself. */
  directory?: string;
}

/** The data of a Secret, as files. */
export interface SecretVolumeSource {
  /** The name of the Secret. */
  secretName?: string;
  /** The keys that become files, and their paths. Default: all keys. */
  items?: KeyToPath[];
  /** The permissions of the files. Default: 0644. */
  defaultMode?: number;
  /** Whether the Secret may be missing. */
  optional?: boolean;
}

/** The keys of a secret, as files in a projected volume. */
export interface SecretProjection extends LocalObjectReference {
  /** The objects of the list. */
  items?: KeyToPath[];
  /** Whether the secret or its keys may be missing. */
  optional?: boolean;
}

/** An NFS export. */
export interface NFSVolumeSource {
  /** The host name or address of the server. */
  server: string;
  /** The exported path. */
  path: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A disk that is attached by iSCSI. It can be mounted by one writer. */
export interface ISCSIVolumeSource {
  /** Address and port of the portal. Default port: 3260. */
  targetPortal: string;
  /** The qualified name of the target. */
  iqn: string;
  /** The logical unit number. */
  lun: number;
  /** The interface to use. Default: default (tcp). */
  iscsiInterface?: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** Further portals, for multipath. */
  portals?: string[];
  /** Whether discovery uses CHAP authentication. */
  chapAuthDiscovery?: boolean;
  /** Whether sessions use CHAP authentication. */
  chapAuthSession?: boolean;
  /** The secret with the CHAP credentials. */
  secretRef?: LocalObjectReference;
  /** The initiator name. With iscsiInterface, a new interface is created for the connection. */
  initiatorName?: string;
}

/** A disk that is attached by iSCSI. */
export interface ISCSIPersistentVolumeSource {
  /** Address and port of the portal. Default port: 3260. */
  targetPortal: string;
  /** The qualified name of the target. */
  iqn: string;
  /** The logical unit number. */
  lun: number;
  /** The interface to use. Default: default (tcp). */
  iscsiInterface?: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** Further portals, for multipath. */
  portals?: string[];
  /** Whether discovery uses CHAP authentication. */
  chapAuthDiscovery?: boolean;
  /** Whether sessions use CHAP authentication. */
  chapAuthSession?: boolean;
  /** The secret with the CHAP credentials. */
  secretRef?: SecretReference;
  /** The initiator name. With iscsiInterface, a new interface is created for the connection. */
  initiatorName?: string;
}

/** A disk that is attached by Fibre Channel. */
export interface FCVolumeSource {
  /** World wide names of the targets. */
  targetWWNs?: string[];
  /** The logical unit number of the targets. */
  lun?: number;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** World wide identifiers of the volume. Either these, or targetWWNs with lun. */
  wwids?: string[];
}

/** An Azure file share. */
export interface AzureFileVolumeSource {
  /** The secret with the name and key of the storage account. */
  secretName: string;
  /** The name of the share. */
  shareName: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** An Azure file share. */
export interface AzureFilePersistentVolumeSource {
  /** The secret with the name and key of the storage account. */
  secretName: string;
  /** The name of the share. */
  shareName: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The namespace of the secret. Default: that of the claim. */
  secretNamespace: string | null;
}

/** A vSphere volume. */
export interface VsphereVirtualDiskVolumeSource {
  /** The path of the volume. */
  volumePath: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** The name of the storage policy profile. */
  storagePolicyName?: string;
  /** The ID of the storage policy profile. */
  storagePolicyID?: string;
}

/** A Photon disk. */
export interface PhotonPersistentDiskVolumeSource {
  /** The ID of the disk. */
  pdID: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
}

export type AzureDataDiskCachingMode = 'None' | 'ReadOnly' | 'ReadWrite';

export type AzureDataDiskKind = 'Shared' | 'Dedicated' | 'Managed';

/** An Azure data disk. */
export interface AzureDiskVolumeSource {
  /** The name of the disk in the blob storage. */
  diskName: string;
  /** The URI of the disk. */
  diskURI: string;
  /** The host caching: None, ReadOnly or ReadWrite. */
  cachingMode?: AzureDataDiskCachingMode;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** Shared, Dedicated or Managed. Default: Shared. */
  kind?: AzureDataDiskKind;
}

/** A Portworx volume. */
export interface PortworxVolumeSource {
  /** The ID of the volume. */
  volumeID: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A ScaleIO volume. */
export interface ScaleIOVolumeSource {
  /** The address of the API gateway. */
  gateway: string;
  /** The name of the storage system. */
  system: string;
  /** The secret with the credentials of the storage system. */
  secretRef: LocalObjectReference;
  /** Whether the gateway is reached by TLS. */
  sslEnabled?: boolean;
  /** The protection domain. */
  protectionDomain?: string;
  /** The storage pool in the protection domain. */
  storagePool?: string;
  /** ThickProvisioned or ThinProvisioned. Default: ThinProvisioned. */
  storageMode?: string;
  /** The name of the volume. */
  volumeName?: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A ScaleIO volume. */
export interface ScaleIOPersistentVolumeSource {
  /** The address of the API gateway. */
  gateway: string;
  /** The name of the storage system. */
  system: string;
  /** The secret with the credentials of the storage system. */
  secretRef: SecretReference;
  /** Whether the gateway is reached by TLS. */
  sslEnabled?: boolean;
  /** The protection domain. */
  protectionDomain?: string;
  /** The storage pool in the protection domain. */
  storagePool?: string;
  /** ThickProvisioned or ThinProvisioned. Default: ThinProvisioned. */
  storageMode?: string;
  /** The name of the volume. */
  volumeName?: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
}

/** A StorageOS volume. */
export interface StorageOSVolumeSource {
  /** The name of the volume, unique in its namespace. */
  volumeName?: string;
  /** The StorageOS namespace of the volume. Default: the namespace of the pod. */
  volumeNamespace?: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The secret with the credentials of the storage system. */
  secretRef?: LocalObjectReference;
}

/** A StorageOS volume. */
export interface StorageOSPersistentVolumeSource {
  /** The name of the volume, unique in its namespace. */
  volumeName?: string;
  /** The StorageOS namespace of the volume. Default: the namespace of the pod. */
  volumeNamespace?: string;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The secret with the credentials of the storage system. */
  secretRef?: ObjectReference;
}

/** The data of a ConfigMap, as files. */
export interface ConfigMapVolumeSource extends LocalObjectReference {
  /** The keys that become files, and their paths. Default: all keys. */
  items?: KeyToPath[];
  /** The permissions of the files. Default: 0644. */
  defaultMode?: number;
  /** Whether the ConfigMap may be missing. */
  optional?: boolean;
}

/** The keys of a ConfigMap, as files in a projected volume. */
export interface ConfigMapProjection extends LocalObjectReference {
  /** The objects of the list. */
  items?: KeyToPath[];
  /** Whether the ConfigMap or its keys may be missing. */
  optional?: boolean;
}

/** A token of the service account of the pod, as a file that is renewed. */
export interface ServiceAccountTokenProjection {
  /** The audience of the token. Default: the API server. */
  audience?: string;
  /** The lifetime of the token, at least 600. It is renewed after 80 % of it. Default: 3600. */
  expirationSeconds?: number;
  /** The path of the file in the volume. */
  path: string;
}

/** Certificates of ClusterTrustBundles, as a file. */
export interface ClusterTrustBundleProjection {
  /** The bundle. Either this, or signerName. */
  name?: string;
  /** Bundles of this signer, combined. */
  signerName?: string;
  /** Selects bundles of the signer. Absent: none; empty: all. */
  labelSelector?: meta.LabelSelector;
  /** Whether the bundles may be missing. */
  optional?: boolean;
  /** The path of the file in the volume. */
  path: string;
}

/** A private key and a certificate for the pod, as files that are renewed. */
export interface PodCertificateProjection {
  /** The signer that issues the certificate. */
  signerName?: string;
  /** The type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519. */
  keyType?: string;
  /** The longest lifetime that the certificate may have. Default: 86400. */
  maxExpirationSeconds?: number;
  /** The path of a file with the key and the certificate chain. */
  credentialBundlePath?: string;
  /** The path of a file with the key alone. */
  keyPath?: string;
  /** The path of a file with the certificate chain alone. */
  certificateChainPath?: string;
  /** Additional information that the signer gets. */
  userAnnotations?: Record<string, string>;
}

/** Several sources in one directory. */
export interface ProjectedVolumeSource {
  /** The sources. Each has exactly one field set. */
  sources: VolumeProjection[] | null;
  /** The mode of files that have none of their own. Default: 0644. */
  defaultMode?: number;
}

/** One source of a projected volume. Exactly one field is set. */
export interface VolumeProjection {
  /** The keys of a secret. */
  secret?: SecretProjection;
  /** Fields of the pod. */
  downwardAPI?: DownwardAPIProjection;
  /** The keys of a ConfigMap. */
  configMap?: ConfigMapProjection;
  /** A token of the service account. */
  serviceAccountToken?: ServiceAccountTokenProjection;
  /** Certificates of ClusterTrustBundles. */
  clusterTrustBundle?: ClusterTrustBundleProjection;
  /** A private key and a certificate for the pod. */
  podCertificate?: PodCertificateProjection;
}

/** A key of the data, and the file for it. */
export interface KeyToPath {
  /** The key in the data. */
  key: string;
  /** The path of the file in the volume. */
  path: string;
  /** The permissions of the file. */
  mode?: number;
}

/** A directory or disk of one node. */
export interface LocalVolumeSource {
  /** The path on the node: a directory, or a block device. */
  path: string;
  /** The file system of a block device. Default: chosen automatically. */
  fsType?: string;
}

/** Storage of a CSI driver. */
export interface CSIPersistentVolumeSource {
  /** The name of the driver. */
  driver: string;
  /** The ID of the volume, as the driver knows it. */
  volumeHandle: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Attributes that the driver gets. */
  volumeAttributes?: Record<string, string>;
  /** The secret for attaching and detaching. */
  controllerPublishSecretRef?: SecretReference;
  /** The secret for staging on the node. */
  nodeStageSecretRef?: SecretReference;
  /** The secret for mounting into the pod. */
  nodePublishSecretRef?: SecretReference;
  /** The secret for expanding the volume by the controller. */
  controllerExpandSecretRef?: SecretReference;
  /** The secret for expanding the volume on the node. */
  nodeExpandSecretRef?: SecretReference;
}

/** An ephemeral volume of a CSI driver. */
export interface CSIVolumeSource {
  /** The name of the driver. */
  driver: string;
  /** Mounts the volume read-only. Default: false. */
  readOnly?: boolean;
  /** The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty. */
  fsType?: string;
  /** Attributes that the driver gets. */
  volumeAttributes?: Record<string, string>;
  /** The secret for mounting into the pod. */
  nodePublishSecretRef?: LocalObjectReference;
}

/** A volume whose claim lives as long as the pod. */
export interface EphemeralVolumeSource {
  /** The claim to create. Its name is that of the pod and of the volume, with a dash between them. */
  volumeClaimTemplate?: PersistentVolumeClaimTemplate;
}

/** The claim that is created for an ephemeral volume. */
export interface PersistentVolumeClaimTemplate {
  /** Labels and annotations of the claim. */
  metadata: meta.ObjectMeta;
  /** The spec of the claim. */
  spec: PersistentVolumeClaimSpec;
}

/** A port of a container. */
export interface ContainerPort {
  /** A name of the port, to which services can refer. */
  name?: string;
  /** The port of the node that is forwarded to the container. */
  hostPort?: number;
  /** The port. */
  containerPort: number;
  /** TCP, UDP or SCTP. Default: TCP. */
  protocol?: Protocol;
  /** The address of the node for hostPort. */
  hostIP?: string;
}

/** A volume that is mounted into a container. */
export interface VolumeMount {
  /** The name of the volume in the pod. */
  name: string;
  /** Whether the mount is read-only. */
  readOnly?: boolean;
  /** Whether mounts below it are read-only, too. */
  recursiveReadOnly?: RecursiveReadOnlyMode;
  /** The path in the container. */
  mountPath: string;
  /** The path inside the volume. Default: the whole volume. */
  subPath?: string;
  /** Whether later mounts are propagated between the node and the container. */
  mountPropagation?: MountPropagationMode;
  /** The path inside the volume, with $(NAME) for environment variables. */
  subPathExpr?: string;
}

export type MountPropagationMode = 'None' | 'HostToContainer' | 'Bidirectional';

export type RecursiveReadOnlyMode = 'Disabled' | 'IfPossible' | 'Enabled' | (string & {});

/** A block device in a container. */
export interface VolumeDevice {
  /** The volume of the pod, which is of a claim with the mode Block. */
  name: string;
  /** The path of the device in the container. */
  devicePath: string;
}

/** An environment variable. */
export interface EnvVar {
  /** The name of the variable. */
  name: string;
  /** The value. $(NAME) is replaced by a variable before it, $$ by a dollar sign. */
  value?: string;
  /** The source of the value. */
  valueFrom?: EnvVarSource;
}

/** The source of an environment variable. */
export interface EnvVarSource {
  /** A field of the pod. */
  fieldRef?: ObjectFieldSelector;
  /** A request or a limit of a container. */
  resourceFieldRef?: ResourceFieldSelector;
  /** The data of a ConfigMap. */
  configMapKeyRef?: ConfigMapKeySelector;
  /** The data of a Secret. */
  secretKeyRef?: SecretKeySelector;
  /** A file of a volume. */
  fileKeyRef?: FileKeySelector;
}

/** A variable in a file of a volume. */
export interface FileKeySelector {
  /** The volume, an emptyDir. */
  volumeName: string;
  /** The path of the file in the volume. */
  path: string;
  /** The variable in the file. */
  key: string;
  /** Whether the file or the variable may be missing. */
  optional?: boolean;
}

/** A field of the pod. */
export interface ObjectFieldSelector {
  /** The version of the path. Default: v1. */
  apiVersion?: string;
  /** The path of the field, such as metadata.name. */
  fieldPath: string;
}

/** A resource of a container. */
export interface ResourceFieldSelector {
  /** The container. In environment variables the default is the container itself. */
  containerName?: string;
  /** The resource, such as limits.cpu. */
  resource: string;
  /** The unit of the value, such as 1m or 1Mi. Default: 1. */
  divisor: string;
}

/** A key of a ConfigMap. */
export interface ConfigMapKeySelector extends LocalObjectReference {
  /** The key. */
  key: string;
  /** Whether the object or the key may be missing. */
  optional?: boolean;
}

/** A key of a secret. */
export interface SecretKeySelector extends LocalObjectReference {
  /** The key. */
  key: string;
  /** Whether the object or the key may be missing. */
  optional?: boolean;
}

/** Environment variables from a ConfigMap or secret. */
export interface EnvFromSource {
  /** A prefix of each name. */
  prefix?: string;
  /** The ConfigMap. */
  configMapRef?: ConfigMapEnvSource;
  /** The secret. */
  secretRef?: SecretEnvSource;
}

/** A ConfigMap, each key of which is a variable. */
export interface ConfigMapEnvSource extends LocalObjectReference {
  /** Whether the ConfigMap may be missing. */
  optional?: boolean;
}

/** A secret, each key of which is a variable. */
export interface SecretEnvSource extends LocalObjectReference {
  /** Whether the secret may be missing. */
  optional?: boolean;
}

/** An HTTP header. */
export interface HTTPHeader {
  /** The name. */
  name: string;
  /** The value. */
  value: string;
}

/** An HTTP GET request. */
export interface HTTPGetAction {
  /** The path. Default: /. */
  path?: string;
  /** The port, by number or name. */
  port: number | string;
  /** The host. Default: the address of the pod. */
  host?: string;
  /** HTTP or HTTPS. Default: HTTP. */
  scheme?: URIScheme;
  /** Headers of the request. */
  httpHeaders?: HTTPHeader[];
}

export type URIScheme = 'HTTP' | 'HTTPS';

/** A TCP connection. */
export interface TCPSocketAction {
  /** The port, by number or name. */
  port: number | string;
  /** The host. Default: the address of the pod. */
  host?: string;
}

/** A gRPC health check. */
export interface GRPCAction {
  /** The port. */
  port: number;
  /** The service in the request. Default: empty. */
  service: string | null;
}

/** A command in the container. */
export interface ExecAction {
  /** The command and its arguments. It does not run in a shell. Exit code 0 is success. */
  command?: string[];
}

/** A pause. */
export interface SleepAction {
  /** The number of seconds. */
  seconds: number;
}

/** A health check of a container. */
export interface Probe extends ProbeHandler {
  /** The time from the start of the container to the first check. */
  initialDelaySeconds?: number;
  /** The time limit of a check. Default: 1. */
  timeoutSeconds?: number;
  /** The time between checks. Default: 10. */
  periodSeconds?: number;
  /** The number of successive successes after which a failed check counts as successful. Default: 1. */
  successThreshold?: number;
  /** The number of successive failures after which the check counts as failed. Default: 3. */
  failureThreshold?: number;
  /** The grace period of the container when the probe fails. */
  terminationGracePeriodSeconds?: number;
}

export type PullPolicy = 'Always' | 'Never' | 'IfNotPresent';

export type ResourceResizeRestartPolicy = 'NotRequired' | 'RestartContainer' | (string & {});

/** Effect of a change of a resource on a running container. */
export interface ContainerResizePolicy {
  /** cpu or memory. */
  resourceName: ResourceName;
  /** NotRequired or RestartContainer. Default: NotRequired. */
  restartPolicy: ResourceResizeRestartPolicy;
}

export type PreemptionPolicy = 'PreemptLowerPriority' | 'Never';

export type TerminationMessagePolicy = 'File' | 'FallbackToLogsOnError';

/** Linux capabilities of a container. */
export interface Capabilities {
  /** Capabilities to add. */
  add?: string[];
  /** Capabilities to remove. */
  drop?: string[];
}

/** Resources that a container requests, and their limits. */
export interface ResourceRequirements {
  /** The maximum amounts. */
  limits?: ResourceList;
  /** Amounts that the node reserves for it. Default: the limits. */
  requests?: ResourceList;
  /** Device claims that the container uses. */
  claims?: ResourceClaim[];
}

/** The size of a volume. */
export interface VolumeResourceRequirements {
  /** The maximum size. */
  limits?: ResourceList;
  /** The minimum size. */
  requests?: ResourceList;
}

/** A claim of the pod that a container uses. */
export interface ResourceClaim {
  /** The name of the entry in the resource claims of the pod. */
  name: string;
  /** One request of the claim. Empty: all of them. */
  request?: string;
}

/** A container of a pod: its image, and how to run it. */
export interface Container {
  /** The name of the container, unique in the pod. It cannot be changed. */
  name: string;
  /** The image of the container. */
  image?: string;
  /** The program to run. Default: the entrypoint of the image. $(NAME) is replaced by an environment variable. */
  command?: string[];
  /** Arguments of the program. Default: those of the image. $(NAME) is replaced by an environment variable. */
  args?: string[];
  /** The working directory. Default: that of the image. */
  workingDir?: string;
  /** Ports of the container. Ports that are not listed are reachable, too. */
  ports?: ContainerPort[];
  /** ConfigMaps and Secrets whose keys all become environment variables. */
  envFrom?: EnvFromSource[];
  /** Environment variables. */
  env?: EnvVar[];
  /** Resources that the container requests, and their limits. */
  resources: ResourceRequirements;
  /** Whether the container restarts when its resources change. */
  resizePolicy?: ContainerResizePolicy[];
  /** Restart policy of this container. Default: the policy of the pod. */
  restartPolicy?: ContainerRestartPolicy;
  /** Rules for certain exit codes. They take precedence over the restart policy. */
  restartPolicyRules?: ContainerRestartRule[];
  /** Volumes of the pod that are mounted into the container. */
  volumeMounts?: VolumeMount[];
  /** Block volumes of the pod that become devices of the container. */
  volumeDevices?: VolumeDevice[];
  /** A periodic probe. When it fails, the container is restarted. */
  livenessProbe?: Probe;
  /** A periodic probe. While it fails, services send no traffic to the pod. */
  readinessProbe?: Probe;
  /** A probe after the start. Other probes begin when it has succeeded. */
  startupProbe?: Probe;
  /** Hooks that run after the start and before the end of the container. */
  lifecycle?: Lifecycle;
  /** The file whose contents become the message of the status when the container ends. */
  terminationMessagePath?: string;
  /** File, or FallbackToLogsOnError to use the end of the log if there is no message. */
  terminationMessagePolicy?: TerminationMessagePolicy;
  /** Always, IfNotPresent or Never. Default: Always for the tag latest, IfNotPresent for others. */
  imagePullPolicy?: PullPolicy;
  /** Security settings. They take precedence over those of the pod. */
  securityContext?: SecurityContext;
  /** Whether standard input stays open. */
  stdin?: boolean;
  /** Whether standard input is closed when the first attached client disconnects. */
  stdinOnce?: boolean;
  /** Whether the container has a terminal. */
  tty?: boolean;
}

/** How a container is checked. One field is set. */
export interface ProbeHandler {
  /** A command. */
  exec?: ExecAction;
  /** An HTTP request. */
  httpGet?: HTTPGetAction;
  /** A TCP connection. */
  tcpSocket?: TCPSocketAction;
  /** A gRPC health check. */
  grpc?: GRPCAction;
}

/** An action of a lifecycle hook. One field is set. */
export interface LifecycleHandler {
  /** A command. */
  exec?: ExecAction;
  /** An HTTP request. */
  httpGet?: HTTPGetAction;
  /** Not supported. */
  tcpSocket?: TCPSocketAction;
  /** A pause. */
  sleep?: SleepAction;
}

export type Signal = 'SIGABRT' | 'SIGALRM' | 'SIGBUS' | 'SIGCHLD' | 'SIGCLD' | 'SIGCONT' | 'SIGFPE' | 'SIGHUP' | 'SIGILL' | 'SIGINT' | 'SIGIO' | 'SIGIOT' | 'SIGKILL' | 'SIGPIPE' | 'SIGPOLL' | 'SIGPROF' | 'SIGPWR' | 'SIGQUIT' | 'SIGSEGV' | 'SIGSTKFLT' | 'SIGSTOP' | 'SIGSYS' | 'SIGTERM' | 'SIGTRAP' | 'SIGTSTP' | 'SIGTTIN' | 'SIGTTOU' | 'SIGURG' | 'SIGUSR1' | 'SIGUSR2' | 'SIGVTALRM' | 'SIGWINCH' | 'SIGXCPU' | 'SIGXFSZ' | 'SIGRTMIN' | 'SIGRTMIN+1' | 'SIGRTMIN+2' | 'SIGRTMIN+3' | 'SIGRTMIN+4' | 'SIGRTMIN+5' | 'SIGRTMIN+6' | 'SIGRTMIN+7' | 'SIGRTMIN+8' | 'SIGRTMIN+9' | 'SIGRTMIN+10' | 'SIGRTMIN+11' | 'SIGRTMIN+12' | 'SIGRTMIN+13' | 'SIGRTMIN+14' | 'SIGRTMIN+15' | 'SIGRTMAX-14' | 'SIGRTMAX-13' | 'SIGRTMAX-12' | 'SIGRTMAX-11' | 'SIGRTMAX-10' | 'SIGRTMAX-9' | 'SIGRTMAX-8' | 'SIGRTMAX-7' | 'SIGRTMAX-6' | 'SIGRTMAX-5' | 'SIGRTMAX-4' | 'SIGRTMAX-3' | 'SIGRTMAX-2' | 'SIGRTMAX-1' | 'SIGRTMAX';

/** Hooks that run after the start and before the end of a container. */
export interface Lifecycle {
  /** Runs right after the start. If it fails, the container is stopped. */
  postStart?: LifecycleHandler;
  /** Runs before the container is stopped. */
  preStop?: LifecycleHandler;
  /** The signal that stops the container. Default: that of the image. */
  stopSignal?: Signal;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

/** Details of a waiting container. */
export interface ContainerStateWaiting {
  /** The reason, as one word for programs. */
  reason?: string;
  /** The reason, for people. */
  message?: string;
}

/** Details of a running container. */
export interface ContainerStateRunning {
  /** When it started. */
  startedAt: string | null;
}

/** Details of a terminated container. */
export interface ContainerStateTerminated {
  /** The exit code of the program. */
  exitCode: number;
  /** The signal that terminated the container. */
  signal?: number;
  /** The reason, as one word for programs. */
  reason?: string;
  /** The reason, for people: the termination message of the container. */
  message?: string;
  /** When it started. */
  startedAt: string | null;
  /** When it terminated. */
  finishedAt: string | null;
  /** Identifier in the container runtime. */
  containerID?: string;
}

/** The state of a container. One field is set. */
export interface ContainerState {
  /** The container is waiting to be started. */
  waiting?: ContainerStateWaiting;
  /** The container is running. */
  running?: ContainerStateRunning;
  /** The container has terminated. */
  terminated?: ContainerStateTerminated;
}

/** The state of a container. */
export interface ContainerStatus {
  /** The name of the container. */
  name: string;
  /** The current state. */
  state: ContainerState;
  /** The state of the last terminated run. */
  lastState: ContainerState;
  /** Whether it can serve traffic. */
  ready: boolean;
  /** The number of restarts. */
  restartCount: number;
  /** The image of the container. */
  image: string;
  /** The ID of the image, which contains its digest. */
  imageID: string;
  /** Identifier in the container runtime, such as containerd://1234. */
  containerID?: string;
  /** Whether it has started, and its startup probe has succeeded. */
  started?: boolean;
  /** Amounts that the node reserves for it. */
  allocatedResources?: ResourceList;
  /** Requests and limits in effect. */
  resources?: ResourceRequirements;
  /** The effective mounts. */
  volumeMounts?: VolumeMountStatus[];
  /** The initial user of the container. */
  user?: ContainerUser;
  /** The health of the devices of the container. */
  allocatedResourcesStatus?: ResourceStatus[];
  /** The signal that stops the container. */
  stopSignal?: Signal;
}

/** The health of the devices of one resource. */
export interface ResourceStatus {
  /** The name of the resource, or claim:NAME/REQUEST. */
  name: ResourceName;
  /** The health of each device. */
  resources?: ResourceHealth[];
}

export type ResourceHealthStatus = 'Healthy' | 'Unhealthy' | 'Unknown' | (string & {});

/** The health of a device. */
export interface ResourceHealth {
  /** The ID of the device. */
  resourceID: string;
  /** Healthy, Unhealthy or Unknown. */
  health?: ResourceHealthStatus;
  /** Details, for people. */
  message?: string;
}

/** The user of a container. */
export interface ContainerUser {
  /** The user, on Linux. */
  linux?: LinuxContainerUser;
}

/** The user of the first process of a container. */
export interface LinuxContainerUser {
  /** The user ID. */
  uid: number;
  /** The primary group ID. */
  gid: number;
  /** The other group IDs. */
  supplementalGroups?: number[];
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export type PodConditionType = 'ContainersReady' | 'Initialized' | 'Ready' | 'PodScheduled' | 'DisruptionTarget' | 'PodReadyToStartContainers' | 'PodResizePending' | 'PodResizeInProgress' | 'AllContainersRestarting' | (string & {});

/** A condition of a pod. */
export interface PodCondition {
  /** The type of the condition. */
  type: PodConditionType;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the condition was last checked. */
  lastProbeTime: string | null;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** The reason, as one word for programs. */
  reason?: string;
  /** The reason, for people. */
  message?: string;
}

export type PodResizeStatus = 'InProgress' | 'Deferred' | 'Infeasible' | (string & {});

/** A mount in a container. */
export interface VolumeMountStatus {
  /** The volume. */
  name: string;
  /** The path in the container. */
  mountPath: string;
  /** Whether it is mounted read-only. */
  readOnly?: boolean;
  /** Whether mounts below it are read-only, too. */
  recursiveReadOnly?: RecursiveReadOnlyMode;
  /** The state of the volume. */
  volumeStatus?: VolumeStatus;
}

/** The state of a volume. */
export interface VolumeStatus {
  /** The state of an image volume. */
  image?: ImageVolumeStatus;
}

/** The state of an image volume. */
export interface ImageVolumeStatus {
  /** The digest of the image. */
  imageRef?: string;
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

export type ContainerRestartPolicy = 'Always' | 'Never' | 'OnFailure' | (string & {});

/** A rule for restarts of a container. */
export interface ContainerRestartRule {
  /** Restart or RestartAllContainers. */
  action?: ContainerRestartRuleAction;
  /** The exit codes that the rule is for. */
  exitCodes?: ContainerRestartRuleOnExitCodes;
}

export type ContainerRestartRuleAction = 'Restart' | 'RestartAllContainers' | (string & {});

/** Exit codes. */
export interface ContainerRestartRuleOnExitCodes {
  /** In or NotIn. */
  operator?: ContainerRestartRuleOnExitCodesOperator;
  /** The exit codes. */
  values?: number[];
}

export type ContainerRestartRuleOnExitCodesOperator = 'In' | 'NotIn' | (string & {});

export type DNSPolicy = 'ClusterFirstWithHostNet' | 'ClusterFirst' | 'Default' | 'None';

/** Selects nodes. The terms are ORed. */
export interface NodeSelector {
  /** The terms. One of them must match. */
  nodeSelectorTerms: NodeSelectorTerm[];
}

/** A term that selects nodes. The requirements are ANDed; a term without any selects no node. */
export interface NodeSelectorTerm {
  /** Requirements for labels of the node. */
  matchExpressions?: NodeSelectorRequirement[];
  /** Requirements for fields of the node: metadata.name. */
  matchFields?: NodeSelectorRequirement[];
}

/** A requirement for a label or field of a node. */
export interface NodeSelectorRequirement {
  /** The label key. */
  key: string;
  /** How the label is compared: In, NotIn, Exists, DoesNotExist, and for nodes Gt and Lt. */
  operator: NodeSelectorOperator;
  /** The values to compare with. Empty for Exists and DoesNotExist, one integer for Gt and Lt. */
  values?: string[];
}

export type NodeSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';

/** Selects topologies. */
export interface TopologySelectorTerm {
  /** Requirements for topology labels. All must be met. */
  matchLabelExpressions?: TopologySelectorLabelRequirement[];
}

/** A requirement for a topology label. */
export interface TopologySelectorLabelRequirement {
  /** The label key. */
  key: string;
  /** The values, one of which the label must have. */
  values: string[];
}

/** Which nodes a pod must or should be on. */
export interface Affinity {
  /** By the labels of nodes. */
  nodeAffinity?: NodeAffinity;
  /** Near other pods. */
  podAffinity?: PodAffinity;
  /** Away from other pods. */
  podAntiAffinity?: PodAntiAffinity;
}

/** The pods near which a pod must or should run. */
export interface PodAffinity {
  /** Terms that must be met when the pod is scheduled. Later changes do not evict it. */
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  /** Terms with weights. The scheduler prefers nodes with the highest sum. */
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

/** The pods near which a pod must not or should not run. */
export interface PodAntiAffinity {
  /** Terms that must be met when the pod is scheduled. Later changes do not evict it. */
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  /** Terms with weights. The scheduler prefers nodes with the highest sum. */
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
}

/** A preferred term. */
export interface WeightedPodAffinityTerm {
  /** How much the term counts, from 1 to 100. */
  weight: number;
  /** The pods, and what near means. */
  podAffinityTerm: PodAffinityTerm;
}

/** Pods, and the topology in which they count as near. */
export interface PodAffinityTerm {
  /** Selects pods by labels. Absent: none. */
  labelSelector?: meta.LabelSelector;
  /** The namespaces of the pods. With namespaceSelector, both count. Neither: the namespace of this pod. */
  namespaces?: string[];
  /** The node label that makes a topology: nodes with the same value are near each other. */
  topologyKey: string;
  /** Selects namespaces of the pods by labels. Empty: all. */
  namespaceSelector?: meta.LabelSelector;
  /** Labels of this pod whose values other pods must have, too. */
  matchLabelKeys?: string[];
  /** Labels of this pod whose values other pods must not have. */
  mismatchLabelKeys?: string[];
}

/** The nodes on which a pod must or should run. */
export interface NodeAffinity {
  /** Terms that must be met when the pod is scheduled. Later changes do not evict it. */
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
  /** Terms with weights. The scheduler prefers nodes with the highest sum. */
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
}

/** A preferred term. */
export interface PreferredSchedulingTerm {
  /** How much the term counts, from 1 to 100. */
  weight: number;
  /** The nodes that are preferred. */
  preference: NodeSelectorTerm;
}

/** A property of a node that keeps pods away unless they tolerate it. */
export interface Taint {
  /** The key of the taint. */
  key: string;
  /** Its value. */
  value?: string;
  /** NoSchedule rejects new pods, PreferNoSchedule avoids them, NoExecute evicts running ones, too. */
  effect: TaintEffect;
  /** When the taint was added to the node. */
  timeAdded?: string;
}

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** A taint of nodes that the pod tolerates. */
export interface Toleration {
  /** The key of the taint. Empty with Exists: all taints. */
  key?: string;
  /** Exists, or Equal to compare the value. Default: Equal. */
  operator?: TolerationOperator;
  /** The value of the taint. */
  value?: string;
  /** The effect of the taint. Empty: all effects. */
  effect?: TaintEffect;
  /** How long NoExecute is tolerated. Absent: forever. */
  tolerationSeconds?: number;
}

export type TolerationOperator = 'Exists' | 'Equal' | 'Lt' | 'Gt';

/** A condition that must be true for the pod to be ready. */
export interface PodReadinessGate {
  /** The type of the condition in the status of the pod. */
  conditionType: PodConditionType;
}

/** The desired state of a pod. */
export interface PodSpec {
  /** Volumes that the containers can mount. */
  volumes?: Volume[];
  /**
   * Containers that run to completion one after the other before the others start. Those with restartPolicy Always keep
   * running as sidecars.
   */
  initContainers?: Container[];
  /** The containers; there is at least one, and each has its own name. */
  containers: Container[];
  /** Containers that were added to the running pod for debugging. */
  ephemeralContainers?: EphemeralContainer[];
  /** When containers are restarted: Always, OnFailure or Never. Default: Always. */
  restartPolicy?: RestartPolicy;
  /** How many seconds containers have to end after SIGTERM. Default: 30. */
  terminationGracePeriodSeconds?: number;
  /** How many seconds the pod may run in total. */
  activeDeadlineSeconds?: number;
  /** Where names are resolved: ClusterFirst, ClusterFirstWithHostNet, Default or None. Default: ClusterFirst. */
  dnsPolicy?: DNSPolicy;
  /** Labels that the node must have. */
  nodeSelector?: Record<string, string>;
  /** The service account that the containers run as. */
  serviceAccountName?: string;
  /** An old name of serviceAccountName. */
  serviceAccount?: string;
  /** Whether a token of the service account is mounted into the containers. */
  automountServiceAccountToken?: boolean;
  /** The node that the pod runs on; set by the scheduler. */
  nodeName?: string;
  /** Whether the pod uses the network of its node. */
  hostNetwork?: boolean;
  /** Whether the pod sees the processes of its node. */
  hostPID?: boolean;
  /** Whether the pod shares inter-process communication with its node. */
  hostIPC?: boolean;
  /** Whether the containers see the processes of each other. */
  shareProcessNamespace?: boolean;
  /** Users, groups and other settings of security for the whole pod. */
  securityContext?: PodSecurityContext;
  /** Secrets to pull images with. */
  imagePullSecrets?: LocalObjectReference[];
  /** The host name. Default: the name of the pod. */
  hostname?: string;
  /** With hostname, gives the pod a DNS name. */
  subdomain?: string;
  /** Rules for the choice of the node. */
  affinity?: Affinity;
  /** The scheduler that assigns the pod to a node. */
  schedulerName?: string;
  /** Taints of nodes that the pod tolerates. */
  tolerations?: Toleration[];
  /** Lines for the hosts file of the containers. */
  hostAliases?: HostAlias[];
  /** The name of the priority class of the pod. */
  priorityClassName?: string;
  /** The priority. Set from the priority class. */
  priority?: number;
  /** Name servers and search domains, in addition to those of dnsPolicy. */
  dnsConfig?: PodDNSConfig;
  /** Conditions that must be true, besides ready containers, for the pod to be ready. */
  readinessGates?: PodReadinessGate[];
  /** The runtime class that the containers run in. */
  runtimeClassName?: string;
  /** Whether containers get environment variables for services of their namespace. Default: true. */
  enableServiceLinks?: boolean;
  /** Whether pods of lower priority may be evicted for this one: PreemptLowerPriority or Never. */
  preemptionPolicy?: PreemptionPolicy;
  /** Resources that the pod uses beyond its containers. Set from the runtime class. */
  overhead?: ResourceList;
  /** How evenly pods are spread over topologies such as zones and nodes. */
  topologySpreadConstraints?: TopologySpreadConstraint[];
  /** Whether the host name is the full DNS name. */
  setHostnameAsFQDN?: boolean;
  /** The operating system of the containers. */
  os?: PodOS;
  /** Whether the pod shares the user namespace of its node. Default: true. */
  hostUsers?: boolean;
  /** Gates. As long as there is one, the pod is not scheduled. */
  schedulingGates?: PodSchedulingGate[];
  /** Claims of devices that the containers use. */
  resourceClaims?: PodResourceClaim[];
  /** Requests and limits of the pod as a whole. */
  resources?: ResourceRequirements;
  /** The host name. It takes precedence over hostname and subdomain. */
  hostnameOverride?: string;
  /** The group that the pod is scheduled with. */
  schedulingGroup?: PodSchedulingGroup;
}

/** A claim to devices that the containers of a pod can use. Exactly one source is set. */
export interface PodResourceClaim {
  /** The name by which containers refer to the claim. */
  name: string;
  /** An existing claim in the namespace of the pod. */
  resourceClaimName?: string;
  /** A template from which a claim is created for this pod. */
  resourceClaimTemplateName?: string;
}

/** The claim that was created for an entry of the pod. */
export interface PodResourceClaimStatus {
  /** The name of the entry. */
  name: string;
  /** The name of the claim. Absent: no claim was needed. */
  resourceClaimName?: string;
}

/** The claim that was created for extended resources of a pod. */
export interface PodExtendedResourceClaimStatus {
  /** The mapping of resources of containers to requests of the claim. */
  requestMappings: ContainerExtendedResourceRequest[];
  /** The name of the claim. */
  resourceClaimName: string;
}

/** The request of a claim for an extended resource of a container. */
export interface ContainerExtendedResourceRequest {
  /** The container. */
  containerName: string;
  /** The extended resource. */
  resourceName: string;
  /** The request in the claim. */
  requestName: string;
}

export type OSName = 'linux' | 'windows' | (string & {});

/** An operating system. */
export interface PodOS {
  /** linux or windows. */
  name: OSName;
}

/** A gate that keeps a pod from being scheduled. */
export interface PodSchedulingGate {
  /** The name of the gate. */
  name: string;
}

/** The group that a pod is scheduled with. */
export interface PodSchedulingGroup {
  /** The name of the group. */
  podGroupName?: string;
}

export type UnsatisfiableConstraintAction = 'DoNotSchedule' | 'ScheduleAnyway';

export type NodeInclusionPolicy = 'Ignore' | 'Honor';

/** How evenly pods are spread over a topology. */
export interface TopologySpreadConstraint {
  /** How much the number of pods in two domains may differ. */
  maxSkew: number;
  /** The node label that makes a domain: nodes with the same value are in the same one. */
  topologyKey: string;
  /** DoNotSchedule to wait, ScheduleAnyway to prefer an even spread only. */
  whenUnsatisfiable: UnsatisfiableConstraintAction;
  /** Selects the pods that are counted, in the namespace of this pod. */
  labelSelector?: meta.LabelSelector;
  /** The number of domains below which the global minimum counts as 0. Default: 1. */
  minDomains?: number;
  /** Honor counts only nodes that the affinity of the pod allows, Ignore counts all. Default: Honor. */
  nodeAffinityPolicy?: NodeInclusionPolicy;
  /** Honor leaves out nodes whose taints the pod does not tolerate, Ignore counts all. Default: Ignore. */
  nodeTaintsPolicy?: NodeInclusionPolicy;
  /** Labels of this pod whose values counted pods must have, too. */
  matchLabelKeys?: string[];
}

/** A line of the hosts file. */
export interface HostAlias {
  /** The address. */
  ip: string;
  /** The names. */
  hostnames?: string[];
}

export type PodFSGroupChangePolicy = 'OnRootMismatch' | 'Always';

export type SupplementalGroupsPolicy = 'Merge' | 'Strict';

export type PodSELinuxChangePolicy = 'Recursive' | 'MountOption' | (string & {});

/** Security settings for all containers of a pod. A container can override them. */
export interface PodSecurityContext {
  /** The SELinux labels. */
  seLinuxOptions?: SELinuxOptions;
  /** Settings for Windows. */
  windowsOptions?: WindowsSecurityContextOptions;
  /** The user id that processes run as. */
  runAsUser?: number;
  /** The group id that processes run as. */
  runAsGroup?: number;
  /** Whether a container that would run as root is not started. */
  runAsNonRoot?: boolean;
  /** Further groups of the processes. */
  supplementalGroups?: number[];
  /** Whether groups of the image are added: Merge or Strict. Default: Merge. */
  supplementalGroupsPolicy?: SupplementalGroupsPolicy;
  /** The group that owns the files of volumes. */
  fsGroup?: number;
  /** Kernel parameters of the pod. */
  sysctls?: Sysctl[];
  /** Always to change the group of files at each mount, OnRootMismatch only if needed. */
  fsGroupChangePolicy?: PodFSGroupChangePolicy;
  /** Which system calls are allowed. */
  seccompProfile?: SeccompProfile;
  /** The AppArmor profile. */
  appArmorProfile?: AppArmorProfile;
  /** How volumes get their SELinux label: Recursive or MountOption. */
  seLinuxChangePolicy?: PodSELinuxChangePolicy;
}

/** A seccomp profile. */
export interface SeccompProfile {
  /** Localhost, RuntimeDefault or Unconfined. */
  type: SeccompProfileType;
  /** The path of the profile on the node, for Localhost. */
  localhostProfile?: string;
}

export type SeccompProfileType = 'Unconfined' | 'RuntimeDefault' | 'Localhost';

/** An AppArmor profile. */
export interface AppArmorProfile {
  /** Localhost, RuntimeDefault or Unconfined. */
  type: AppArmorProfileType;
  /** The name of the profile on the node, for Localhost. */
  localhostProfile?: string;
}

export type AppArmorProfileType = 'Unconfined' | 'RuntimeDefault' | 'Localhost';

export type PodQOSClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/** Settings of the resolver. */
export interface PodDNSConfig {
  /** Addresses of name servers. */
  nameservers?: string[];
  /** Search domains. */
  searches?: string[];
  /** Options of the resolver. */
  options?: PodDNSConfigOption[];
}

/** An option of the resolver. */
export interface PodDNSConfigOption {
  /** The name. */
  name?: string;
  /** The value. */
  value?: string;
}

/** An address of a pod. */
export interface PodIP {
  /** The address. */
  ip: string;
}

/** An address of a node. */
export interface HostIP {
  /** The address. */
  ip: string;
}

/** The fields that ephemeral containers share with others. */
export interface EphemeralContainerCommon {
  /** The name of the container, unique in the pod. It cannot be changed. */
  name: string;
  /** The image of the container. */
  image?: string;
  /** The program to run. Default: the entrypoint of the image. $(NAME) is replaced by an environment variable. */
  command?: string[];
  /** Arguments of the program. Default: those of the image. $(NAME) is replaced by an environment variable. */
  args?: string[];
  /** The working directory. Default: that of the image. */
  workingDir?: string;
  /** Ports of the container. Ports that are not listed are reachable, too. */
  ports?: ContainerPort[];
  /** ConfigMaps and Secrets whose keys all become environment variables. */
  envFrom?: EnvFromSource[];
  /** Environment variables. */
  env?: EnvVar[];
  /** Resources that the container requests, and their limits. */
  resources: ResourceRequirements;
  /** Whether the container restarts when its resources change. */
  resizePolicy?: ContainerResizePolicy[];
  /** Restart policy of this container. Default: the policy of the pod. */
  restartPolicy?: ContainerRestartPolicy;
  /** Rules for certain exit codes. They take precedence over the restart policy. */
  restartPolicyRules?: ContainerRestartRule[];
  /** Volumes of the pod that are mounted into the container. */
  volumeMounts?: VolumeMount[];
  /** Block volumes of the pod that become devices of the container. */
  volumeDevices?: VolumeDevice[];
  /** A periodic probe. When it fails, the container is restarted. */
  livenessProbe?: Probe;
  /** A periodic probe. While it fails, services send no traffic to the pod. */
  readinessProbe?: Probe;
  /** A probe after the start. Other probes begin when it has succeeded. */
  startupProbe?: Probe;
  /** Hooks that run after the start and before the end of the container. */
  lifecycle?: Lifecycle;
  /** The file whose contents become the message of the status when the container ends. */
  terminationMessagePath?: string;
  /** File, or FallbackToLogsOnError to use the end of the log if there is no message. */
  terminationMessagePolicy?: TerminationMessagePolicy;
  /** Always, IfNotPresent or Never. Default: Always for the tag latest, IfNotPresent for others. */
  imagePullPolicy?: PullPolicy;
  /** Security settings. They take precedence over those of the pod. */
  securityContext?: SecurityContext;
  /** Whether standard input stays open. */
  stdin?: boolean;
  /** Whether standard input is closed when the first attached client disconnects. */
  stdinOnce?: boolean;
  /** Whether the container has a terminal. */
  tty?: boolean;
}

/** A container that is added to a running pod for debugging. */
export interface EphemeralContainer extends EphemeralContainerCommon {
  /** The container whose processes are visible. */
  targetContainerName?: string;
}

/** The observed state of a pod, as its node reports it. */
export interface PodStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** Pending, Running, Succeeded, Failed or Unknown. */
  phase?: PodPhase;
  /** Conditions of the pod: PodScheduled, Initialized, ContainersReady, Ready and others. */
  conditions?: PodCondition[];
  /** The reason of the state, for people. */
  message?: string;
  /** The reason of the state, as one word for programs. */
  reason?: string;
  /** The node on which preemption makes room for the pod. */
  nominatedNodeName?: string;
  /** The address of its node. */
  hostIP?: string;
  /** The addresses of its node. */
  hostIPs?: HostIP[];
  /** The address of the pod. */
  podIP?: string;
  /** The addresses of the pod, one for each IP family. */
  podIPs?: PodIP[];
  /** When the kubelet accepted the pod. */
  startTime?: string;
  /** The state of each init container. */
  initContainerStatuses?: ContainerStatus[];
  /** The state of each container. */
  containerStatuses?: ContainerStatus[];
  /** Guaranteed, Burstable or BestEffort, derived from the requests of the containers. */
  qosClass?: PodQOSClass;
  /** The state of each ephemeral container. */
  ephemeralContainerStatuses?: ContainerStatus[];
  /** Whether a change of its resources is in progress. Deprecated: see the conditions. */
  resize?: PodResizeStatus;
  /** The claims that were created for the pod. */
  resourceClaimStatuses?: PodResourceClaimStatus[];
  /** The claim that was created for extended resources of the pod. */
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  /** The resources that the node has allocated to the pod as a whole. */
  allocatedResources?: ResourceList;
  /** The resources that are in effect for the pod as a whole. */
  resources?: ResourceRequirements;
  /** Resources of the node that claims of the pod use. */
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableResourceClaimStatus[];
}

/** The status of a pod, as nodes report it. */
export interface PodStatusResult extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The observed state. */
  status: PodStatus;
}

/** A set of containers that run together on one node, with one address and shared volumes. */
export interface Pod extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: PodSpec;
  /** The observed state. */
  status: PodStatus;
}

/** A list of Pod objects. */
export interface PodList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Pod[];
}

/** The pods that a controller creates. */
export interface PodTemplateSpec {
  /** Labels and annotations of the pods. */
  metadata: meta.ObjectMeta;
  /** The spec of the pods. */
  spec: PodSpec;
}

/** A template of pods, as an object of its own. */
export interface PodTemplate extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The pods that are created. */
  template: PodTemplateSpec;
}

/** A list of PodTemplate objects. */
export interface PodTemplateList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: PodTemplate[];
}

/** The desired state of a ReplicationController. */
export interface ReplicationControllerSpec {
  /** The desired number of pods. Default: 1. */
  replicas?: number;
  /** How many seconds a new pod must be ready to count as available. Default: 0. */
  minReadySeconds?: number;
  /** Labels of the pods. Default: those of the template. */
  selector?: Record<string, string>;
  /** The template of the pods. */
  template?: PodTemplateSpec;
}

/** The observed state of a ReplicationController. */
export interface ReplicationControllerStatus {
  /** The number of pods. */
  replicas: number;
  /** The number of pods with all labels of the template. */
  fullyLabeledReplicas?: number;
  /** The number of ready pods. */
  readyReplicas?: number;
  /** The number of pods that have been ready for minReadySeconds. */
  availableReplicas?: number;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** Conditions that keep the replicas from being created. */
  conditions?: ReplicationControllerCondition[];
}

export type ReplicationControllerConditionType = 'ReplicaFailure' | (string & {});

/** A condition of a ReplicationController. */
export interface ReplicationControllerCondition {
  /** The type of the condition. */
  type: ReplicationControllerConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** Keeps a number of identical pods running. ReplicaSet is its successor. */
export interface ReplicationController extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ReplicationControllerSpec;
  /** The observed state. */
  status: ReplicationControllerStatus;
}

/** A list of ReplicationController objects. */
export interface ReplicationControllerList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ReplicationController[];
}

export type ServiceAffinity = 'ClientIP' | 'None';

/** Settings of session affinity. */
export interface SessionAffinityConfig {
  /** Settings of affinity by client address. */
  clientIP?: ClientIPConfig;
}

/** Settings of affinity by client address. */
export interface ClientIPConfig {
  /** How many seconds a client keeps its endpoint. From 1 to 86400. Default: 10800. */
  timeoutSeconds?: number;
}

export type ServiceType = 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';

export type ServiceInternalTrafficPolicy = 'Cluster' | 'Local';

export type ServiceExternalTrafficPolicy = 'Cluster' | 'Local';

/** The observed state of a service. */
export interface ServiceStatus {
  /** The state of the load balancer. */
  loadBalancer: LoadBalancerStatus;
  /** Conditions of the service. */
  conditions?: meta.Condition[];
}

/** The state of a load balancer. */
export interface LoadBalancerStatus {
  /** The addresses of the load balancer. */
  ingress?: LoadBalancerIngress[];
}

/** An address of a load balancer. */
export interface LoadBalancerIngress {
  /** The IP address. */
  ip?: string;
  /** The host name. */
  hostname?: string;
  /** VIP if packets keep the address as destination, Proxy if not. Default: VIP. */
  ipMode?: LoadBalancerIPMode;
  /** The ports. */
  ports?: PortStatus[];
}

export type IPFamily = 'IPv4' | 'IPv6' | '';

export type IPFamilyPolicy = 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';

/** The desired state of a service. */
export interface ServiceSpec {
  /** The ports at which the service listens. */
  ports?: ServicePort[];
  /** Labels of the destination pods. Without a selector, other clients manage the endpoints. */
  selector?: Record<string, string>;
  /** The address inside the cluster, set by the server. None for a headless service. */
  clusterIP?: string;
  /** The addresses inside the cluster, one for each IP family. The first is clusterIP. */
  clusterIPs?: string[];
  /** ClusterIP, NodePort, LoadBalancer or ExternalName: how the service is exposed. */
  type?: ServiceType;
  /** Addresses outside of the cluster whose traffic nodes accept for the service. */
  externalIPs?: string[];
  /** ClientIP to send each client to the same pod, or None. Default: None. */
  sessionAffinity?: ServiceAffinity;
  /** The requested address of the load balancer. Not every load balancer supports it. */
  loadBalancerIP?: string;
  /** The ranges of clients that the load balancer accepts, as CIDRs. */
  loadBalancerSourceRanges?: string[];
  /** The DNS name of an ExternalName service. */
  externalName?: string;
  /** Local to keep external traffic on the node that receives it, Cluster to send it to any pod. */
  externalTrafficPolicy?: ServiceExternalTrafficPolicy;
  /** The port at which nodes report whether they have pods of the service. */
  healthCheckNodePort?: number;
  /** Whether pods that are not ready have addresses in DNS, too. */
  publishNotReadyAddresses?: boolean;
  /** Settings of session affinity. */
  sessionAffinityConfig?: SessionAffinityConfig;
  /** IPv4, IPv6 or both. */
  ipFamilies?: IPFamily[];
  /** The number of IP families: SingleStack, PreferDualStack or RequireDualStack. */
  ipFamilyPolicy?: IPFamilyPolicy;
  /** Whether ports of the nodes are allocated for a load balancer. Default: true. */
  allocateLoadBalancerNodePorts?: boolean;
  /** The class of the load balancer. */
  loadBalancerClass?: string;
  /** Local to keep internal traffic on its node, Cluster to send it to any pod. */
  internalTrafficPolicy?: ServiceInternalTrafficPolicy;
  /** The preferred pods, such as those nearby. */
  trafficDistribution?: string;
}

/** A port of a service. */
export interface ServicePort {
  /** The name of the port. Optional if there is only one. */
  name?: string;
  /** TCP, UDP or SCTP. Default: TCP. */
  protocol?: Protocol;
  /** The application protocol, such as http, as a hint. */
  appProtocol?: string;
  /** The port of the service. */
  port: number;
  /** The port of the pods, by number or name. Default: the same as port. */
  targetPort: number | string;
  /** The port of every node, set by the server for NodePort and LoadBalancer. */
  nodePort?: number;
}

/** A stable name and address for a changing set of pods. */
export interface Service extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ServiceSpec;
  /** The observed state. */
  status: ServiceStatus;
}

/** A list of Service objects. */
export interface ServiceList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** List of services. */
  items: Service[];
}

/** An identity for processes in pods. */
export interface ServiceAccount extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** Secrets that pods of this account may use. */
  secrets?: ObjectReference[];
  /** Secrets for pulling images, for pods without their own. */
  imagePullSecrets?: LocalObjectReference[];
  /** Whether a token of the account is mounted into pods. A pod can override it. */
  automountServiceAccountToken?: boolean;
}

/** A list of ServiceAccount objects. */
export interface ServiceAccountList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ServiceAccount[];
}

/** The endpoints of a service. Deprecated: use EndpointSlices. */
export interface Endpoints extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** Addresses with common ports. */
  subsets?: EndpointSubset[];
}

/** Addresses with common ports. */
export interface EndpointSubset {
  /** Addresses that are ready. */
  addresses?: EndpointAddress[];
  /** Addresses that are not ready. */
  notReadyAddresses?: EndpointAddress[];
  /** The ports of each address. */
  ports?: EndpointPort[];
}

/** An address. */
export interface EndpointAddress {
  /** The IP address. */
  ip: string;
  /** The host name, for DNS. */
  hostname?: string;
  /** The node of the endpoint. */
  nodeName?: string;
  /** The object behind the endpoint, usually a pod. */
  targetRef?: ObjectReference;
}

/** A port. */
export interface EndpointPort {
  /** The name of the port in the service. */
  name?: string;
  /** The number. */
  port: number;
  /** TCP, UDP or SCTP. Default: TCP. */
  protocol?: Protocol;
  /** The application protocol, such as http or kubernetes.io/h2c. */
  appProtocol?: string;
}

/** A list of Endpoints objects. */
export interface EndpointsList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Endpoints[];
}

/** The desired state of a node. */
export interface NodeSpec {
  /** The range of pod addresses of the node. */
  podCIDR?: string;
  /** The ranges of pod addresses for each IP family. The first is podCIDR. */
  podCIDRs?: string[];
  /** Identifier of the machine in its cloud. */
  providerID?: string;
  /** Whether new pods are kept off the node. */
  unschedulable?: boolean;
  /** Taints of the node. Pods that do not tolerate them do not run on it. */
  taints?: Taint[];
  /** No longer used. */
  configSource?: NodeConfigSource;
  /** No longer used. */
  externalID?: string;
}

/** A source of kubelet configuration. No longer supported. */
export interface NodeConfigSource {
  /** A ConfigMap. */
  configMap?: ConfigMapNodeConfigSource;
}

/** A ConfigMap with kubelet configuration. No longer supported. */
export interface ConfigMapNodeConfigSource {
  /** The namespace. */
  namespace: string;
  /** The name. */
  name: string;
  /** The UID. */
  uid?: string;
  /** The version. */
  resourceVersion?: string;
  /** The key with the configuration. */
  kubeletConfigKey: string;
}

/** A port of a daemon. */
export interface DaemonEndpoint {
  /** The number of the port. */
  Port: number;
}

/** Ports of daemons on a node. */
export interface NodeDaemonEndpoints {
  /** The port of the kubelet. */
  kubeletEndpoint: DaemonEndpoint;
}

/** Features of a runtime handler. */
export interface NodeRuntimeHandlerFeatures {
  /** Whether mounts can be read-only recursively. */
  recursiveReadOnlyMounts?: boolean;
  /** Whether pods can have user namespaces. */
  userNamespaces?: boolean;
}

/** A runtime handler of a node. */
export interface NodeRuntimeHandler {
  /** The name. Empty: the default. */
  name: string;
  /** Features of the handler. */
  features?: NodeRuntimeHandlerFeatures;
}

/** Features of the container runtime of a node. */
export interface NodeFeatures {
  /** Whether supplementalGroupsPolicy has an effect. */
  supplementalGroupsPolicy?: boolean;
}

/** Information about a machine and its software. */
export interface NodeSystemInfo {
  /** The ID of the machine. */
  machineID: string;
  /** The ID of the machine in its firmware. */
  systemUUID: string;
  /** An ID that changes with every boot. */
  bootID: string;
  /** The version of the kernel. */
  kernelVersion: string;
  /** The name of the operating system. */
  osImage: string;
  /** The name and version of the container runtime. */
  containerRuntimeVersion: string;
  /** The version of the kubelet. */
  kubeletVersion: string;
  /** No longer used. */
  kubeProxyVersion: string;
  /** linux or windows. */
  operatingSystem: string;
  /** The architecture of the machine, such as amd64. */
  architecture: string;
  /** Swap space of the machine. */
  swap?: NodeSwapStatus;
}

/** Swap of a node. */
export interface NodeSwapStatus {
  /** The size in bytes. */
  capacity?: number;
}

/** The state of kubelet configuration. No longer supported. */
export interface NodeConfigStatus {
  /** The assigned configuration. */
  assigned?: NodeConfigSource;
  /** The configuration in use. */
  active?: NodeConfigSource;
  /** The configuration to fall back to. */
  lastKnownGood?: NodeConfigSource;
  /** A problem with the configuration. */
  error?: string;
}

/** The observed state of a node. */
export interface NodeStatus {
  /** Resources of the node. */
  capacity?: ResourceList;
  /** Resources of the node that pods may use. */
  allocatable?: ResourceList;
  /** No longer used. */
  phase?: NodePhase;
  /** Conditions of the node. Ready means that it can run pods. */
  conditions?: NodeCondition[];
  /** Names and addresses at which the node is reached. */
  addresses?: NodeAddress[];
  /** Ports of the node's own daemons. */
  daemonEndpoints: NodeDaemonEndpoints;
  /** Information about the machine and its software. */
  nodeInfo: NodeSystemInfo;
  /** Container images that are on the node. */
  images?: ContainerImage[];
  /** Volumes that pods on the node use. */
  volumesInUse?: string[];
  /** Volumes that are attached to the node. */
  volumesAttached?: AttachedVolume[];
  /** No longer used. */
  config?: NodeConfigStatus;
  /** The handlers of the container runtime, with their features. */
  runtimeHandlers?: NodeRuntimeHandler[];
  /** Features of the container runtime. */
  features?: NodeFeatures;
  /** Features that the node declares. */
  declaredFeatures?: string[];
}

/** A volume that is attached to a node. */
export interface AttachedVolume {
  /** The name of the volume. */
  name: string;
  /** The path of the device on the node. */
  devicePath: string;
}

/** Pods that a node avoids. */
export interface AvoidPods {
  /** The pods. */
  preferAvoidPods?: PreferAvoidPodsEntry[];
}

/** Pods that a node avoids. */
export interface PreferAvoidPodsEntry {
  /** The pods. */
  podSignature: PodSignature;
  /** Since when. */
  evictionTime: string | null;
  /** The reason, as one word. */
  reason?: string;
  /** The reason, for people. */
  message?: string;
}

/** Selects pods. */
export interface PodSignature {
  /** The controller of the pods. */
  podController?: meta.OwnerReference;
}

/** An image on a node. */
export interface ContainerImage {
  /** The names of the image. */
  names: string[] | null;
  /** The size in bytes. */
  sizeBytes?: number;
}

export type NodePhase = 'Pending' | 'Running' | 'Terminated';

export type NodeConditionType = 'Ready' | 'MemoryPressure' | 'DiskPressure' | 'PIDPressure' | 'NetworkUnavailable' | (string & {});

/** A condition of a node. */
export interface NodeCondition {
  /** The type of the condition. */
  type: NodeConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the node last reported the condition. */
  lastHeartbeatTime: string | null;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** The reason, as one word for programs. */
  reason?: string;
  /** The reason, for people. */
  message?: string;
}

export type NodeAddressType = 'Hostname' | 'InternalIP' | 'ExternalIP' | 'InternalDNS' | 'ExternalDNS' | (string & {});

/** A name or address of a node. */
export interface NodeAddress {
  /** Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS. */
  type: NodeAddressType;
  /** The name or address. */
  address: string;
}

export type ResourceName = 'cpu' | 'memory' | 'storage' | 'ephemeral-storage' | 'pods' | 'services' | 'replicationcontrollers' | 'resourcequotas' | 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'services.nodeports' | 'services.loadbalancers' | 'requests.cpu' | 'requests.memory' | 'requests.storage' | 'requests.ephemeral-storage' | 'limits.cpu' | 'limits.memory' | 'limits.ephemeral-storage' | (string & {});

export type ResourceList = Record<string, string>;

/** A machine, physical or virtual, that runs pods. */
export interface Node extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: NodeSpec;
  /** The observed state. */
  status: NodeStatus;
}

/** A list of Node objects. */
export interface NodeList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Node[];
}

export type FinalizerName = 'kubernetes' | (string & {});

/** The desired state of a namespace. */
export interface NamespaceSpec {
  /** Finalizers that must be removed before the namespace is deleted. */
  finalizers?: FinalizerName[];
}

/** The observed state of a namespace. */
export interface NamespaceStatus {
  /** Active, or Terminating while its content is being deleted. */
  phase?: NamespacePhase;
  /** Conditions that describe the progress of a deletion. */
  conditions?: NamespaceCondition[];
}

export type NamespacePhase = 'Active' | 'Terminating';

export type NamespaceConditionType = 'NamespaceDeletionDiscoveryFailure' | 'NamespaceDeletionContentFailure' | 'NamespaceDeletionGroupVersionParsingFailure' | 'NamespaceContentRemaining' | 'NamespaceFinalizersRemaining' | (string & {});

/** A condition of a namespace. */
export interface NamespaceCondition {
  /** The type of the condition. */
  type: NamespaceConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** A scope for names: objects in different namespaces may have the same name. */
export interface Namespace extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: NamespaceSpec;
  /** The observed state. */
  status: NamespaceStatus;
}

/** A list of Namespace objects. */
export interface NamespaceList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Namespace[];
}

/** Assigns a pod to a node. */
export interface Binding extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The node. */
  target: ObjectReference;
}

/** Conditions of an operation. */
export interface Preconditions {
  /** The UID that the object must have. */
  uid?: string;
}

/** Options of a request for logs. */
export interface PodLogOptions extends meta.TypeMeta {
  /** The container. Default: the only one of the pod. */
  container?: string;
  /** Whether the log is sent as it is written. */
  follow?: boolean;
  /** Whether the log is that of the container before its last restart. */
  previous?: boolean;
  /** Restricts the log to the last seconds. */
  sinceSeconds?: number;
  /** Restricts the log to lines after a time. */
  sinceTime?: string;
  /** Whether lines begin with their time. */
  timestamps?: boolean;
  /** The maximum number of lines from the end. */
  tailLines?: number;
  /** The maximum number of bytes. */
  limitBytes?: number;
  /** Whether the certificate of the kubelet is not verified. */
  insecureSkipTLSVerifyBackend?: boolean;
  /** All, Stdout or Stderr. Default: All. */
  stream?: string;
}

/** Options of a request to attach to a container. */
export interface PodAttachOptions extends meta.TypeMeta {
  /** Whether the client sends stdin. Default: false. */
  stdin?: boolean;
  /** Whether the client gets stdout. Default: true. */
  stdout?: boolean;
  /** Whether the client gets stderr. Default: true. */
  stderr?: boolean;
  /** Whether there is a terminal. Default: false. */
  tty?: boolean;
  /** The container. Default: the only one of the pod. */
  container?: string;
}

/** Options of a request to run a command. */
export interface PodExecOptions extends meta.TypeMeta {
  /** Whether the client sends stdin. Default: false. */
  stdin?: boolean;
  /** Whether the client gets stdout. Default: true. */
  stdout?: boolean;
  /** Whether the client gets stderr. Default: true. */
  stderr?: boolean;
  /** Whether there is a terminal. Default: false. */
  tty?: boolean;
  /** The container. Default: the only one of the pod. */
  container?: string;
  /** The command and its arguments. */
  command: string[];
}

/** Options of a request to forward ports. */
export interface PodPortForwardOptions extends meta.TypeMeta {
  /** The ports, for clients over WebSocket. */
  ports?: number[];
}

/** Options of a request to a pod. */
export interface PodProxyOptions extends meta.TypeMeta {
  /** The path of the request to the other side. */
  path?: string;
}

/** Options of a request to a kubelet. */
export interface NodeProxyOptions extends meta.TypeMeta {
  /** The path of the request to the other side. */
  path?: string;
}

/** Options of a request to a service. */
export interface ServiceProxyOptions extends meta.TypeMeta {
  /** The path of the request to the other side. */
  path?: string;
}

/** A reference to an object, or to a part of it. */
export interface ObjectReference {
  /** The kind of the object. */
  kind?: string;
  /** The namespace of the object. */
  namespace?: string;
  /** The name of the object. */
  name?: string;
  /** The UID of the object. */
  uid?: string;
  /** The API version of the object. */
  apiVersion?: string;
  /** The resource version of the object. */
  resourceVersion?: string;
  /** The part of the object, such as spec.containers{name}. */
  fieldPath?: string;
}

/** A reference to an object in the same namespace. */
export interface LocalObjectReference {
  /** The name of the object. */
  name?: string;
}

/** A reference to an object in the same namespace. */
export interface TypedLocalObjectReference {
  /** The API group. Empty: the core group. */
  apiGroup: string | null;
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** The name. */
  name: string;
}

/** A reference, as an object of its own. */
export interface SerializedReference extends meta.TypeMeta {
  /** The reference. */
  reference: ObjectReference;
}

/** The component that reports an event. */
export interface EventSource {
  /** The name of the component. */
  component?: string;
  /** The node of the component. */
  host?: string;
}

/** A report of an event that concerns an object. It is kept for a limited time. */
export interface Event extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The object of the event. */
  involvedObject: ObjectReference;
  /** Reason in one word, for programs. */
  reason?: string;
  /** Message for users. */
  message?: string;
  /** The component that reported the event. */
  source: EventSource;
  /** When the event first occurred. */
  firstTimestamp: string | null;
  /** When the event last occurred. */
  lastTimestamp: string | null;
  /** The number of occurrences. */
  count?: number;
  /** Normal or Warning. */
  type?: string;
  /** When the event was first observed. */
  eventTime: string | null;
  /** The number and the last time of repeated occurrences. */
  series?: EventSeries;
  /** Action that the controller took. */
  action?: string;
  /** A related object. */
  related?: ObjectReference;
  /** The component that reports the event. */
  reportingComponent: string;
  /** The instance of the component. */
  reportingInstance: string;
}

/** Repetitions of an event. */
export interface EventSeries {
  /** The number of occurrences. */
  count?: number;
  /** When it last occurred. */
  lastObservedTime: string | null;
}

/** A list of Event objects. */
export interface EventList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Event[];
}

export type LimitType = 'Pod' | 'Container' | 'PersistentVolumeClaim' | (string & {});

/** Limits for one type. */
export interface LimitRangeItem {
  /** Pod, Container or PersistentVolumeClaim. */
  type: LimitType;
  /** The largest amounts. */
  max?: ResourceList;
  /** The smallest amounts. */
  min?: ResourceList;
  /** Limits of containers that have none. */
  default?: ResourceList;
  /** Requests of containers that have none. */
  defaultRequest?: ResourceList;
  /** The largest ratio of limit to request. */
  maxLimitRequestRatio?: ResourceList;
}

/** The limits. */
export interface LimitRangeSpec {
  /** The limits, by type. */
  limits: LimitRangeItem[] | null;
}

/** Limits and defaults for the resources of pods, containers and claims in a namespace. */
export interface LimitRange extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: LimitRangeSpec;
}

/** A list of LimitRange objects. */
export interface LimitRangeList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: LimitRange[];
}

export type ResourceQuotaScope = 'Terminating' | 'NotTerminating' | 'BestEffort' | 'NotBestEffort' | 'PriorityClass' | 'CrossNamespacePodAffinity' | 'VolumeAttributesClass';

/** The bounds. */
export interface ResourceQuotaSpec {
  /** The bounds, by resource. */
  hard?: ResourceList;
  /** Which objects count: Terminating, NotTerminating, BestEffort and others. */
  scopes?: ResourceQuotaScope[];
  /** Which objects count, with values such as priority classes. */
  scopeSelector?: ScopeSelector;
}

/** Selects objects by scopes. */
export interface ScopeSelector {
  /** The requirements. All must be met. */
  matchExpressions?: ScopedResourceSelectorRequirement[];
}

/** A requirement for a scope. */
export interface ScopedResourceSelectorRequirement {
  /** The scope. */
  scopeName: ResourceQuotaScope;
  /** In, NotIn, Exists or DoesNotExist. */
  operator: ScopeSelectorOperator;
  /** The values. Empty for Exists and DoesNotExist. */
  values?: string[];
}

export type ScopeSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

/** The use. */
export interface ResourceQuotaStatus {
  /** The bounds that are enforced. */
  hard?: ResourceList;
  /** The amounts in use. */
  used?: ResourceList;
}

/** Bounds of what a namespace uses. */
export interface ResourceQuota extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ResourceQuotaSpec;
  /** The observed state. */
  status: ResourceQuotaStatus;
}

/** A list of ResourceQuota objects. */
export interface ResourceQuotaList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ResourceQuota[];
}

/** Confidential data, such as passwords, tokens and keys, that pods read as files or environment variables. */
export interface Secret extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** Whether the data is immutable. This cannot be reverted. */
  immutable?: boolean;
  /** Values by key, in base64. */
  data?: Record<string, string>;
  /** Text values by key, for writes only: the server adds them to data. */
  stringData?: Record<string, string>;
  /** Type of the secret. Some types require certain keys in data. */
  type?: SecretType;
}

export type SecretType = 'Opaque' | 'kubernetes.io/service-account-token' | 'kubernetes.io/dockercfg' | 'kubernetes.io/dockerconfigjson' | 'kubernetes.io/basic-auth' | 'kubernetes.io/ssh-auth' | 'kubernetes.io/tls' | 'bootstrap.kubernetes.io/token' | (string & {});

/** A list of Secret objects. */
export interface SecretList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Secret[];
}

/** Configuration that pods read as files or environment variables. */
export interface ConfigMap extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** Whether the data is immutable. This cannot be reverted. */
  immutable?: boolean;
  /** Text values by key. */
  data?: Record<string, string>;
  /** Binary values by key, in base64. */
  binaryData?: Record<string, string>;
}

/** A list of ConfigMap objects. */
export interface ConfigMapList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ConfigMap[];
}

export type ComponentConditionType = 'Healthy' | (string & {});

/** A condition of a component. */
export interface ComponentCondition {
  /** The type of the condition. */
  type: ComponentConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** Why, for people. */
  message?: string;
  /** The error of the health check. */
  error?: string;
}

/** The health of a component of the control plane. Deprecated. */
export interface ComponentStatus extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** Conditions of the component. */
  conditions?: ComponentCondition[];
}

/** A list of ComponentStatus objects. */
export interface ComponentStatusList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ComponentStatus[];
}

/** Fields of the pod as files. */
export interface DownwardAPIVolumeSource {
  /** The files. */
  items?: DownwardAPIVolumeFile[];
  /** The mode of files that have none of their own. Default: 0644. */
  defaultMode?: number;
}

/** One field of the pod as a file. */
export interface DownwardAPIVolumeFile {
  /** The path of the file in the volume. */
  path: string;
  /** A field of the pod: annotations, labels, name, namespace or uid. */
  fieldRef?: ObjectFieldSelector;
  /** A resource of a container: requests or limits of CPU, memory or ephemeral storage. */
  resourceFieldRef?: ResourceFieldSelector;
  /** The mode of the file. */
  mode?: number;
}

/** Fields of the pod, as files in a projected volume. */
export interface DownwardAPIProjection {
  /** The files. */
  items?: DownwardAPIVolumeFile[];
}

/** Security settings of a container. */
export interface SecurityContext {
  /** Linux capabilities to add to, or remove from, the default ones. */
  capabilities?: Capabilities;
  /** Whether processes have the rights of root on the node. */
  privileged?: boolean;
  /** The SELinux labels. */
  seLinuxOptions?: SELinuxOptions;
  /** Settings for Windows. */
  windowsOptions?: WindowsSecurityContextOptions;
  /** The user ID of the processes. */
  runAsUser?: number;
  /** The group ID of the processes. */
  runAsGroup?: number;
  /** Whether the container is rejected if it would run as root. */
  runAsNonRoot?: boolean;
  /** Whether the root file system is read-only. */
  readOnlyRootFilesystem?: boolean;
  /** Whether a process may gain more rights than its parent. */
  allowPrivilegeEscalation?: boolean;
  /** How /proc is mounted. */
  procMount?: ProcMountType;
  /** Which system calls are allowed. */
  seccompProfile?: SeccompProfile;
  /** The AppArmor profile. */
  appArmorProfile?: AppArmorProfile;
}

export type ProcMountType = 'Default' | 'Unmasked';

/** An SELinux label. */
export interface SELinuxOptions {
  /** The user. */
  user?: string;
  /** The role. */
  role?: string;
  /** The type. */
  type?: string;
  /** The level. */
  level?: string;
}

/** Security settings on Windows. */
export interface WindowsSecurityContextOptions {
  /** The name of the GMSA credential spec. */
  gmsaCredentialSpecName?: string;
  /** The GMSA credential spec. */
  gmsaCredentialSpec?: string;
  /** The user of the process. */
  runAsUserName?: string;
  /** Whether the container runs as a process of the host. */
  hostProcess?: boolean;
}

/** Allocations in a range. Not served. */
export interface RangeAllocation extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The range. */
  range: string;
  /** A bit map of the allocations. */
  data: string;
}

/** A kernel parameter. */
export interface Sysctl {
  /** The name. */
  name: string;
  /** The value. */
  value: string;
}

/** A port of a load balancer. */
export interface PortStatus {
  /** The port. */
  port: number;
  /** TCP, UDP or SCTP. */
  protocol: Protocol;
  /** The problem with the port, as CamelCase name. */
  error?: string;
}

export type LoadBalancerIPMode = 'VIP' | 'Proxy' | (string & {});

/** The content of an image. */
export interface ImageVolumeSource {
  /** The image reference. */
  reference?: string;
  /** Always, Never or IfNotPresent. Default: Always for the tag latest. */
  pullPolicy?: PullPolicy;
}

/** Resources of the node that a claim of the pod uses. */
export interface NodeAllocatableResourceClaimStatus {
  /** The name of the claim. */
  resourceClaimName: string;
  /** The containers that use it. */
  containers?: string[];
  /** The amounts. */
  resources: Record<string, string>;
}
