// Every type of storagemigration.k8s.io/v1beta1: the only list of their fields. `npm run generate`
// makes types.ts and index.ts from it.

import {
  f,
  groupVersion,
  kind,
  openEnum,
  mapList,
  merge,
  message,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'storagemigration.k8s.io',
  'v1beta1',
  'io.k8s.api.storagemigration.v1beta1',
  {
    StorageVersionMigration: resource(
      { resource: 'storageversionmigrations', scope: 'Cluster', subresources: ['status'] },
      () => [
        f('metadata?', 1, 'meta/v1.ObjectMeta'),
        f('spec?', 2, 'StorageVersionMigrationSpec'),
        f('status?', 3, 'StorageVersionMigrationStatus'),
      ],
    ),
    StorageVersionMigrationSpec: message(() => [f('resource', 1, 'meta/v1.GroupResource')]),
    MigrationConditionType: openEnum('Running', 'Succeeded', 'Failed'),
    StorageVersionMigrationStatus: message(() => [
      f('conditions?', 1, '[]meta/v1.Condition', merge('type'), mapList('type')),
      f('resourceVersion?', 2, 'string'),
    ]),
    StorageVersionMigrationList: kind(() => [
      f('metadata?', 1, 'meta/v1.ListMeta'),
      f('items', 2, '[]StorageVersionMigration'),
    ]),
  },
);
