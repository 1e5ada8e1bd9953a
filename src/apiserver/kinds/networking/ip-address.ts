// The resource ipaddresses.

import { ipAddresses } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import { ipAddressName, validateIPAddress, validateIPAddressUpdate } from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ipAddressTable } from '#apiserver/printers/networking.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type IPAddress = Immutable<networking.IPAddress>;

export const ipAddressStrategy: ResourceStrategy<IPAddress> = {
  checksNameOnUpdate: true,
  validateName: (name) => ipAddressName(name),
  validate: (address) => validateIPAddress(address),
  validateUpdate: (address, old) => [...validateIPAddress(address), ...validateIPAddressUpdate(address, old)],
  selectableFieldNames: ['spec.parentRef.name', 'spec.parentRef.namespace'],
  selectableFields: ({ spec: { parentRef } }) => ({
    'spec.parentRef.name': parentRef?.name ?? '',
    'spec.parentRef.namespace': parentRef?.namespace ?? '',
  }),
};

export function ipAddressResource(services: RegistryServices): Kind {
  return {
    type: ipAddresses,
    rest: new ResourceStore<IPAddress>({ ...services, type: ipAddresses, strategy: ipAddressStrategy }),
    table: ipAddressTable,
  };
}
