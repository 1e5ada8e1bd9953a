// Every type of coordination.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  f,
  groupVersion,
  kind,
  openEnum,
  message,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('coordination.k8s.io', 'v1', 'io.k8s.api.coordination.v1', {
  CoordinatedLeaseStrategy: openEnum('OldestEmulationVersion'),
  Lease: resource({ resource: 'leases', scope: 'Namespaced' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec?', 2, 'LeaseSpec'),
  ]),
  LeaseSpec: message(() => [
    f('holderIdentity?', 1, '*string'),
    f('leaseDurationSeconds?', 2, '*int32'),
    f('acquireTime?', 3, '*microTime'),
    f('renewTime?', 4, '*microTime'),
    f('leaseTransitions?', 5, '*int32'),
    f('strategy?', 6, '*CoordinatedLeaseStrategy'),
    f('preferredHolder?', 7, '*string'),
  ]),
  LeaseList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]Lease')]),
});
