// Tables of kinds that have little to show.

import type * as coordination from '#api/groups/coordination/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storagemigration from '#api/groups/storagemigration/v1beta1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

/** Of a storage version migration. */
const STATES: ReadonlySet<string> = new Set(['Running', 'Succeeded', 'Failed']);

export const namespaceTable: TableConvertor<Immutable<core.Namespace>> = {
  columns: [NAME, column('Status', 'Active, or Terminating while its content goes.'), AGE],
  cells: (namespace, now) => [
    namespace.metadata.name,
    namespace.status.phase ?? '',
    since(namespace.metadata.creationTimestamp, now),
  ],
};

export const configMapTable: TableConvertor<Immutable<core.ConfigMap>> = {
  columns: [NAME, column('Data', 'Number of entries.'), AGE],
  cells: (configMap, now) => [
    configMap.metadata.name,
    Object.keys(configMap.data ?? {}).length + Object.keys(configMap.binaryData ?? {}).length,
    since(configMap.metadata.creationTimestamp, now),
  ],
};

export const secretTable: TableConvertor<Immutable<core.Secret>> = {
  columns: [NAME, column('Type', 'What the entries are for.'), column('Data', 'Number of entries.'), AGE],
  cells: (secret, now) => [
    secret.metadata.name,
    secret.type ?? '',
    Object.keys(secret.data ?? {}).length,
    since(secret.metadata.creationTimestamp, now),
  ],
};

export const serviceAccountTable: TableConvertor<Immutable<core.ServiceAccount>> = {
  columns: [NAME, column('Secrets', 'Number of secrets that its pods may use.'), AGE],
  cells: (account, now) => [
    account.metadata.name,
    (account.secrets ?? []).length,
    since(account.metadata.creationTimestamp, now),
  ],
};

export const leaseTable: TableConvertor<Immutable<coordination.Lease>> = {
  columns: [NAME, column('Holder', 'Who holds the lease.'), AGE],
  cells: (lease, now) => [lease.metadata.name, lease.spec.holderIdentity ?? '', since(lease.metadata.creationTimestamp, now)],
};

export const storageVersionMigrationTable: TableConvertor<Immutable<storagemigration.StorageVersionMigration>> = {
  columns: [
    NAME,
    column('Resource', 'Whose objects are written again.'),
    column('Status', 'How far it is: Running, Succeeded, Failed, or Unknown as long as nobody has begun.'),
  ],
  cells: ({ metadata, spec, status }) => [
    metadata.name,
    spec.resource.group === '' ? spec.resource.resource : `${spec.resource.resource}.${spec.resource.group}`,
    (status.conditions ?? []).findLast((condition) => condition.status === 'True' && STATES.has(condition.type))?.type ??
      'Unknown',
  ],
};
