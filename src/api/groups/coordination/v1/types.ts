// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export type CoordinatedLeaseStrategy = 'OldestEmulationVersion' | (string & {});

/** A lease that its single holder must renew: for leader election and heartbeats. */
export interface Lease extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: LeaseSpec;
}

/** The holder of the lease and its times. */
export interface LeaseSpec {
  /** Identity of the holder. */
  holderIdentity?: string;
  /** The time after the last renewal after which other candidates may acquire the lease. */
  leaseDurationSeconds?: number;
  /** When the holder acquired the lease. */
  acquireTime?: string;
  /** When the holder last renewed the lease. */
  renewTime?: string;
  /** The number of changes of the holder. */
  leaseTransitions?: number;
  /** The strategy of coordinated leader election. */
  strategy?: CoordinatedLeaseStrategy;
  /** Identity of the preferred next holder. */
  preferredHolder?: string;
}

/** A list of Lease objects. */
export interface LeaseList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: Lease[];
}
