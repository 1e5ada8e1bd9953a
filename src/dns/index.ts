// The cluster's DNS.

export { DnsMetrics } from './metrics.ts';
export { DNS_PERMISSIONS, DNS_USERS, type DnsEndpoint } from './publish/objects.ts';
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
export { nodeSockets } from './system/node-sockets.ts';
export type { DnsSockets, SocketAddress } from './system/sockets.ts';
