// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export type CoordinatedLeaseStrategy = 'OldestEmulationVersion' | (string & {});

export interface Lease extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: LeaseSpec;
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
  strategy?: CoordinatedLeaseStrategy;
  preferredHolder?: string;
}

export interface LeaseList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: Lease[];
}
