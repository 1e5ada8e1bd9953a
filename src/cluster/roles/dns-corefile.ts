// The role `cox dns --corefile`: in place of CoreDNS, with its configuration and in its Deployment.
// It needs what CoreDNS needs: the right to read Services, EndpointSlices and Namespaces. It makes no
// objects, since the Service selects its pod.

import { networkInterfaces } from 'node:os';
import {
  CorefileError,
  type CorefileServing,
  type DnsServer,
  FollowedCorefile,
  type ListenAt,
  nodeFiles,
  nodeSockets,
  PRIVATE_RANGES,
  type SocketAddress,
} from '#dns/index.ts';
import { inClusterAccess, isInCluster } from '#client/credentials/index.ts';
import type { ServerAccess } from '#client/http/index.ts';
import { KubeconfigError, loadKubeconfig } from '#client/kubeconfig.ts';
import { UserError } from '../user-error.ts';
import { COMPONENT, makeServer, type RunningDnsRole, synced } from './dns.ts';
import { readKubeconfig } from '../flags/flag-files.ts';
import { clientFor, type RoleConfig } from './role.ts';

export interface CorefileRoleConfig extends RoleConfig {
  /** The path of the Corefile. */
  readonly corefile: string;
  /** Default: that of the Corefile, or the ServiceAccount of the pod. */
  readonly kubeconfig?: string;
  /** Default: private addresses. */
  readonly allowedClients?: readonly string[];
  /** Receives the lines of the directive `log`. */
  readonly onQueryLine: (line: string) => void;
}

/** Starts the DNS server. Rejects with UserError for a problem that the user can solve. */
export async function startCorefileRole(config: CorefileRoleConfig): Promise<RunningDnsRole> {
  const { clock, random, allowedClients = PRIVATE_RANGES, onQueryLine } = config;
  const logger = config.logger.with({ component: 'dns' });
  const corefile = await loadFile(config);
  const { serving } = corefile.corefile;
  const access = serving.hasCluster ? await accessOf(config, serving) : undefined;
  const all = everyAddress();
  const server = makeServer({
    client: access && clientFor(access, COMPONENT, config),
    sockets: nodeSockets,
    clock,
    random,
    logger,
    corefile,
    allowedClients,
    onQueryLine,
    listen: (serving.bind ?? all).map((address) => ({ address, port: serving.port })),
    metricsListen: placesOf(serving.prometheus, all),
    healthListen: placesOf(serving.health, all),
    readyListen: placesOf(serving.ready, all),
  });
  try {
    await server.start();
  } catch (error) {
    throw asUserError(error, config);
  }
  await synced(server, config);
  let stopping: Promise<void> | undefined;
  return {
    addresses: server.addresses,
    description:
      `DNS of ${access?.server ?? 'no cluster'} at ` +
      server.addresses.map((at) => `${at.address} port ${at.port}`).join(', '),
    failed: new Promise(() => undefined),
    stop: () => (stopping ??= stopAfter(server, serving.health?.lameduckMs ?? 0, config)),
  };
}

async function loadFile(config: CorefileRoleConfig): Promise<FollowedCorefile> {
  const { corefile: path, clock, random } = config;
  try {
    return await FollowedCorefile.load({
      path,
      files: nodeFiles,
      env: process.env,
      clock,
      random,
      logger: config.logger.with({ component: 'dns' }),
    });
  } catch (error) {
    const isOfFile = typeof (error as NodeJS.ErrnoException).code === 'string';
    if (error instanceof CorefileError || isOfFile)
      throw new UserError(`--corefile: ${(error as Error).message}`, { cause: error });
    throw error;
  }
}

async function accessOf(
  { kubeconfig, clock }: CorefileRoleConfig,
  serving: CorefileServing,
): Promise<ServerAccess> {
  if (kubeconfig !== undefined) return readKubeconfig('--kubeconfig', kubeconfig);
  if (serving.kubeconfig !== undefined) {
    const { file, context } = serving.kubeconfig;
    try {
      return await loadKubeconfig(file, { clock, ...(context !== undefined && { context }) });
    } catch (error) {
      if (error instanceof KubeconfigError)
        throw new UserError(`kubeconfig of the Corefile: ${error.message}`, { cause: error });
      throw error;
    }
  }
  if (isInCluster()) return inClusterAccess({ clock });
  throw new UserError(
    '--kubeconfig is needed outside of a pod: who the server is, and where the API server is',
  );
}

/** Serves on for the time in which clients learn that the server ends. */
async function stopAfter(
  server: DnsServer,
  lameduckMs: number,
  { clock, logger }: CorefileRoleConfig,
): Promise<void> {
  if (lameduckMs > 0) {
    logger.info('DNS: serving on before the end (lameduck)', { milliseconds: lameduckMs });
    await new Promise<void>((resolve) => void clock.setTimer(lameduckMs, resolve));
  }
  await server.stop();
}

/** Returns the addresses that stand for all: without IPv6, there is only one. */
function everyAddress(): readonly string[] {
  const hasV6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family }) => family === 'IPv6'),
  );
  return hasV6 ? ['0.0.0.0', '::'] : ['0.0.0.0'];
}

const placesOf = (at: ListenAt | undefined, all: readonly string[]): readonly SocketAddress[] =>
  at === undefined
    ? []
    : (at.host === '' ? all : [at.host]).map((address) => ({ address, port: at.port }));

function asUserError(err: unknown, { corefile }: CorefileRoleConfig): unknown {
  const { code, message } = err as NodeJS.ErrnoException;
  return code === 'EADDRINUSE' || code === 'EADDRNOTAVAIL' || code === 'EACCES'
    ? new UserError(`${corefile}: ${message}`, { cause: err })
    : err;
}
