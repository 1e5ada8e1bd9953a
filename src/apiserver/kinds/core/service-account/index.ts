// The resource serviceaccounts.

import type * as core from '#api/groups/core/v1/index.ts';
import { serviceAccounts } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { serviceAccountTable } from '#apiserver/printers/small-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { tokenSubresource } from './token.ts';

type ServiceAccount = Immutable<core.ServiceAccount>;

/** Of the secrets only the names are kept. */
function cleaned(account: ServiceAccount): ServiceAccount {
  if (account.secrets === undefined) return account;
  const secrets = account.secrets.map(({ name = '' }) => (name === '' ? {} : { name }));
  return { ...account, secrets };
}

export const serviceAccountStrategy: ResourceStrategy<ServiceAccount> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  prepareForCreate: cleaned,
  validate: () => [],
  prepareForUpdate: cleaned,
  validateUpdate: () => [],
};

export function serviceAccountResource(services: RegistryServices): Kind {
  return {
    type: serviceAccounts,
    rest: new ResourceStore<ServiceAccount>({ ...services, type: serviceAccounts, strategy: serviceAccountStrategy }),
    table: serviceAccountTable,
    subresources: [tokenSubresource(services)],
  };
}
