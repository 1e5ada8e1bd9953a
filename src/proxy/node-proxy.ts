// The proxy as a component: chooses the back end that the machine allows, serves health, and runs
// until it is stopped.

import { networkInterfaces } from 'node:os';
import type { Client } from '#client/client.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import { machineInterfaces } from '#machinery/net/machine-interfaces.ts';
import { type Nft, NftSession, obstacleToNft } from '#machinery/net/nft/index.ts';
import type { Random } from '#machinery/random.ts';
import { serveProbes } from './health/http.ts';
import { ProxyHealth } from './health/proxy-health.ts';
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

/** What the proxy of a node is set to. */
export interface NodeProxySettings {
  /** 'auto': nftables where it can be had, else userspace. */
  readonly mode: ProxyMode;
  /** The table of nftables. Two proxies on one machine need two. */
  readonly table: string;
  /** The bridge that the node's pods are on. Undefined: they are routed. */
  readonly bridge?: string;
  /** Where pods get their addresses. Empty: unknown. */
  readonly clusterCidrs: readonly string[];
  readonly nodePortAddresses: NodePortAddresses;
  /**
   * 'tcp/6443': ports of the node's own components, which no service gets at the node's addresses.
   */
  readonly reservedPorts: readonly string[];
  readonly masqueradeAll?: boolean;
  /** Default: 14, as upstream's. */
  readonly masqueradeBit?: number;
  readonly minSyncPeriodMs?: number;
  /** Where /healthz and /livez are. Undefined: nowhere. */
  readonly healthz?: {
    readonly host: string;
    readonly port: number;
    /** The proxy runs without it, too. */ readonly optional?: boolean;
  };
}

export interface NodeProxyConfig {
  readonly client: Client;
  readonly nodeName: string;
  readonly settings: NodeProxySettings;
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Called once, when the back end is chosen. */
  readonly onBackend?: (name: Backend['name']) => void;
}

/** Both: the kernel has both, and a family that no service uses costs nothing. */
export const PROXY_FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];
const DEFAULT_MASQUERADE_BIT = 14;

/**
 * Runs until the signal aborts. Rejects if the mode that was asked for is not available here. Rules
 * in the kernel stay.
 */
export async function runNodeProxy(config: NodeProxyConfig, signal: AbortSignal): Promise<void> {
  const { client, nodeName, settings, metrics, clock, random, onBackend } = config;
  const logger = config.logger.with({ component: 'kube-proxy', node: nodeName });
  const nft = new NftSession({ clock });
  const makeBackend = await chooseBackend(config, nft, logger);
  const health = new ProxyHealth({ clock, families: PROXY_FAMILIES });
  const server = await serveHealth(settings.healthz, health, metrics, logger);
  const proxier = new Proxier({
    client,
    nodeName,
    makeBackend: (network) => {
      const backend = makeBackend(network);
      onBackend?.(backend.name);
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
    await server?.close();
    await nft.close();
  }
}

/**
 * Returns the machine's own addresses, loopback and link-local ones included. Addresses of services
 * are not its own.
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
    // Addresses of load balancers that this machine announces are served like its own.
    machineAddresses: allAddresses,
    addresses: canAddAddresses ? new LoopbackAddresses({ serviceCidrs, logger }) : undefined,
    clock,
    random,
    logger,
  });
}

/**
 * Returns why the proxy cannot use nftables here; undefined if it can. Nothing is changed to find
 * out.
 */
function obstacleToNftables(settings: NodeProxySettings, nft: Nft): Promise<string | undefined> {
  const network: ProxierNetwork = { nodeIPs: () => [], serviceCidrs: () => [] };
  const commands = PROXY_FAMILIES.flatMap((family) =>
    tableCommands(family, tableSettings(PROBE(settings), network, undefined)),
  );
  return obstacleToNft(nft, `${commands.join('\n')}\n`);
}

/**
 * Checked under a name of its own: a table that is there already says nothing about what can be
 * made.
 */
const PROBE = (settings: NodeProxySettings): NodeProxySettings => ({
  ...settings,
  table: `${settings.table}-probe`,
});

async function serveHealth(
  healthz: NodeProxySettings['healthz'],
  health: ProxyHealth,
  metrics: ProxyMetrics,
  logger: Logger,
): Promise<{ close(): Promise<void> } | undefined> {
  if (healthz === undefined) return undefined;
  const { host, port, optional = false } = healthz;
  try {
    return await serveProbes(host, port, (request, response) => {
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
    });
  } catch (error) {
    if (!optional) throw error;
    logger.warn('proxy: healthz cannot be served', { host, port, reason: errorMessage(error) });
    return undefined;
  }
}
