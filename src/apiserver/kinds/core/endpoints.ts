// The resource endpoints. It is deprecated: endpoint slices have the same information and more.

import { endpoints } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { warningsForIP } from '#api/groups/core/v1/ip-warnings.ts';
import {
  validateEndpoints,
  validateEndpointsUpdate,
} from '#api/groups/core/v1/validation/endpoints.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, firstOf } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Endpoints = Immutable<core.Endpoints>;

/**
 * Returns the warnings. The endpoints controller writes valid addresses, so its objects are not
 * checked.
 */
function warnings({ metadata, subsets = [] }: Endpoints): string[] {
  if (metadata.labels?.['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller') return [];
  return subsets.flatMap((subset, index) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((name) =>
      (subset[name] ?? []).flatMap(({ ip }, i) =>
        warningsForIP(field.path('subsets').index(index).child(name).index(i).child('ip'), ip),
      ),
    ),
  );
}

const endpointsStrategy: ResourceStrategy<Endpoints> = {
  checksNameOnUpdate: true,
  allowCreateOnUpdate: true,
  validate: (object) => validateEndpoints(object),
  validateUpdate: (object, old) => validateEndpointsUpdate(object, old),
  warningsOnCreate: (object) => warnings(object),
  warningsOnUpdate: (object) => warnings(object),
};

const endpointsTable: TableConvertor<Endpoints> = {
  columns: [NAME, column('Endpoints', 'The ready addresses and ports.'), AGE],
  cells: (endpoints, now) => [
    endpoints.metadata.name,
    addressesOf(endpoints),
    since(endpoints.metadata.creationTimestamp, now),
  ],
};

function addressesOf({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return '<none>';
  const hostPorts = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) =>
          addresses.map(({ ip }) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`)),
        ),
  );
  return firstOf(hostPorts, '');
}

export const endpointsKind = defineKind<Endpoints>({
  type: endpoints,
  strategy: endpointsStrategy,
  table: endpointsTable,
  listKind: 'EndpointsList',
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
});
