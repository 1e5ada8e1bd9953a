// The resource leases.

import { leases } from '#api/groups/coordination/v1/index.ts';
import type * as coordination from '#api/groups/coordination/v1/index.ts';
import { validateLease } from '#api/groups/coordination/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Lease = Immutable<coordination.Lease>;

/**
 * Returns the lease without fields for coordinated leader election, which is disabled by default.
 */
function withoutDisabledFields(lease: Lease, old?: Lease): Lease {
  const { strategy, preferredHolder, ...spec } = lease.spec;
  if (strategy === undefined && preferredHolder === undefined) return lease;
  return {
    ...lease,
    spec: {
      ...spec,
      ...(strategy !== undefined && old?.spec.strategy !== undefined && { strategy }),
      ...(preferredHolder !== undefined &&
        old?.spec.preferredHolder !== undefined && { preferredHolder }),
    },
  };
}

const leaseStrategy: ResourceStrategy<Lease> = {
  anyFinalizer: true,
  allowCreateOnUpdate: true,
  prepareForCreate: (lease) => withoutDisabledFields(lease),
  prepareForUpdate: (lease, old) => withoutDisabledFields(lease, old),
  // A client must send the resourceVersion of the lease that it renews.
  allowUnconditionalUpdate: false,
  validate: (lease) => validateLease(lease),
  validateUpdate: (lease) => validateLease(lease),
};

export const leaseTable: TableConvertor<Lease> = {
  columns: [NAME, column('Holder', 'The holder of the lease.'), AGE],
  cells: (lease, now) => [
    lease.metadata.name,
    lease.spec.holderIdentity ?? '',
    since(lease.metadata.creationTimestamp, now),
  ],
};

export const leaseKind = defineKind<Lease>({
  type: leases,
  strategy: leaseStrategy,
  table: leaseTable,
});
