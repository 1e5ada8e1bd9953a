// The role `cox apiserver`: an API server on an etcd that others may share, or on a store in memory.

import { hostname } from 'node:os';
import { RuntimeConfigError } from '#apiserver/runtime-config.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { ServingTls } from '#apiserver/http/serving-tls.ts';
import { ApiServer } from '#apiserver/server.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { accessOf } from '../access/index.ts';
import { ApiWorkers } from '../api-workers/index.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../credentials/certificate-renewal.ts';
import { localComponentHealth } from '../components/component-health.ts';
import { Encryption } from '../stores/encryption.ts';
import { firstServiceAddress, parseServiceRanges } from '../flags/network-ranges.ts';
import { mountsOf, permitConsole } from '../console/console.ts';
import { RecordReader } from '../decision-record/reader.ts';
import { oidcOf } from '../access/oidc.ts';
import { quoted } from '../flags/quoted.ts';
import { openStorage } from '../stores/open-storage.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import { aggregationOf } from './api-server/aggregation-flags.ts';
import type { ApiServerRoleConfig } from './api-server/config.ts';
import { CertificateFiles, readTokenFile } from './api-server/files.ts';
import { kubeletConnectionsOf } from './api-server/kubelets.ts';
import { serviceAccountsOf } from './api-server/service-accounts.ts';
import { servingOf } from './api-server/serving.ts';
import { auditOf } from '../audit/audit-flags.ts';
import { InnerComponents } from './inner-components.ts';
import type { RunningRole } from './role.ts';

export type { ApiServerRoleConfig };

export interface RunningApiServer extends RunningRole {
  readonly url: string;
}

/**
 * Starts the server. Rejects with UserError for a problem that the user can solve; nothing is left
 * running then.
 */
export async function startApiServerRole(config: ApiServerRoleConfig): Promise<RunningApiServer> {
  const { clock, random, logger, store = 'etcd' } = config;
  const serviceCidr = config.serviceClusterIpRange ?? '10.96.0.0/16';
  const ranges = parseServiceRanges('--service-cluster-ip-range', serviceCidr);
  checkPortRange(config.serviceNodePortRange);
  checkStore(store, config);
  const files = new CertificateFiles(config.certDir);
  const serving = await servingOf(config, files, firstServiceAddress(ranges));
  const { tls } = serving;
  const kubelets = kubeletConnectionsOf(config, files);
  const aggregation = aggregationOf(config, files);
  const serviceAccounts = await serviceAccountsOf(config, files);
  const tokens =
    config.tokenAuthFile === undefined ? undefined : readTokenFile(config.tokenAuthFile);
  const oidc = oidcOf(config, clock);
  const access = await accessOf(config, {
    clock,
    logger,
    ...(oidc !== undefined && { oidc: oidc.jwt }),
    ...(config.serviceAccountIssuer !== undefined && {
      serviceAccountIssuers: config.serviceAccountIssuer,
    }),
  });
  const audit = await auditOf(config, { clock, logger, random });

  const inner = InnerComponents.of({
    ...config,
    store,
    serviceCidr,
    ...('signingKey' in serviceAccounts && { serviceAccountKey: serviceAccounts.signingKey }),
    rootCa: tls.cert,
  });

  const goawayChance = checkedShare(config.goawayChance);
  const strictTransportSecurity = checkedDirectives(config.strictTransportSecurityDirectives);
  const shutdownDelayMs = shutdownDelay(config.shutdownDelayDuration);
  const encryption = await Encryption.of(config, { clock, random, logger, store });
  const opened = await openStorage({
    choice: store,
    etcd: config.etcd,
    dir: '',
    clock,
    random,
    logger,
  });
  const storage = encryption?.around(opened, config.etcd) ?? opened;
  let server: ApiServer | undefined;
  let workers: ApiWorkers | undefined;
  /** The scheduler runs apart. */
  const record = new RecordReader({
    client: () => clientOfMasters(server as ApiServer),
    clock,
    random,
  });
  const reloading = new AbortController();
  const stop = async (): Promise<void> => {
    reloading.abort();
    await inner?.stop();
    await Promise.all([workers?.stop(), server?.stop()]);
    await storage.close();
    encryption?.close();
  };
  try {
    const { workers: workersWanted } = config;
    const serverConfig: ApiServerConfig = {
      storage,
      clock,
      random: random.derive(`apiserver/${hostname()}`),
      hostname: hostname(),
      logger: logger.with({ component: 'apiserver' }),
      serviceCidr,
      serviceNodePortRange: config.serviceNodePortRange,
      nodeConnector: inner?.connector(kubelets.connector) ?? kubelets.connector,
      resourceMetrics: inner !== undefined || kubelets.hasCertificate,
      ...(config.kubeletPreferredAddressTypes !== undefined && {
        nodeAddressTypes: config.kubeletPreferredAddressTypes,
      }),
      goawayChance,
      ...(strictTransportSecurity !== undefined && { strictTransportSecurity }),
      otherMetrics: () =>
        (config.otherMetrics?.() ?? '') +
        (workers?.metrics() ?? '') +
        access.metrics() +
        (encryption?.metrics() ?? ''),
      otherChecks: () => encryption?.checks() ?? [],
      ...(workersWanted !== undefined && { hasWorkers: () => workers?.any === true }),
      componentHealth: localComponentHealth(clock),
      version: config.reportedVersion ?? KUBERNETES_VERSION.gitVersion,
      serviceAccounts,
      tokens,
      bootstrapTokens: config.enableBootstrapTokenAuth,
      ...access.config,
      tls,
      requestHeader: aggregation.requestHeader,
      aggregation: aggregation.config,
      sharesStorage: store === 'etcd',
      maxInFlight: {
        maxReads: limitOf(config.maxRequestsInflight),
        maxWrites: limitOf(config.maxMutatingRequestsInflight),
      },
      priorityAndFairness: config.enablePriorityAndFairness,
      requestTimeoutMs: config.requestTimeout,
      shutdownDelayMs,
      minWatchTimeoutMs:
        config.minRequestTimeout === undefined ? undefined : config.minRequestTimeout * 1000,
      eventTtlMs: config.eventTtl,
      listsKeepLimit: config.watchCache === false,
      defaultTolerationSeconds: {
        notReady: config.defaultNotReadyTolerationSeconds,
        unreachable: config.defaultUnreachableTolerationSeconds,
      },
      bindAddress: config.bindAddress ?? '0.0.0.0',
      port: config.securePort,
      advertiseAddress: config.advertiseAddress,
      runtimeConfig: config.runtimeConfig,
      flags: config.flags,
      ...(audit !== undefined && { audit }),
      ...(config.console === true &&
        mountsOf({
          logger,
          console: { clock, random, ...(oidc !== undefined && { oidc: oidc.client }) },
          decisions: () => record.decisions(),
          schedulerConfiguration: () => record.configuration(),
        })),
    };
    server = new ApiServer(serverConfig);
    if (workersWanted !== undefined)
      workers = ApiWorkers.of({ ...workersWanted, server: serverConfig });
    const { url, port } = await server.listen();
    await server.start();
    if (config.console === true)
      await permitConsole({ console: { clock, random }, logger }, clientOfMasters(server), [
        RecordReader.grant,
      ]);
    await inner?.start(server);
    workers?.start(server, port);
    const { cert, key, named, clientCa } = tls;
    const requestHeaderCa = aggregation.requestHeader?.ca;
    void keepRenewed<ServingTls>(
      {
        clock,
        logger,
        name: 'apiserver, and authorities of clients',
        current: { cert, key, named, clientCa, requestHeaderCa },
        periodMs: RELOAD_PERIOD_MS,
        latest: () => ({
          ...serving.latest(),
          requestHeaderCa: aggregation.latestAuthority(),
        }),
        use: (latest) => {
          server?.setTls(latest);
          workers?.setTls(latest);
        },
      },
      reloading.signal,
    );
    void kubelets.keepRenewed(reloading.signal);
    void aggregation.keepRenewed({ clock, logger }, reloading.signal);
    void encryption?.keepLoaded();
    void access.keepLoaded(reloading.signal, () => workers?.settingsChanged());
    let stopping: Promise<void> | undefined;
    return {
      url,
      description: `API server on ${url}`,
      failed: inner?.failed ?? new Promise(() => undefined),
      stop: () => (stopping ??= stop()),
    };
  } catch (error) {
    await stop();
    throw asUserError(error, config);
  }
}

function checkStore(
  store: 'etcd' | 'memory',
  { etcd: { servers }, logger }: ApiServerRoleConfig,
): void {
  if (store === 'etcd' && servers.length === 0) {
    throw new UserError(
      'an API server needs --etcd-servers, such as https://10.0.0.1:2379,https://10.0.0.2:2379, or --store memory',
    );
  }
  if (store === 'memory' && servers.length > 0)
    logger.warn('--etcd-servers is not applied: the store is in memory');
}

/** Returns a client that may do everything. */
function clientOfMasters(server: ApiServer): Client {
  const handler = server.inProcess({ name: 'kube-apiserver', groups: ['system:masters'] });
  return createClient(createInProcessTransport({ handler, userAgent: 'kube-apiserver' }));
}

function shutdownDelay(ms: number | undefined): number | undefined {
  if (ms !== undefined && ms < 0)
    throw new UserError('--shutdown-delay-duration can not be negative value');
  return ms;
}

function checkedShare(share: number | undefined): number | undefined {
  if (share !== undefined && !(share >= 0 && share <= 0.02))
    throw new UserError('--goaway-chance can not be less than 0 or greater than 0.02');
  return share;
}

function checkedDirectives(directives?: readonly string[]): readonly string[] | undefined {
  for (const directive of directives ?? []) {
    if (/^(?:includeSubDomains|preload|max-age=[^=]*)$/.test(directive)) continue;
    throw new UserError(
      '--strict-transport-security-directives invalid, allowed values: max-age=expireTime, ' +
        'includeSubDomains, preload',
    );
  }
  return directives;
}

function checkPortRange(range: string | undefined): void {
  if (range === undefined) return;
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range) ?? [];
  if (first !== '' && Number(first) > 0 && Number(first) <= Number(last) && Number(last) <= 65_535)
    return;
  throw new UserError(
    `--service-node-port-range takes a range of ports, such as 30000-32767, not ${quoted(range)}`,
  );
}

const limitOf = (flag: number | undefined): number | undefined =>
  flag === 0 ? Number.POSITIVE_INFINITY : flag;

function asUserError(
  err: unknown,
  { securePort = 6443, bindAddress = '0.0.0.0' }: ApiServerRoleConfig,
): unknown {
  const { code, message } = err as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new UserError(`port ${securePort} on ${bindAddress} is in use: see --secure-port`, {
      cause: err,
    });
  if (code === 'EADDRNOTAVAIL')
    return new UserError(`${bindAddress} is no address of this machine: see --bind-address`, {
      cause: err,
    });
  if (err instanceof RuntimeConfigError)
    return new UserError(`--runtime-config: ${message}`, { cause: err });
  return err instanceof RangeError ? new UserError(message, { cause: err }) : err;
}
