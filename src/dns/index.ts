// The cluster's DNS.

export type { ListenAt } from './config/corefile/arguments.ts';
export type { CorefileServing } from './config/corefile/corefile.ts';
export { FollowedCorefile } from './config/corefile/follow.ts';
export { CorefileError } from './config/corefile/tokens.ts';
export { DnsMetrics } from './metrics.ts';
export { DNS_PERMISSIONS, DNS_USERS, type DnsEndpoint } from './publish/objects.ts';
export { type DnsServiceFollower, followDnsService } from './publish/follow-service.ts';
export {
  grantDnsPermissions,
  publishDnsEndpoint,
  publishDnsService,
  withdrawDnsEndpoint,
} from './publish/publish.ts';
export { resolveWith } from './resolve.ts';
export type { DnsRecord, DnsRecordType, Resolved } from './resolved.ts';
export { PRIVATE_RANGES } from './serving/clients.ts';
export {
  DEFAULT_CLUSTER_DOMAIN,
  DNS_SERVICE,
  DnsServer,
  parseClusterDomain,
  type DnsServerConfig,
} from './serving/dns-server.ts';
export { nodeFiles, nodeSockets } from './system/node-sockets.ts';
export type { DnsSockets, SocketAddress } from './system/sockets.ts';
