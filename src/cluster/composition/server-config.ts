// The configuration of the API server of a cluster in one process.

import { hostname } from 'node:os';
import type { ApiServerConfig } from '#apiserver/config.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SERVER_COMPONENT } from '#simulation/index.ts';
import type { Decision } from '#scheduler/decisions.ts';
import type { ClusterCertificates } from './certificates.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { mountsOf } from '../console/console.ts';
import { KUBERNETES_VERSION } from '../version.ts';

/** The parts of a cluster that its API server depends on. */
export interface ServerParts {
  /** Absent: the server does not listen. */
  readonly certificates: ClusterCertificates | undefined;
  /**
   * PEM: signs the tokens of ServiceAccounts. Absent: without an authority a pod could not know the
   * API server, and gets no token for it either.
   */
  readonly serviceAccountKey: string | undefined;
  readonly nodeConnector: ApiServerConfig['nodeConnector'];
  readonly componentHealth: ApiServerConfig['componentHealth'];
  /** Returns the metrics of everything besides the server. */
  readonly otherMetrics: () => Promise<string>;
  readonly decisions: () => Promise<readonly Decision[]>;
  /** Reports whether processes serve the API beside this one. */
  readonly hasWorkers: () => boolean;
}

export function serverConfigOf(config: ClusterConfig, parts: ServerParts): ApiServerConfig {
  const { clock, logger, random, simulation, listen, controlPlanes = 1 } = config;
  const { certificates, serviceAccountKey, decisions } = parts;
  return {
    ...config.inProcess,
    ...(certificates !== undefined && mountsOf({ ...config, decisions })),
    storage: config.storage,
    clock: simulation?.clockOf(SERVER_COMPONENT, clock) ?? clock,
    intercept: simulation?.intercept,
    interceptWebhook: simulation?.interceptWebhook,
    random: random.derive('apiserver'),
    logger: logger.with({ component: 'apiserver' }),
    serviceCidr: config.serviceCidr,
    ...(config.audit !== undefined && { audit: config.audit }),
    ...config.access?.config,
    latestHeartbeats: clock instanceof VirtualClock,
    sharesStorage: config.leaderElect === true && controlPlanes === 1,
    ...(config.runtimeConfig !== undefined && { runtimeConfig: config.runtimeConfig }),
    nodeConnector: parts.nodeConnector,
    componentHealth: parts.componentHealth,
    version: KUBERNETES_VERSION.gitVersion,
    otherChecks: () => config.encryption?.checks() ?? [],
    otherMetrics: parts.otherMetrics,
    ...(serviceAccountKey !== undefined && {
      serviceAccounts: { signingKey: serviceAccountKey, mountTokens: true },
    }),
    ...(certificates !== undefined && {
      tls: { ...certificates.serving, clientCa: certificates.clientCa },
      requestHeader: certificates.requestHeader,
      aggregation: { proxyClientCertificate: () => certificates.proxyClient },
    }),
    ...(listen !== undefined && { bindAddress: listen.bindAddress, port: listen.port }),
    // On a virtual clock a cluster is the same on every machine.
    ...(listen !== undefined && !(clock instanceof VirtualClock) && { hostname: hostname() }),
    ...(config.apiWorkers !== undefined && { hasWorkers: parts.hasWorkers }),
  };
}
