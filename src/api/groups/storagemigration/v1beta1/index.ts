// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const storageVersionMigrations: ResourceType<types.StorageVersionMigration> = {
  group: 'storagemigration.k8s.io',
  version: 'v1beta1',
  resource: 'storageversionmigrations',
  singular: 'storageversionmigration',
  kind: 'StorageVersionMigration',
  namespaced: false,
  shortNames: [],
  categories: [],
  subresources: ['status'],
};
