// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const storageClasses: ResourceType<types.StorageClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'storageclasses',
  singular: 'storageclass',
  kind: 'StorageClass',
  namespaced: false,
  shortNames: ['sc'],
  categories: [],
  subresources: [],
};

export const volumeAttachments: ResourceType<types.VolumeAttachment> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattachments',
  singular: 'volumeattachment',
  kind: 'VolumeAttachment',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};

export const csiDrivers: ResourceType<types.CSIDriver> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'csidrivers',
  singular: 'csidriver',
  kind: 'CSIDriver',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const csiNodes: ResourceType<types.CSINode> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'csinodes',
  singular: 'csinode',
  kind: 'CSINode',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const csiStorageCapacities: ResourceType<types.CSIStorageCapacity> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'csistoragecapacities',
  singular: 'csistoragecapacity',
  kind: 'CSIStorageCapacity',
  namespaced: true,
  shortNames: [],
  categories: [],
  subresources: [],
};

export const volumeAttributesClasses: ResourceType<types.VolumeAttributesClass> = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattributesclasses',
  singular: 'volumeattributesclass',
  kind: 'VolumeAttributesClass',
  namespaced: false,
  shortNames: ['vac'],
  categories: [],
  subresources: [],
};
