// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export type CoordinatedLeaseStrategy = 'OldestEmulationVersion' | (string & {});

/** A claim that has to be renewed: held by one at a time, for leader election and heartbeats. */
export interface Lease extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: LeaseSpec;
}

/** The holder of the lease, and since when it holds it. */
export interface LeaseSpec {
  /** Identity of the holder. */
  holderIdentity?: string;
  /** How long after the last renewal others must wait before they take it. */
  leaseDurationSeconds?: number;
  /** When the holder took it. */
  acquireTime?: string;
  /** When the holder last renewed it. */
  renewTime?: string;
  /** How often it has gone from one holder to another. */
  leaseTransitions?: number;
  /** How the next holder is chosen, where that is coordinated. */
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
