// The identity of this API server among those of a cluster, and the end of others.

export { IdentityLease } from './identity-lease.ts';
export { LeaseCollector } from './lease-collector.ts';
export { serverId } from './server-id.ts';
