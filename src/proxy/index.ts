// The service proxy.

export type { ConntrackSettings } from './conntrack-settings.ts';
export { removeTable } from './nftables/nftables-backend.ts';
export {
  type NodeProxyConfig,
  type NodeProxySettings,
  PROXY_FAMILIES,
  type ProxyMode,
  runNodeProxy,
} from './node-proxy.ts';
export { ProxyMetrics } from './metrics.ts';
export type { NodePortAddresses } from './proxier.ts';
