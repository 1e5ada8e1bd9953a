// The resource secrets.

import { secrets } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { validateSecret, validateSecretUpdate } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Secret = Immutable<core.Secret>;

const secretStrategy: ResourceStrategy<Secret> = {
  checksNameOnUpdate: true,
  validate: (secret) => validateSecret(secret),
  validateUpdate: (secret, old) => validateSecretUpdate(secret, old),
};

export const secretTable: TableConvertor<Secret> = {
  columns: [
    NAME,
    column('Type', 'The type of the secret.'),
    column('Data', 'Number of entries.'),
    AGE,
  ],
  cells: (secret, now) => [
    secret.metadata.name,
    secret.type ?? '',
    Object.keys(secret.data ?? {}).length,
    since(secret.metadata.creationTimestamp, now),
  ],
};

export const secretKind = defineKind<Secret>({
  type: secrets,
  strategy: secretStrategy,
  selectableFields: { type: ({ type }) => type ?? '' },
  table: secretTable,
});
