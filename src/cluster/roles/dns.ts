// The role `cox dns`: the cluster's DNS, apart from everything else. Several may run: each has an
// EndpointSlice of its own.

import { hostname } from 'node:os';
import {
  DEFAULT_CLUSTER_DOMAIN,
  DNS_PERMISSIONS,
  DnsServer,
  nodeSockets,
  PRIVATE_RANGES,
  publishDnsEndpoint,
  publishDnsService,
  type SocketAddress,
  withdrawDnsEndpoint,
} from '#dns/index.ts';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { isGlobalUnicast } from '#machinery/net/ip.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { checkClusterDomain } from '../addons/prepare-dns.ts';
import { UserError } from '../user-error.ts';
import { clientFor, type RoleConfig, type RunningRole } from './role.ts';
import { readKubeconfig } from '../flags/flag-files.ts';

export interface DnsRoleConfig extends RoleConfig {
  /** The kubeconfig with the address of the API server and the role's credentials. */
  readonly kubeconfig: string;
  readonly bindAddress: readonly string[];
  readonly port: number;
  /** Absent: metrics are not served. */
  readonly metricsPort?: number;
  readonly clusterDomain?: string;
  /** Default: private addresses. */
  readonly allowedClients?: readonly string[];
  /** The cluster IP of the Service, if the Service has to be created. Default: any. */
  readonly clusterIp?: string;
  /**
   * The address in the EndpointSlice. Default: the first of `bindAddress` that other machines can
   * reach; without one, no slice is created.
   */
  readonly advertiseAddress?: string;
  /** The name in the EndpointSlice. Default: the machine's. */
  readonly hostnameOverride?: string;
}

export interface RunningDnsRole extends RunningRole {
  readonly addresses: readonly SocketAddress[];
}

export const COMPONENT = 'coredns';
/**
 * The limit of the wait for the first records. Then the server runs without them, and logs that.
 */
const SYNC_TIMEOUT_MS = 30_000;

/** Starts the DNS server. Rejects with UserError for a problem that the user can solve. */
export async function startDnsRole(config: DnsRoleConfig): Promise<RunningDnsRole> {
  const { clock, random, bindAddress, port, metricsPort, allowedClients = PRIVATE_RANGES } = config;
  const logger = config.logger.with({ component: 'dns' });
  const clusterDomain = config.clusterDomain ?? DEFAULT_CLUSTER_DOMAIN;
  checkClusterDomain(clusterDomain);
  const access = await readKubeconfig('--kubeconfig', config.kubeconfig);
  const client = clientFor(access, COMPONENT, config);
  const node = nodeNameOf(config);
  const server = makeServer({
    client,
    sockets: nodeSockets,
    clock,
    random,
    logger,
    clusterDomain,
    allowedClients,
    listen: bindAddress.map((address) => ({ address, port })),
    metricsListen:
      metricsPort === undefined
        ? []
        : bindAddress.map((address) => ({ address, port: metricsPort })),
  });
  try {
    await server.start();
  } catch (error) {
    throw asUserError(error, config);
  }
  const withdraw = async (): Promise<void> => {
    await withdrawDnsEndpoint(client, node).catch((error: unknown) =>
      logger.warn('DNS endpoint could not be withdrawn', { err: error }),
    );
  };
  let published = false;
  const stop = async (): Promise<void> => {
    if (published) await withdraw();
    await server.stop();
  };
  try {
    published = await publish(client, config, server, node);
    await synced(server, config);
  } catch (error) {
    await stop();
    throw asUserError(error, config);
  }
  let stopping: Promise<void> | undefined;
  return {
    addresses: server.addresses,
    description:
      `DNS of ${access.server} at ` +
      server.addresses.map((at) => `${at.address} port ${at.port}`).join(', '),
    failed: new Promise(() => undefined),
    stop: () => (stopping ??= stop()),
  };
}

/**
 * Returns the objects that allow the user `system:coredns` to do what this role does, as YAML for
 * an administrator to apply.
 */
export async function dnsPermissionsYaml(): Promise<string> {
  const { clusterRole, clusterRoleBinding, role, roleBinding } = DNS_PERMISSIONS;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const objects = [
    { apiVersion, kind: 'ClusterRole', ...clusterRole },
    { apiVersion, kind: 'ClusterRoleBinding', ...clusterRoleBinding },
    { apiVersion, kind: 'Role', ...role },
    { apiVersion, kind: 'RoleBinding', ...roleBinding },
  ];
  return (await Promise.all(objects.map((object) => formatYamlLazily(object)))).join('---\n');
}

export function makeServer(config: ConstructorParameters<typeof DnsServer>[0]): DnsServer {
  try {
    return new DnsServer(config);
  } catch (error) {
    if (error instanceof RangeError)
      throw new UserError(`--allowed-clients: ${error.message}`, { cause: error });
    throw error;
  }
}

function nodeNameOf({ hostnameOverride }: DnsRoleConfig): string {
  const name = hostnameOverride ?? hostname().toLowerCase();
  if (isDNS1123Subdomain(name).length === 0) return name;
  throw new UserError(
    `${JSON.stringify(name)} is no name for an EndpointSlice: give another with --hostname-override`,
  );
}

async function publish(
  client: Client,
  config: DnsRoleConfig,
  server: DnsServer,
  node: string,
): Promise<boolean> {
  if (!(await publishDnsService(client, config.clusterIp, config.metricsPort !== undefined)))
    return false;
  const [first] = server.addresses;
  const address =
    config.advertiseAddress ?? config.bindAddress.find((each) => isGlobalUnicast(each));
  if (address === undefined || first === undefined) return false;
  const metricsPort = server.metricsAddresses[0]?.port;
  const at = { address, port: first.port };
  await publishDnsEndpoint(client, {
    node,
    at,
    isNode: false,
    ...(metricsPort !== undefined && { metricsPort }),
  });
  return true;
}

export async function synced(server: DnsServer, { clock, logger }: RoleConfig): Promise<void> {
  const timeout = new AbortController();
  const timer = clock.setTimer(SYNC_TIMEOUT_MS, () =>
    timeout.abort(new Error('the records are not known yet')),
  );
  try {
    await server.waitForSync(timeout.signal);
  } catch (error) {
    logger.warn('DNS: records are not synced yet, unknown names get SERVFAIL', { err: error });
  } finally {
    timer.cancel();
  }
}

function asUserError(err: unknown, { port, metricsPort }: DnsRoleConfig): unknown {
  if (apierrors.isForbidden(err)) {
    const hint = "an administrator has to apply what 'cox dns --print-permissions' prints";
    return new UserError(`${(err as Error).message}: ${hint}`, { cause: err });
  }
  if (apierrors.isServiceUnavailable(err)) {
    return new UserError(`the API server cannot be reached: ${(err as Error).message}`, {
      cause: err,
    });
  }
  const ports = metricsPort === undefined ? `port ${port}` : `ports ${port} and ${metricsPort}`;
  switch ((err as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new UserError(
        `one of the addresses is in use (${ports}): see --bind-address, --port, --metrics-port`,
        {
          cause: err,
        },
      );
    case 'EADDRNOTAVAIL':
      return new UserError(`--bind-address: ${(err as Error).message}`, { cause: err });
    case 'EACCES':
      return new UserError(`${ports} cannot be had without root: see --port, --metrics-port`, {
        cause: err,
      });
    default:
      return err;
  }
}
