// Tables of endpoints and endpoint slices.

import type * as core from '#api/groups/core/v1/index.ts';
import type * as discovery from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

type Endpoints = Immutable<core.Endpoints>;
type EndpointSlice = Immutable<discovery.EndpointSlice>;

const SHOWN = 3;

export const endpointsTable: TableConvertor<Endpoints> = {
  columns: [NAME, column('Endpoints', 'Addresses and ports that serve.'), AGE],
  cells: (endpoints, now) => [endpoints.metadata.name, addressesOf(endpoints), since(endpoints.metadata.creationTimestamp, now)],
};

function addressesOf({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return '<none>';
  const found = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`))),
  );
  return firstOf(found, '');
}

export const endpointSliceTable: TableConvertor<EndpointSlice> = {
  columns: [
    NAME,
    column('AddressType', 'What its addresses are.'),
    column('Ports', 'The ports of each endpoint.'),
    column('Endpoints', 'The addresses.'),
    AGE,
  ],
  cells: ({ metadata, addressType, ports, endpoints }, now) => [
    metadata.name,
    addressType,
    firstOf(
      (ports ?? []).map(({ name, port }) => (port === undefined ? (name ? `${name}:*` : '*') : String(port))),
      '<unset>',
    ),
    firstOf(
      (endpoints ?? []).flatMap(({ addresses }) => addresses),
      '<unset>',
    ),
    since(metadata.creationTimestamp, now),
  ],
};

function firstOf(texts: readonly string[], none: string): string {
  if (texts.length === 0) return none;
  const shown = texts.slice(0, SHOWN).join(',');
  return texts.length > SHOWN ? `${shown} + ${texts.length - SHOWN} more...` : shown;
}
