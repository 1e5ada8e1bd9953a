// Descriptions of volumes, and of persistent volumes and their claims.

import type { Descriptions } from './form.ts';

const FS_TYPE =
  'The file system type to mount, such as ext4 or xfs. The volume plugin chooses one if it is empty.';
const READ_ONLY = 'Mounts the volume read-only. Default: false.';
const SECRET = 'The secret with the credentials of the storage system.';
const PARTITION = 'The partition to mount. The whole volume is mounted if it is empty.';

export const volumes: Descriptions = {
  'core/v1.VolumeSource': {
    type: 'The source of a volume. Exactly one field is set.',
    fields: {
      hostPath:
        'A file or directory of the node. It gives the pod access to the node, so use it with care.',
      emptyDir: 'A directory that is empty at first and deleted with the pod.',
      gcePersistentDisk:
        'A disk of Google Compute Engine. Deprecated: the CSI driver pd.csi.storage.gke.io has replaced it.',
      awsElasticBlockStore:
        'An AWS EBS volume. Deprecated: the CSI driver ebs.csi.aws.com has replaced it.',
      gitRepo:
        'A git repository at one revision. Deprecated and disabled; clone in an init container instead.',
      secret: 'The keys of a secret as files.',
      nfs: 'An NFS export.',
      iscsi: 'A disk that is attached by iSCSI.',
      glusterfs: 'A Glusterfs volume. Deprecated and no longer supported.',
      persistentVolumeClaim: 'The volume that is bound to a claim in the namespace of the pod.',
      rbd: 'A Ceph block device. Deprecated and no longer supported.',
      flexVolume: 'A volume of an exec-based plugin. Deprecated: use a CSI driver.',
      cinder:
        'An OpenStack Cinder volume. Deprecated: the CSI driver cinder.csi.openstack.org has replaced it.',
      cephfs: 'A CephFS volume. Deprecated and no longer supported.',
      flocker: 'A Flocker volume. Deprecated and no longer supported.',
      downwardAPI: 'Fields of the pod as files.',
      fc: 'A disk that is attached by Fibre Channel.',
      azureFile:
        'An Azure file share. Deprecated: the CSI driver file.csi.azure.com has replaced it.',
      configMap: 'The keys of a ConfigMap as files.',
      vsphereVolume:
        'A vSphere volume. Deprecated: the CSI driver csi.vsphere.vmware.com has replaced it.',
      quobyte: 'A Quobyte volume. Deprecated and no longer supported.',
      azureDisk:
        'An Azure data disk. Deprecated: the CSI driver disk.csi.azure.com has replaced it.',
      photonPersistentDisk: 'A Photon disk. Deprecated and no longer supported.',
      projected: 'Several secrets, ConfigMaps, tokens and fields of the pod in one directory.',
      portworxVolume:
        'A Portworx volume. Deprecated: the CSI driver pxd.portworx.com has replaced it.',
      scaleIO: 'A ScaleIO volume. Deprecated and no longer supported.',
      storageos: 'A StorageOS volume. Deprecated and no longer supported.',
      csi: 'An ephemeral volume of a CSI driver.',
      ephemeral: 'A volume for which a claim is created and deleted with the pod.',
      image: 'The content of an image, read-only.',
    },
  },
  'core/v1.PersistentVolumeClaimVolumeSource': {
    type: 'A reference to a claim in the namespace of the pod.',
    fields: {
      claimName: 'The name of the claim.',
      readOnly: 'Mounts the volume read-only in all containers. Default: false.',
    },
  },
  'core/v1.PersistentVolumeSource': {
    type: 'The storage of a persistent volume. Exactly one field is set.',
    like: 'core/v1.VolumeSource',
    fields: {
      hostPath: 'A directory of the node, for tests on a single node.',
      local: 'A directory or disk of one node.',
      csi: 'Storage of a CSI driver.',
    },
  },
  'core/v1.PersistentVolume': { type: 'Storage in the cluster that a claim can be bound to.' },
  'core/v1.PersistentVolumeSpec': {
    type: 'The properties of a persistent volume.',
    like: 'core/v1.PersistentVolumeSource',
    fields: {
      capacity: 'The size of the volume.',
      accessModes:
        'The ways in which the volume can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.',
      claimRef: 'The claim that the volume is bound to, or reserved for.',
      persistentVolumeReclaimPolicy:
        'Treatment of the volume when its claim is deleted: Retain, Delete or Recycle.',
      storageClassName: 'The storage class of the volume. Empty: it has none.',
      mountOptions: 'Options of the mount command. They are not validated.',
      volumeMode:
        'Filesystem for a mounted directory, Block for a raw device. Default: Filesystem.',
      nodeAffinity: 'The nodes from which the volume can be used. Pods that use it run there.',
      volumeAttributesClassName: 'The VolumeAttributesClass of the volume.',
    },
  },
  'core/v1.VolumeNodeAffinity': {
    type: 'The nodes from which a volume can be used.',
    fields: { required: 'Terms that the labels of a node must match.' },
  },
  'core/v1.PersistentVolumeStatus': {
    type: 'The observed state of a persistent volume.',
    fields: {
      phase: 'Pending, Available, Bound, Released or Failed.',
      message: 'Details about the state, for people.',
      reason: 'The cause of a failure, as one word for programs.',
      lastPhaseTransitionTime: 'When the phase last changed.',
    },
  },
  'core/v1.PersistentVolumeClaim': {
    type: 'A request for storage, which is bound to a persistent volume.',
  },
  'core/v1.PersistentVolumeClaimSpec': {
    type: 'The properties of the storage that is requested.',
    fields: {
      accessModes:
        'The ways in which the volume must be mountable: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod.',
      selector: 'Labels that a volume must have to be bound.',
      resources: 'The minimum size. It can be increased if the storage class allows expansion.',
      volumeName: 'The volume that the claim is bound to.',
      storageClassName:
        'The storage class that provisions the volume. Empty: a volume without a class. Absent: the default class.',
      volumeMode:
        'Filesystem for a mounted directory, Block for a raw device. Default: Filesystem.',
      dataSource: 'A snapshot or claim in the same namespace whose content the volume starts with.',
      dataSourceRef:
        'An object, of any kind that a populator supports, whose content the volume starts with.',
      volumeAttributesClassName:
        'The VolumeAttributesClass with the settings of the volume. It can be changed later.',
    },
  },
  'core/v1.TypedObjectReference': {
    type: 'A reference to an object of any kind.',
    fields: {
      apiGroup: 'The API group of the object. Empty: the core group.',
      name: 'The name of the object.',
      namespace: 'The namespace of the object. Another namespace needs a ReferenceGrant there.',
    },
  },
  'core/v1.ModifyVolumeStatus': {
    type: 'The state of a change to another VolumeAttributesClass.',
    fields: {
      targetVolumeAttributesClassName: 'The class that the volume is being changed to.',
      status: 'Pending, InProgress or Infeasible.',
    },
  },
  'core/v1.PersistentVolumeClaimCondition': {
    type: 'A condition of a claim.',
    fields: { lastProbeTime: 'When the condition was last checked.' },
  },
  'core/v1.PersistentVolumeClaimStatus': {
    type: 'The observed state of a claim.',
    fields: {
      phase: 'Pending, Bound or Lost.',
      accessModes: 'The access modes of the bound volume.',
      capacity: 'The actual size of the bound volume.',
      conditions: 'Conditions of the claim, such as a resize in progress.',
      allocatedResources: 'The size that a resize aims at. It counts for quotas.',
      allocatedResourceStatuses: 'The state of the resize of each resource.',
      currentVolumeAttributesClassName: 'The VolumeAttributesClass that the volume has.',
      modifyVolumeStatus: 'The state of a change to another VolumeAttributesClass.',
    },
  },
  'core/v1.GlusterfsVolumeSource': {
    type: 'A Glusterfs volume.',
    fields: {
      endpoints: 'The Endpoints object with the addresses of the servers.',
      path: 'The name of the Glusterfs volume.',
      readOnly: READ_ONLY,
    },
  },
  'core/v1.GlusterfsPersistentVolumeSource': {
    type: 'A Glusterfs volume.',
    like: 'core/v1.GlusterfsVolumeSource',
    fields: {
      endpointsNamespace: 'The namespace of the Endpoints object. Default: that of the claim.',
    },
  },
  'core/v1.RBDVolumeSource': {
    type: 'A Ceph block device.',
    fields: {
      monitors: 'Addresses of the Ceph monitors.',
      image: 'The image name.',
      fsType: FS_TYPE,
      pool: 'The pool of the image. Default: rbd.',
      user: 'The user to connect as. Default: admin.',
      keyring: 'The path of the keyring on the node. Default: /etc/ceph/keyring.',
      secretRef: SECRET,
      readOnly: READ_ONLY,
    },
  },
  'core/v1.RBDPersistentVolumeSource': {
    type: 'A Ceph block device.',
    like: 'core/v1.RBDVolumeSource',
  },
  'core/v1.CinderVolumeSource': {
    type: 'An OpenStack Cinder volume.',
    fields: {
      volumeID: 'The ID of the volume.',
      fsType: FS_TYPE,
      readOnly: READ_ONLY,
      secretRef: SECRET,
    },
  },
  'core/v1.CinderPersistentVolumeSource': {
    type: 'An OpenStack Cinder volume.',
    like: 'core/v1.CinderVolumeSource',
  },
  'core/v1.CephFSVolumeSource': {
    type: 'A CephFS volume.',
    fields: {
      monitors: 'Addresses of the Ceph monitors.',
      path: 'The directory to mount. Default: /.',
      user: 'The user to connect as. Default: admin.',
      secretFile: 'The path of the key ring of the user on the node.',
      secretRef: SECRET,
      readOnly: READ_ONLY,
    },
  },
  'core/v1.CephFSPersistentVolumeSource': {
    type: 'A CephFS volume.',
    like: 'core/v1.CephFSVolumeSource',
  },
  'core/v1.SecretReference': {
    type: 'A reference to a secret in any namespace.',
    fields: { name: 'The name of the secret.', namespace: 'The namespace of the secret.' },
  },
  'core/v1.FlockerVolumeSource': {
    type: 'A Flocker volume. One field is set.',
    fields: {
      datasetName: 'The name of the dataset, as its metadata has it.',
      datasetUUID: 'The UUID of the dataset.',
    },
  },
  'core/v1.GCEPersistentDiskVolumeSource': {
    type: 'A disk of Google Compute Engine, in the zone of the node.',
    fields: {
      pdName: 'The name of the disk.',
      fsType: FS_TYPE,
      partition: PARTITION,
      readOnly: READ_ONLY,
    },
  },
  'core/v1.QuobyteVolumeSource': {
    type: 'A Quobyte volume.',
    fields: {
      registry: 'Addresses of the registries, separated by commas.',
      volume: 'The name of the volume.',
      readOnly: READ_ONLY,
      user: 'The user to mount as.',
      group: 'The group to mount as.',
      tenant: 'The tenant that owns the volume.',
    },
  },
  'core/v1.FlexVolumeSource': {
    type: 'A volume of an exec-based plugin.',
    fields: {
      driver: 'The name of the driver.',
      fsType: FS_TYPE,
      secretRef: SECRET,
      readOnly: READ_ONLY,
      options: 'Options that the driver gets.',
    },
  },
  'core/v1.FlexPersistentVolumeSource': {
    type: 'A volume of an exec-based plugin.',
    like: 'core/v1.FlexVolumeSource',
  },
  'core/v1.AWSElasticBlockStoreVolumeSource': {
    type: 'An AWS EBS volume, in the zone of the node.',
    fields: {
      volumeID: 'The ID of the volume.',
      fsType: FS_TYPE,
      partition: PARTITION,
      readOnly: READ_ONLY,
    },
  },
  'core/v1.GitRepoVolumeSource': {
    type: 'A git repository.',
    fields: {
      repository: 'The URL of the repository.',
      revision: 'The commit to check out.',
      directory: 'The directory to clone into, without "..". A dot is the volume itself.',
    },
  },
  'core/v1.NFSVolumeSource': {
    type: 'An NFS export.',
    fields: {
      server: 'The host name or address of the server.',
      path: 'The exported path.',
      readOnly: READ_ONLY,
    },
  },
  'core/v1.ISCSIVolumeSource': {
    type: 'A disk that is attached by iSCSI. It can be mounted by one writer.',
    fields: {
      targetPortal: 'Address and port of the portal. Default port: 3260.',
      iqn: 'The qualified name of the target.',
      lun: 'The logical unit number.',
      iscsiInterface: 'The interface to use. Default: default (tcp).',
      fsType: FS_TYPE,
      readOnly: READ_ONLY,
      portals: 'Further portals, for multipath.',
      chapAuthDiscovery: 'Whether discovery uses CHAP authentication.',
      chapAuthSession: 'Whether sessions use CHAP authentication.',
      secretRef: 'The secret with the CHAP credentials.',
      initiatorName:
        'The initiator name. With iscsiInterface, a new interface is created for the connection.',
    },
  },
  'core/v1.ISCSIPersistentVolumeSource': {
    type: 'A disk that is attached by iSCSI.',
    like: 'core/v1.ISCSIVolumeSource',
  },
  'core/v1.FCVolumeSource': {
    type: 'A disk that is attached by Fibre Channel.',
    fields: {
      targetWWNs: 'World wide names of the targets.',
      lun: 'The logical unit number of the targets.',
      fsType: FS_TYPE,
      readOnly: READ_ONLY,
      wwids: 'World wide identifiers of the volume. Either these, or targetWWNs with lun.',
    },
  },
  'core/v1.AzureFileVolumeSource': {
    type: 'An Azure file share.',
    fields: {
      secretName: 'The secret with the name and key of the storage account.',
      shareName: 'The name of the share.',
      readOnly: READ_ONLY,
    },
  },
  'core/v1.AzureFilePersistentVolumeSource': {
    type: 'An Azure file share.',
    like: 'core/v1.AzureFileVolumeSource',
    fields: { secretNamespace: 'The namespace of the secret. Default: that of the claim.' },
  },
  'core/v1.VsphereVirtualDiskVolumeSource': {
    type: 'A vSphere volume.',
    fields: {
      volumePath: 'The path of the volume.',
      fsType: FS_TYPE,
      storagePolicyName: 'The name of the storage policy profile.',
      storagePolicyID: 'The ID of the storage policy profile.',
    },
  },
  'core/v1.PhotonPersistentDiskVolumeSource': {
    type: 'A Photon disk.',
    fields: { pdID: 'The ID of the disk.', fsType: FS_TYPE },
  },
  'core/v1.AzureDiskVolumeSource': {
    type: 'An Azure data disk.',
    fields: {
      diskName: 'The name of the disk in the blob storage.',
      diskURI: 'The URI of the disk.',
      cachingMode: 'The host caching: None, ReadOnly or ReadWrite.',
      fsType: FS_TYPE,
      readOnly: READ_ONLY,
      kind: 'Shared, Dedicated or Managed. Default: Shared.',
    },
  },
  'core/v1.PortworxVolumeSource': {
    type: 'A Portworx volume.',
    fields: { volumeID: 'The ID of the volume.', fsType: FS_TYPE, readOnly: READ_ONLY },
  },
  'core/v1.ScaleIOVolumeSource': {
    type: 'A ScaleIO volume.',
    fields: {
      gateway: 'The address of the API gateway.',
      system: 'The name of the storage system.',
      secretRef: SECRET,
      sslEnabled: 'Whether the gateway is reached by TLS.',
      protectionDomain: 'The protection domain.',
      storagePool: 'The storage pool in the protection domain.',
      storageMode: 'ThickProvisioned or ThinProvisioned. Default: ThinProvisioned.',
      volumeName: 'The name of the volume.',
      fsType: FS_TYPE,
      readOnly: READ_ONLY,
    },
  },
  'core/v1.ScaleIOPersistentVolumeSource': {
    type: 'A ScaleIO volume.',
    like: 'core/v1.ScaleIOVolumeSource',
  },
  'core/v1.StorageOSVolumeSource': {
    type: 'A StorageOS volume.',
    fields: {
      volumeName: 'The name of the volume, unique in its namespace.',
      volumeNamespace: 'The StorageOS namespace of the volume. Default: the namespace of the pod.',
      fsType: FS_TYPE,
      readOnly: READ_ONLY,
      secretRef: SECRET,
    },
  },
  'core/v1.StorageOSPersistentVolumeSource': {
    type: 'A StorageOS volume.',
    like: 'core/v1.StorageOSVolumeSource',
  },
  'core/v1.SecretProjection': {
    type: 'The keys of a secret, as files in a projected volume.',
    fields: {
      name: 'The name of the secret.',
      optional: 'Whether the secret or its keys may be missing.',
    },
  },
  'core/v1.ConfigMapProjection': {
    type: 'The keys of a ConfigMap, as files in a projected volume.',
    fields: {
      name: 'The name of the ConfigMap.',
      optional: 'Whether the ConfigMap or its keys may be missing.',
    },
  },
  'core/v1.ServiceAccountTokenProjection': {
    type: 'A token of the service account of the pod, as a file that is renewed.',
    fields: {
      audience: 'The audience of the token. Default: the API server.',
      expirationSeconds:
        'The lifetime of the token, at least 600. It is renewed after 80 % of it. Default: 3600.',
      path: 'The path of the file in the volume.',
    },
  },
  'core/v1.ClusterTrustBundleProjection': {
    type: 'Certificates of ClusterTrustBundles, as a file.',
    fields: {
      name: 'The bundle. Either this, or signerName.',
      signerName: 'Bundles of this signer, combined.',
      labelSelector: 'Selects bundles of the signer. Absent: none; empty: all.',
      optional: 'Whether the bundles may be missing.',
      path: 'The path of the file in the volume.',
    },
  },
  'core/v1.PodCertificateProjection': {
    type: 'A private key and a certificate for the pod, as files that are renewed.',
    fields: {
      signerName: 'The signer that issues the certificate.',
      keyType: 'The type of the key: RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521 or ED25519.',
      maxExpirationSeconds: 'The longest lifetime that the certificate may have. Default: 86400.',
      credentialBundlePath: 'The path of a file with the key and the certificate chain.',
      keyPath: 'The path of a file with the key alone.',
      certificateChainPath: 'The path of a file with the certificate chain alone.',
      userAnnotations: 'Additional information that the signer gets.',
    },
  },
  'core/v1.ProjectedVolumeSource': {
    type: 'Several sources in one directory.',
    fields: {
      sources: 'The sources. Each has exactly one field set.',
      defaultMode: 'The mode of files that have none of their own. Default: 0644.',
    },
  },
  'core/v1.VolumeProjection': {
    type: 'One source of a projected volume. Exactly one field is set.',
    fields: {
      secret: 'The keys of a secret.',
      downwardAPI: 'Fields of the pod.',
      configMap: 'The keys of a ConfigMap.',
      serviceAccountToken: 'A token of the service account.',
      clusterTrustBundle: 'Certificates of ClusterTrustBundles.',
      podCertificate: 'A private key and a certificate for the pod.',
    },
  },
  'core/v1.LocalVolumeSource': {
    type: 'A directory or disk of one node.',
    fields: {
      path: 'The path on the node: a directory, or a block device.',
      fsType: 'The file system of a block device. Default: chosen automatically.',
    },
  },
  'core/v1.CSIPersistentVolumeSource': {
    type: 'Storage of a CSI driver.',
    fields: {
      driver: 'The name of the driver.',
      volumeHandle: 'The ID of the volume, as the driver knows it.',
      readOnly: READ_ONLY,
      fsType: FS_TYPE,
      volumeAttributes: 'Attributes that the driver gets.',
      controllerPublishSecretRef: 'The secret for attaching and detaching.',
      nodeStageSecretRef: 'The secret for staging on the node.',
      nodePublishSecretRef: 'The secret for mounting into the pod.',
      controllerExpandSecretRef: 'The secret for expanding the volume by the controller.',
      nodeExpandSecretRef: 'The secret for expanding the volume on the node.',
    },
  },
  'core/v1.CSIVolumeSource': {
    type: 'An ephemeral volume of a CSI driver.',
    fields: {
      driver: 'The name of the driver.',
      readOnly: READ_ONLY,
      fsType: FS_TYPE,
      volumeAttributes: 'Attributes that the driver gets.',
      nodePublishSecretRef: 'The secret for mounting into the pod.',
    },
  },
  'core/v1.EphemeralVolumeSource': {
    type: 'A volume whose claim lives as long as the pod.',
    fields: {
      volumeClaimTemplate:
        'The claim to create. Its name is that of the pod and of the volume, with a dash between them.',
    },
  },
  'core/v1.PersistentVolumeClaimTemplate': {
    type: 'The claim that is created for an ephemeral volume.',
    fields: { spec: 'The spec of the claim.', metadata: 'Labels and annotations of the claim.' },
  },
  'core/v1.VolumeDevice': {
    type: 'A block device in a container.',
    fields: {
      name: 'The volume of the pod, which is of a claim with the mode Block.',
      devicePath: 'The path of the device in the container.',
    },
  },
  'core/v1.VolumeResourceRequirements': {
    type: 'The size of a volume.',
    fields: { limits: 'The maximum size.', requests: 'The minimum size.' },
  },
  'core/v1.DownwardAPIVolumeSource': {
    type: 'Fields of the pod as files.',
    fields: {
      items: 'The files.',
      defaultMode: 'The mode of files that have none of their own. Default: 0644.',
    },
  },
  'core/v1.DownwardAPIVolumeFile': {
    type: 'One field of the pod as a file.',
    fields: {
      path: 'The path of the file in the volume.',
      fieldRef: 'A field of the pod: annotations, labels, name, namespace or uid.',
      resourceFieldRef:
        'A resource of a container: requests or limits of CPU, memory or ephemeral storage.',
      mode: 'The mode of the file.',
    },
  },
  'core/v1.DownwardAPIProjection': {
    type: 'Fields of the pod, as files in a projected volume.',
    fields: { items: 'The files.' },
  },
  'core/v1.ImageVolumeSource': {
    type: 'The content of an image.',
    fields: {
      reference: 'The image reference.',
      pullPolicy: 'Always, Never or IfNotPresent. Default: Always for the tag latest.',
    },
  },
  'core/v1.AttachedVolume': {
    type: 'A volume that is attached to a node.',
    fields: { name: 'The name of the volume.', devicePath: 'The path of the device on the node.' },
  },
  'storage/v1.StorageClass': {
    type: 'A class of storage, and how volumes of it are provisioned.',
    fields: {
      provisioner: 'The provisioner of volumes.',
      parameters: 'Parameters that the provisioner gets.',
      reclaimPolicy: 'The reclaim policy of the volumes: Delete or Retain. Default: Delete.',
      mountOptions: 'Mount options of the volumes. They are not validated.',
      allowVolumeExpansion: 'Whether claims can be expanded.',
      volumeBindingMode:
        'Immediate, or WaitForFirstConsumer to bind when a pod is scheduled. Default: Immediate.',
      allowedTopologies: 'The topologies in which volumes may be provisioned.',
    },
  },
  'storage/v1.VolumeAttachment': {
    type: 'The intent to attach a volume to a node, and its state.',
  },
  'storage/v1.VolumeAttachmentSpec': {
    type: 'The volume and the node.',
    fields: {
      attacher: 'The CSI driver that attaches.',
      source: 'The volume to attach.',
      nodeName: 'The node to attach it to.',
    },
  },
  'storage/v1.VolumeAttachmentSource': {
    type: 'The volume to attach. One field is set.',
    fields: {
      persistentVolumeName: 'A persistent volume.',
      inlineVolumeSpec: 'The volume of a pod that was migrated from an in-tree plugin.',
    },
  },
  'storage/v1.VolumeAttachmentStatus': {
    type: 'The state of an attachment.',
    fields: {
      attached: 'Whether the volume is attached.',
      attachmentMetadata: 'Information of the driver that mounting needs.',
      attachError: 'The last error of attaching.',
      detachError: 'The last error of detaching.',
    },
  },
  'storage/v1.VolumeError': {
    type: 'An error of a storage operation.',
    fields: {
      time: 'When the error occurred.',
      message: 'The error. It must not contain secrets.',
      errorCode: 'The gRPC code of the error.',
    },
  },
  'storage/v1.CSIDriver': { type: 'Properties of a CSI driver that is installed in the cluster.' },
  'storage/v1.CSIDriverSpec': {
    type: 'Properties of the driver that the cluster must know.',
    fields: {
      attachRequired: 'Whether volumes are attached before they are mounted. Default: true.',
      podInfoOnMount:
        'Whether the driver gets the name, namespace and UID of the pod. Default: false.',
      volumeLifecycleModes: 'Persistent, Ephemeral or both. Default: Persistent.',
      storageCapacity:
        'Whether the scheduler considers CSIStorageCapacity objects of the driver. Default: false.',
      fsGroupPolicy:
        'When the ownership of files is changed to fsGroup: ReadWriteOnceWithFSType, File or None.',
      tokenRequests: 'Tokens of the service account of the pod that the driver gets.',
      requiresRepublish:
        'Whether mounting is repeated regularly, to refresh the content. Default: false.',
      seLinuxMount: 'Whether volumes can be mounted with an SELinux context. Default: false.',
      nodeAllocatableUpdatePeriodSeconds:
        'How often the number of volumes that a node can have is updated. At least 10 seconds.',
      serviceAccountTokenInSecrets:
        'Whether tokens are passed in the secrets of a call instead of its attributes. Default: false.',
      preventPodSchedulingIfMissing:
        'Whether pods that use the driver are kept off nodes on which it is not registered. Default: false.',
    },
  },
  'storage/v1.TokenRequest': {
    type: 'A token that a CSI driver gets.',
    fields: {
      audience: 'The audience of the token. Empty: the API server.',
      expirationSeconds: 'The lifetime of the token. Default: 3600.',
    },
  },
  'storage/v1.CSINode': { type: 'The CSI drivers that are registered on a node.' },
  'storage/v1.CSINodeSpec': { type: 'The drivers of a node.', fields: { drivers: 'The drivers.' } },
  'storage/v1.CSINodeDriver': {
    type: 'A driver on a node.',
    fields: {
      name: 'The name of the driver.',
      nodeID: 'The name of the node, as the driver knows it.',
      topologyKeys: 'The labels of nodes by which the driver distinguishes topologies.',
      allocatable: 'The volumes of the driver that the node can have.',
    },
  },
  'storage/v1.VolumeNodeResources': {
    type: 'A number of volumes.',
    fields: { count: 'The largest number of volumes. Absent: no limit.' },
  },
  'storage/v1.CSIStorageCapacity': {
    type: 'The free storage of a CSI driver in one topology.',
    fields: {
      nodeTopology: 'The nodes from which the storage can be used. Absent: none.',
      storageClassName: 'The storage class that the numbers are for.',
      capacity: 'The free capacity, as the driver reports it.',
      maximumVolumeSize: 'The largest volume that can be provisioned.',
    },
  },
  'storage/v1.VolumeAttributesClass': {
    type: 'Settings of volumes that can be changed after they were provisioned.',
    fields: {
      driverName: 'The CSI driver.',
      parameters: 'The settings. They cannot be changed here.',
    },
  },
};
