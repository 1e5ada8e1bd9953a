// The resource leases.

import type * as coordination from '#api/groups/coordination/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { validateLease } from '#api/groups/coordination/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { leaseTable } from '#apiserver/printers/small-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type Lease = Immutable<coordination.Lease>;

/** Leaders that are chosen by a coordinator are off by default: what only it reads is not taken. */
function withoutDisabledFields(lease: Lease, old?: Lease): Lease {
  const { strategy, preferredHolder, ...spec } = lease.spec;
  if (strategy === undefined && preferredHolder === undefined) return lease;
  return {
    ...lease,
    spec: {
      ...spec,
      ...(strategy !== undefined && old?.spec.strategy !== undefined && { strategy }),
      ...(preferredHolder !== undefined && old?.spec.preferredHolder !== undefined && { preferredHolder }),
    },
  };
}

export const leaseStrategy: ResourceStrategy<Lease> = {
  anyFinalizer: true,
  allowCreateOnUpdate: true,
  prepareForCreate: (lease) => withoutDisabledFields(lease),
  prepareForUpdate: (lease, old) => withoutDisabledFields(lease, old),
  // Who renews a lease must have seen it.
  allowUnconditionalUpdate: false,
  validate: (lease) => validateLease(lease),
  validateUpdate: (lease) => validateLease(lease),
};

export function leaseResource(services: RegistryServices): Kind {
  return {
    type: leases,
    rest: new ResourceStore<Lease>({ ...services, type: leases, strategy: leaseStrategy }),
    table: leaseTable,
  };
}
