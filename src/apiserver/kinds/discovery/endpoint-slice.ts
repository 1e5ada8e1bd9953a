// The resource endpointslices.

import { warningsForIP } from '#api/groups/core/v1/ip-warnings.ts';
import { endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import {
  validateEndpointSlice,
  validateEndpointSliceUpdate,
} from '#api/groups/discovery/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { desiredStateChanged } from '#apiserver/registry/metadata.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column, firstOf } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type EndpointSlice = Immutable<discovery.EndpointSlice>;

/**
 * Returns the slice without topology keys that have fields of their own. Stored ones stay until the
 * endpoints change.
 */
function withoutTopology(slice: EndpointSlice, old?: EndpointSlice): EndpointSlice {
  const { endpoints } = slice;
  if (
    endpoints === null ||
    !endpoints.some(({ deprecatedTopology }) => deprecatedTopology !== undefined)
  )
    return slice;
  if (old !== undefined && semanticEqual(endpoints, old.endpoints)) return slice;
  return {
    ...slice,
    endpoints: endpoints.map(({ deprecatedTopology: _dropped, ...endpoint }) => endpoint),
  };
}

const CONTROLLERS = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

/**
 * Returns the warnings about addresses. The controllers of slices write valid ones, so their objects
 * are not checked.
 */
function addressWarnings({ metadata, endpoints }: EndpointSlice): string[] {
  if (CONTROLLERS.includes(metadata.labels?.['endpointslice.kubernetes.io/managed-by'] ?? ''))
    return [];
  return (endpoints ?? []).flatMap(({ addresses }, index) => {
    const at = field.path('endpoints').index(index).child('addresses');
    return addresses.flatMap((address, i) => warningsForIP(at.index(i), address));
  });
}

const endpointSliceStrategy: ResourceStrategy<EndpointSlice> = {
  checksNameOnUpdate: true,
  // Labels name the service of the endpoints, so they are part of the desired state.
  generation: (slice, old) =>
    desiredStateChanged(slice, old) || !semanticEqual(slice.metadata.labels, old.metadata.labels),
  prepareForCreate: (slice) => withoutTopology(slice),
  prepareForUpdate: (slice, old) => withoutTopology(slice, old),
  warningsOnCreate: (slice) => [
    // The path is upstream's: the type has no spec.
    ...(slice.addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    ...addressWarnings(slice),
  ],
  warningsOnUpdate: (slice) => addressWarnings(slice),
  validate: (slice) => validateEndpointSlice(slice),
  validateUpdate: (slice, old) => validateEndpointSliceUpdate(slice, old),
};

const endpointSliceTable: TableConvertor<EndpointSlice> = {
  columns: [
    NAME,
    column('AddressType', 'The type of its addresses.'),
    column('Ports', 'The ports of each endpoint.'),
    column('Endpoints', 'The addresses.'),
    AGE,
  ],
  cells: ({ metadata, addressType, ports, endpoints }, now) => [
    metadata.name,
    addressType,
    firstOf(
      (ports ?? []).map(({ name, port }) =>
        port === undefined ? (name ? `${name}:*` : '*') : String(port),
      ),
      '<unset>',
    ),
    firstOf(
      (endpoints ?? []).flatMap(({ addresses }) => addresses),
      '<unset>',
    ),
    since(metadata.creationTimestamp, now),
  ],
};

export const endpointSliceKind = defineKind<EndpointSlice>({
  type: endpointSlices,
  strategy: endpointSliceStrategy,
  table: endpointSliceTable,
});
