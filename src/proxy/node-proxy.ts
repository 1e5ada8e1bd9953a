// Runs the proxy of a node: chooses the back end that the machine supports, serves health, and runs
// until it is stopped.

import type { RequestListener } from 'node:http';
import { availableParallelism, networkInterfaces } from 'node:os';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { systemSettingFiles } from '#machinery/files/setting-files.ts';
import type { Logger } from '#machinery/log.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import { machineInterfaces } from '#machinery/net/machine-interfaces.ts';
import { type Nft, NftSession, obstacleToNft } from '#machinery/net/nft/index.ts';
import type { Random } from '#machinery/random.ts';
import type { VersionInfo } from '#machinery/version-info.ts';
import { applyConntrackSettings, type ConntrackSettings } from './conntrack-settings.ts';
import { serveProbes } from '#machinery/serving/probes.ts';
import { ProxyHealth } from './health/proxy-health.ts';
import { statusPages } from './health/status.ts';
import type { ProxyMetrics } from './metrics.ts';
import type { Backend } from './model.ts';
import { seesBridgedTraffic } from './nftables/bridge.ts';
import { FlowCleaner, systemConntrack } from './nftables/flows.ts';
import { NftablesBackend } from './nftables/nftables-backend.ts';
import { tableCommands, type TableSettings } from './nftables/table.ts';
import {
  addressesForNodePorts,
  type NodePortAddresses,
  Proxier,
  type ProxierNetwork,
} from './proxier.ts';
import { LoopbackAddresses } from './userspace/addresses.ts';
import { UserspaceBackend } from './userspace/userspace-backend.ts';

export type ProxyMode = 'auto' | 'nftables' | 'userspace';

/** The settings of a node's proxy. */
export interface NodeProxySettings {
  /** 'auto': nftables if available, otherwise userspace. */
  readonly mode: ProxyMode;
  /** The name of the nftables table. Two proxies on one machine need two. */
  readonly table: string;
  /** The bridge of the node's pods. Undefined: they are routed. */
  readonly bridge?: string;
  /** The ranges of pods. Empty: unknown. */
  readonly clusterCidrs: readonly string[];
  readonly nodePortAddresses: NodePortAddresses;
  /**
   * Ports of the node's own components, such as 'tcp/6443', which no service gets at the node's
   * addresses.
   */
  readonly reservedPorts: readonly string[];
  readonly masqueradeAll?: boolean;
  /** Default: 14, as upstream. */
  readonly masqueradeBit?: number;
  readonly minSyncPeriodMs?: number;
  /** Settings of the kernel's connection tracking, where nftables is used. */
  readonly conntrack?: ConntrackSettings;
  /** The address of /healthz and /livez. Undefined: they are not served. */
  readonly healthz?: ProbeAddress;
  /** The address of /metrics and /proxyMode. Undefined: they are not served. */
  readonly status?: ProbeAddress & { readonly version: VersionInfo };
}

interface ProbeAddress {
  readonly host: string;
  readonly port: number;
  /** The proxy also runs without it. */
  readonly optional?: boolean;
}

export interface NodeProxyConfig {
  readonly client: Client;
  readonly nodeName: string;
  readonly settings: NodeProxySettings;
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Both families: kernels have both, and an unused family costs nothing. */
export const PROXY_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
const DEFAULT_MASQUERADE_BIT = 14;

/**
 * Runs until the signal aborts. Rejects if the configured mode is not available. Rules in the
 * kernel stay.
 */
export async function runNodeProxy(config: NodeProxyConfig, signal: AbortSignal): Promise<void> {
  const { client, nodeName, settings, metrics, clock, random } = config;
  const logger = config.logger.with({ component: 'kube-proxy', node: nodeName });
  const nft = new NftSession({ clock });
  const makeBackend = await chooseBackend(config, nft, logger);
  const health = new ProxyHealth({ clock, families: PROXY_FAMILIES });
  let mode = '';
  const { healthz, status } = settings;
  const pages =
    status && statusPages({ metrics: () => metrics.text(), mode: () => mode, ...status });
  const servers = [
    await serveAt('healthz', healthz, healthPages(health, metrics), logger),
    await serveAt('status', status, pages, logger),
  ];
  const proxier = new Proxier({
    client,
    nodeName,
    makeBackend: (network) => {
      const backend = makeBackend(network);
      mode = backend.name;
      return backend;
    },
    machineAddresses,
    reservedPorts: settings.reservedPorts,
    nodePortAddresses: settings.nodePortAddresses,
    ...(settings.minSyncPeriodMs !== undefined && { minSyncPeriodMs: settings.minSyncPeriodMs }),
    clock,
    random,
    logger,
    metrics,
    health,
  });
  try {
    await proxier.run(signal);
  } finally {
    for (const server of servers) await server?.close();
    await nft.close();
  }
}

/**
 * Returns the machine's own addresses, including loopback and link-local ones, without addresses of
 * services.
 */
export const machineAddresses = (): readonly string[] =>
  Object.values(machineInterfaces()).flatMap((entries) =>
    (entries ?? []).map(({ address }) => address),
  );

const allAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map(({ address }) => address),
  );

type MakeBackend = (network: ProxierNetwork) => Backend;

async function chooseBackend(
  config: NodeProxyConfig,
  nft: Nft,
  logger: Logger,
): Promise<MakeBackend> {
  const { settings } = config;
  if (settings.mode === 'userspace') return (network) => userspace(config, network, logger);
  const obstacle = await obstacleToNftables(settings, nft);
  if (obstacle === undefined) {
    const cores = availableParallelism();
    await applyConntrackSettings(settings.conntrack ?? {}, cores, systemSettingFiles, logger);
    const blindBridge =
      settings.bridge === undefined || (await seesBridgedTraffic(settings.bridge, logger))
        ? undefined
        : settings.bridge;
    return (network) => nftables(config, nft, network, blindBridge, logger);
  }
  if (settings.mode === 'nftables') throw new Error(`nftables is not available: ${obstacle}`);
  logger.warn('proxy: services are proxied in userspace', { reason: obstacle });
  return (network) => userspace(config, network, logger);
}

function nftables(
  config: NodeProxyConfig,
  nft: Nft,
  network: ProxierNetwork,
  blindBridge: string | undefined,
  logger: Logger,
): NftablesBackend {
  const { settings, clock, metrics } = config;
  return new NftablesBackend({
    nft,
    families: PROXY_FAMILIES,
    settings: () => tableSettings(settings, network, blindBridge),
    flows: new FlowCleaner({
      conntrack: systemConntrack(),
      clock,
      logger,
      onCleaned: (family, removed, seconds) =>
        metrics.flowsRemoved(family === 'ipv4' ? 'IPv4' : 'IPv6', removed, seconds),
    }),
    clock,
    logger,
  });
}

function tableSettings(
  settings: NodeProxySettings,
  network: ProxierNetwork,
  blindBridge: string | undefined,
): TableSettings {
  const {
    table,
    clusterCidrs,
    nodePortAddresses,
    masqueradeAll = false,
    masqueradeBit = DEFAULT_MASQUERADE_BIT,
  } = settings;
  return {
    table,
    nodePortIPs: addressesForNodePorts(nodePortAddresses, network.nodeIPs(), machineAddresses()),
    clusterCidrs,
    serviceCidrs: network.serviceCidrs(),
    masqueradeAll,
    masqueradeBit,
    blindBridge,
  };
}

function userspace(
  config: NodeProxyConfig,
  network: ProxierNetwork,
  logger: Logger,
): UserspaceBackend {
  const { settings, clock, random } = config;
  const canAddAddresses = process.platform === 'linux' && process.getuid?.() === 0;
  const serviceCidrs = (): readonly string[] => network.serviceCidrs();
  return new UserspaceBackend({
    nodePortIPs: () =>
      addressesForNodePorts(settings.nodePortAddresses, network.nodeIPs(), machineAddresses()) ?? [
        '0.0.0.0',
        '::',
      ],
    // Addresses of load balancers that this machine announces are served like its own addresses.
    machineAddresses: allAddresses,
    addresses: canAddAddresses ? new LoopbackAddresses({ serviceCidrs, logger }) : undefined,
    clock,
    random,
    logger,
  });
}

/** Returns the reason why nftables cannot be used here; undefined if it can. Changes nothing. */
function obstacleToNftables(settings: NodeProxySettings, nft: Nft): Promise<string | undefined> {
  const network: ProxierNetwork = { nodeIPs: () => [], serviceCidrs: () => [] };
  const commands = PROXY_FAMILIES.flatMap((family) =>
    tableCommands(family, tableSettings(PROBE(settings), network, undefined)),
  );
  return obstacleToNft(nft, `${commands.join('\n')}\n`);
}

/**
 * Checks with a name of its own: an existing table does not prove that a new one can be created.
 */
const PROBE = (settings: NodeProxySettings): NodeProxySettings => ({
  ...settings,
  table: `${settings.table}-probe`,
});

/** Returns the handler of /healthz and /livez. */
function healthPages(health: ProxyHealth, metrics: ProxyMetrics): RequestListener {
  return (request, response) => {
    request.resume();
    const path = request.url?.split('?')[0];
    if (path !== '/healthz' && path !== '/livez') {
      response
        .writeHead(404, { 'content-type': 'text/plain; charset=utf-8' })
        .end('404 page not found\n');
      return;
    }
    const endpoint = path === '/healthz' ? 'healthz' : 'livez';
    const { healthy, body } = health.report(endpoint);
    metrics.probed(endpoint, healthy ? 200 : 503);
    response
      .writeHead(healthy ? 200 : 503, {
        'content-type': 'application/json',
        'x-content-type-options': 'nosniff',
      })
      .end(body);
  };
}

/** Starts a server. Rejects if it cannot listen, unless the address is optional. */
async function serveAt(
  name: string,
  address: ProbeAddress | undefined,
  listener: RequestListener | undefined,
  logger: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
  if (address === undefined || listener === undefined) return undefined;
  const { host, port, optional = false } = address;
  try {
    return await serveProbes(host, port, listener);
  } catch (error) {
    if (!optional) throw new Error(`${name}: ${errorMessage(error)}`, { cause: error });
    logger.warn(`proxy: ${name} cannot be served`, { host, port, reason: errorMessage(error) });
    return undefined;
  }
}
