// The resource secrets.

import type * as core from '#api/groups/core/v1/index.ts';
import { secrets } from '#api/groups/core/v1/index.ts';
import { validateSecret, validateSecretUpdate } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { secretTable } from '#apiserver/printers/small-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type Secret = Immutable<core.Secret>;

export const secretStrategy: ResourceStrategy<Secret> = {
  checksNameOnUpdate: true,
  validate: (secret) => validateSecret(secret),
  validateUpdate: (secret, old) => validateSecretUpdate(secret, old),
  selectableFieldNames: ['type'],
  selectableFields: (secret) => ({ type: secret.type ?? '' }),
};

export function secretResource(services: RegistryServices): Kind {
  return {
    type: secrets,
    rest: new ResourceStore<Secret>({ ...services, type: secrets, strategy: secretStrategy }),
    table: secretTable,
  };
}
