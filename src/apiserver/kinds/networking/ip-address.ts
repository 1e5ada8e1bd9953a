// The resource ipaddresses.

import { ipAddresses } from '#api/groups/networking/v1/index.ts';
import type * as networking from '#api/groups/networking/v1/index.ts';
import {
  ipAddressName,
  validateIPAddress,
  validateIPAddressUpdate,
} from '#api/groups/networking/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type IPAddress = Immutable<networking.IPAddress>;

const ipAddressStrategy: ResourceStrategy<IPAddress> = {
  checksNameOnUpdate: true,
  validateName: (name) => ipAddressName(name),
  validate: (address) => validateIPAddress(address),
  validateUpdate: (address, old) => [
    ...validateIPAddress(address),
    ...validateIPAddressUpdate(address, old),
  ],
};

const ipAddressTable: TableConvertor<IPAddress> = {
  columns: [NAME, column('ParentRef', 'The object that uses the address.')],
  cells: ({
    metadata,
    spec: { parentRef: { group = '', resource = '', namespace = '', name = '' } = {} },
  }) => [metadata.name, nameOf(resource, group, namespace, name)],
};

function nameOf(resource: string, group: string, namespace: string, name: string): string {
  return [group === '' ? resource : `${resource}.${group}`, namespace, name]
    .filter(Boolean)
    .join('/');
}

export const ipAddressKind = defineKind<IPAddress>({
  type: ipAddresses,
  strategy: ipAddressStrategy,
  table: ipAddressTable,
});
