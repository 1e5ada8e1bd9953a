// The resource serviceaccounts.

import { serviceAccounts } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { SECRETS_ANNOTATION } from '#apiserver/admission/secret-references.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import { type TokenServices, tokenSubresource } from './token.ts';

type ServiceAccount = Immutable<core.ServiceAccount>;

/** Returns the account with only the names of its secrets. */
function cleaned(account: ServiceAccount): ServiceAccount {
  if (account.secrets === undefined) return account;
  const secrets = account.secrets.map(({ name = '' }) => (name === '' ? {} : { name }));
  return { ...account, secrets };
}

/** Returns a warning if the account gets the annotation. */
function warnings(account: ServiceAccount, old?: ServiceAccount): readonly string[] {
  const has = (of?: ServiceAccount): boolean =>
    of?.metadata.annotations?.[SECRETS_ANNOTATION] !== undefined;
  if (!has(account) || has(old)) return [];
  return [
    `metadata.annotations[${SECRETS_ANNOTATION}]: deprecated in v1.32+; ` +
      'prefer separate namespaces to isolate access to mounted secrets',
  ];
}

const serviceAccountStrategy: ResourceStrategy<ServiceAccount> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  prepareForCreate: cleaned,
  validate: () => [],
  warningsOnCreate: (account) => warnings(account),
  prepareForUpdate: cleaned,
  validateUpdate: () => [],
  warningsOnUpdate: (account, old) => warnings(account, old),
};

export const serviceAccountTable: TableConvertor<ServiceAccount> = {
  columns: [NAME, AGE],
  cells: ({ metadata }, now) => [metadata.name, since(metadata.creationTimestamp, now)],
};

export const serviceAccountKind = defineKind<ServiceAccount, StoreServices & TokenServices>({
  type: serviceAccounts,
  strategy: serviceAccountStrategy,
  table: serviceAccountTable,
  subresources: { token: ({ services }) => tokenSubresource(services) },
});
