// The cluster's DNS.

export { DnsMetrics } from './metrics.ts';
export { addressBytes } from './records/addresses.ts';
export {
  DEFAULT_CLUSTER_DOMAIN,
  DNS_SERVICE,
  DnsServer,
  parseClusterDomain,
  type DnsServerConfig,
} from './serving/dns-server.ts';
export { PRIVATE_RANGES } from './serving/clients.ts';
export { nodeSockets } from './system/node-sockets.ts';
export type { DnsSockets, SocketAddress } from './system/sockets.ts';
