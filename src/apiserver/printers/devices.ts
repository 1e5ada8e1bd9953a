// Tables of devices: what there is, and who claims what.

import type * as resource from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

type ResourceClaim = Immutable<resource.ResourceClaim>;

/** Of device classes and of claim templates. */
export const namedTable: TableConvertor<Immutable<resource.DeviceClass | resource.ResourceClaimTemplate>> = {
  columns: [NAME, AGE],
  cells: ({ metadata }, now) => [metadata.name, since(metadata.creationTimestamp, now)],
};

export const resourceClaimTable: TableConvertor<ResourceClaim> = {
  columns: [NAME, column('State', 'How far it is: pending, allocated, reserved, deleted.'), AGE],
  cells: (claim, now) => [claim.metadata.name, state(claim), since(claim.metadata.creationTimestamp, now)],
};

function state({ metadata, status }: ResourceClaim): string {
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const states = isDeleted ? ['deleted'] : [];
  if (status.allocation !== undefined) {
    states.push('allocated');
    if ((status.reservedFor ?? []).length > 0) states.push('reserved');
  } else if (!isDeleted) states.push('pending');
  return states.join(',');
}

export const resourceSliceTable: TableConvertor<Immutable<resource.ResourceSlice>> = {
  columns: [
    NAME,
    column('Node', 'The node that has the devices.'),
    column('Driver', 'Who knows the devices.'),
    column('Pool', 'The pool that they belong to.'),
    AGE,
  ],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.nodeName ?? '',
    spec.driver,
    spec.pool.name,
    since(metadata.creationTimestamp, now),
  ],
};
