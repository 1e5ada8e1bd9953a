// Every type of storage.k8s.io/v1: the only list of their fields. `npm run generate` makes types.ts
// and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  openEnum,
  nullable,
  mapList,
  merge,
  message,
  oneOf,
  optional,
  resource,
  set,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('storage.k8s.io', 'v1', 'io.k8s.api.storage.v1', {
  StorageClass: resource(
    { resource: 'storageclasses', scope: 'Cluster', shortNames: ['sc'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('provisioner', 2, 'string'),
      f('parameters?', 3, '{}string'),
      f('reclaimPolicy?', 4, '*core/v1.PersistentVolumeReclaimPolicy'),
      f('mountOptions?', 5, '[]string', atomic),
      f('allowVolumeExpansion?', 6, '*bool'),
      f('volumeBindingMode?', 7, '*VolumeBindingMode'),
      f('allowedTopologies?', 8, '[]core/v1.TopologySelectorTerm', atomic),
    ],
  ),
  StorageClassList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]StorageClass'),
  ]),
  VolumeBindingMode: oneOf('Immediate', 'WaitForFirstConsumer'),
  VolumeAttachment: resource(
    { resource: 'volumeattachments', scope: 'Cluster', subresources: ['status'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'VolumeAttachmentSpec'),
      f('status?', 3, 'VolumeAttachmentStatus'),
    ],
  ),
  VolumeAttachmentList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]VolumeAttachment'),
  ]),
  VolumeAttachmentSpec: message(() => [
    f('attacher', 1, 'string'),
    f('source', 2, 'VolumeAttachmentSource'),
    f('nodeName', 3, 'string'),
  ]),
  VolumeAttachmentSource: message(() => [
    f('persistentVolumeName?', 1, '*string'),
    f('inlineVolumeSpec?', 2, '*core/v1.PersistentVolumeSpec'),
  ]),
  VolumeAttachmentStatus: message(() => [
    f('attached', 1, 'bool'),
    f('attachmentMetadata?', 2, '{}string'),
    f('attachError?', 3, '*VolumeError'),
    f('detachError?', 4, '*VolumeError'),
  ]),
  VolumeError: message(() => [
    f('time?', 1, 'time'),
    f('message?', 2, 'string'),
    f('errorCode?', 3, '*int32'),
  ]),
  CSIDriver: resource({ resource: 'csidrivers', scope: 'Cluster' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec', 2, 'CSIDriverSpec'),
  ]),
  CSIDriverList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]CSIDriver')]),
  CSIDriverSpec: message(() => [
    f('attachRequired?', 1, '*bool'),
    f('podInfoOnMount?', 2, '*bool'),
    f('volumeLifecycleModes?', 3, '[]VolumeLifecycleMode', set),
    f('storageCapacity?', 4, '*bool'),
    f('fsGroupPolicy?', 5, '*FSGroupPolicy'),
    f('tokenRequests?', 6, '[]TokenRequest', atomic),
    f('requiresRepublish?', 7, '*bool'),
    f('seLinuxMount?', 8, '*bool'),
    f('nodeAllocatableUpdatePeriodSeconds?', 9, '*int64'),
    f('serviceAccountTokenInSecrets?', 10, '*bool'),
    f('preventPodSchedulingIfMissing?', 11, '*bool'),
  ]),
  FSGroupPolicy: openEnum('ReadWriteOnceWithFSType', 'File', 'None'),
  VolumeLifecycleMode: openEnum('Persistent', 'Ephemeral'),
  TokenRequest: message(() => [f('audience', 1, 'string'), f('expirationSeconds?', 2, '*int64')]),
  CSINode: resource({ resource: 'csinodes', scope: 'Cluster' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec', 2, 'CSINodeSpec'),
  ]),
  CSINodeSpec: message(() => [
    f('drivers', 1, '[]CSINodeDriver', mapList('name'), merge('name'), nullable),
  ]),
  CSINodeDriver: message(() => [
    f('name', 1, 'string'),
    f('nodeID', 2, 'string'),
    f('topologyKeys', 3, '[]string', optional, atomic),
    f('allocatable?', 4, '*VolumeNodeResources'),
  ]),
  VolumeNodeResources: message(() => [f('count?', 1, '*int32')]),
  CSINodeList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]CSINode')]),
  CSIStorageCapacity: resource({ resource: 'csistoragecapacities', scope: 'Namespaced' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('nodeTopology?', 2, '*meta/v1.LabelSelector'),
    f('storageClassName', 3, 'string'),
    f('capacity?', 4, '*quantity'),
    f('maximumVolumeSize?', 5, '*quantity'),
  ]),
  CSIStorageCapacityList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]CSIStorageCapacity'),
  ]),
  VolumeAttributesClass: resource(
    { resource: 'volumeattributesclasses', scope: 'Cluster', shortNames: ['vac'] },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('driverName', 2, 'string'),
      f('parameters?', 3, '{}string'),
    ],
  ),
  VolumeAttributesClassList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]VolumeAttributesClass'),
  ]),
});
