// The role `cox apiserver`: an API server on an etcd that others may share, or on a store in memory.

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { ADMISSION_PLUGIN_NAMES } from '#apiserver/admission/defaults.ts';
import { tokenSigner } from '#machinery/token-keys.ts';
import { AUTHORIZATION_MODES, type AuthorizationMode } from '#apiserver/authorization/modes.ts';
import { createTlsNodeConnector } from '#apiserver/node-connector.ts';
import type { AnonymousRequests } from '#apiserver/filters/authentication.ts';
import { advertisedAddress } from '#apiserver/own-endpoints.ts';
import { type RuntimeConfig, RuntimeConfigError } from '#apiserver/runtime-config.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import { ApiServer } from '#apiserver/server.ts';
import type { Client } from '#client/client.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { ApiWorkers, type ApiWorkersSettings } from '../api-workers/index.ts';
import { keepRenewed, RELOAD_PERIOD_MS } from '../certificate-renewal.ts';
import { localComponentHealth } from '../component-health.ts';
import { encryptStorage, readEncryptionFile } from '../encryption.ts';
import { firstServiceAddress, parseServiceRanges } from '../network-ranges.ts';
import { mountsOf, permitConsole } from '../console.ts';
import { RecordReader } from '../decision-record/reader.ts';
import { type OidcFlags, oidcOf } from './oidc-flags.ts';
import type { KeyPair } from '../pki.ts';
import { type EtcdConfig, openStorage } from '../stores.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import { selectAdmissionPlugins } from './admission-plugins.ts';
import { type AggregationFlags, aggregationOf } from './aggregation-flags.ts';
import { type AuditFlags, auditOf } from './audit-flags.ts';
import { CertificateFiles, checkKeys, readAccountKeys, readTokenFile } from './api-server-files.ts';
import { InnerComponents, type InnerComponentsConfig } from './inner-components.ts';
import {
  checkAuthority,
  checkKeyPair,
  readFlagFile,
  type RoleConfig,
  type RunningRole,
} from './role.ts';
import { tlsSettings } from './tls-flags.ts';

export interface ApiServerRoleConfig
  extends RoleConfig, AggregationFlags, AuditFlags, InnerComponentsConfig, OidcFlags {
  /** Default: 'etcd'. */
  readonly store?: 'etcd' | 'memory';
  readonly etcd: EtcdConfig;
  /** Default: '0.0.0.0'. */
  readonly bindAddress?: string;
  /** 0: any that is free. Default: 6443. */
  readonly securePort?: number;
  /** By which pods and nodes reach this server. Default: the bind address, or the machine's first. */
  readonly advertiseAddress?: string;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceClusterIpRange?: string;
  /** Default: '30000-32767'. */
  readonly serviceNodePortRange?: string;
  /** The directory of files that no flag names; their names are those of `cox certs`. */
  readonly certDir?: string;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  /** Default: the clients' authority. */
  readonly kubeletCertificateAuthority?: string;
  readonly serviceAccountSigningKeyFile?: string;
  /** Public keys or certificates. Tokens of these keys and of the signing key are accepted. */
  readonly serviceAccountKeyFile?: readonly string[];
  /**
   * The first issuer issues tokens; tokens of all are accepted. Default:
   * 'https://kubernetes.default.svc.cluster.local'.
   */
  readonly serviceAccountIssuer?: readonly string[];
  /**
   * Milliseconds: between one hour and 2^32 seconds, or 0. A token requested for longer gets this.
   * Default: no limit.
   */
  readonly serviceAccountMaxTokenExpiration?: number;
  /** Default: the issuers. */
  readonly apiAudiences?: readonly string[];
  /** The URL of the public keys. Default: /openid/v1/jwks of this server. */
  readonly serviceAccountJwksUri?: string;
  readonly tokenAuthFile?: string;
  /** Whether bootstrap tokens authenticate. Default: false. */
  readonly enableBootstrapTokenAuth?: boolean;
  /**
   * Whether requests without credentials are authorized as system:anonymous. Default: only those
   * for health and version.
   */
  readonly anonymousAuth?: boolean;
  /** Default: Node, RBAC. */
  readonly authorizationMode?: readonly string[];
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  /** Default: true. */
  readonly enablePriorityAndFairness?: boolean;
  /** 0: no limit. Default: 400. */
  readonly maxRequestsInflight?: number;
  /** 0: no limit. Default: 200. */
  readonly maxMutatingRequestsInflight?: number;
  /** Milliseconds. Default: a minute. */
  readonly requestTimeout?: number;
  /** In milliseconds. */
  readonly shutdownDelayDuration?: number;
  /** Seconds that a watch lasts at least. Default: 1800. */
  readonly minRequestTimeout?: number;
  /** Milliseconds. Default: an hour. */
  readonly eventTtl?: number;
  readonly defaultNotReadyTolerationSeconds?: number;
  readonly defaultUnreachableTolerationSeconds?: number;
  readonly encryptionProviderConfig?: string;
  /** The served groups, versions and resources. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  /** The version that /version, metrics and /statusz publish. Default: the version that is spoken. */
  readonly reportedVersion?: string;
  readonly enableAdmissionPlugins?: readonly string[];
  /** Published at /metrics beside the server's own, in the form that Prometheus reads. */
  readonly otherMetrics?: () => string;
  readonly disableAdmissionPlugins?: readonly string[];
  /** Processes that serve the API beside this one. Absent: there are none. */
  readonly workers?: ApiWorkersSettings;
  /** Whether the web console is served. Default: false. */
  readonly console?: boolean;
  /** The flags of the command, by name and without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
}

export interface RunningApiServer extends RunningRole {
  readonly url: string;
}

/** Rejects with UserError for what can be mended; nothing is left running then. */
export async function startApiServerRole(config: ApiServerRoleConfig): Promise<RunningApiServer> {
  const { clock, random, logger, store = 'etcd' } = config;
  const serviceCidr = config.serviceClusterIpRange ?? '10.96.0.0/16';
  const ranges = parseServiceRanges('--service-cluster-ip-range', serviceCidr);
  checkPortRange(config.serviceNodePortRange);
  if (store === 'etcd' && config.etcd.servers.length === 0) {
    throw new UserError(
      'an API server needs --etcd-servers, such as https://10.0.0.1:2379,https://10.0.0.2:2379, or --store memory',
    );
  }
  if (store === 'memory' && config.etcd.servers.length > 0) {
    logger.warn('--etcd-servers is not applied: the store is in memory');
  }
  const authorizationModes = parseModes(config.authorizationMode);
  if (authorizationModes?.includes('AlwaysAllow'))
    logger.warn('--authorization-mode=AlwaysAllow: every user may do everything');
  const admission = selectAdmissionPlugins(
    config.enableAdmissionPlugins ?? [],
    config.disableAdmissionPlugins ?? [],
    new Set(ADMISSION_PLUGIN_NAMES),
  );
  for (const warning of admission.warnings) logger.warn(warning);
  const files = new CertificateFiles(config.certDir);
  const clientCa = files.optional('client-ca-file', config.clientCaFile, 'ca.crt');
  if (clientCa !== undefined) checkAuthority('--client-ca-file', clientCa);
  const readServing = (): KeyPair | undefined =>
    files.pair(
      { cert: 'tls-cert-file', key: 'tls-private-key-file' },
      { cert: config.tlsCertFile, key: config.tlsPrivateKeyFile },
      'apiserver',
    );
  const hosts = servingHosts(config, firstServiceAddress(ranges));
  const serving = readServing() ?? (await files.makeServing(hosts, clock, random));
  checkKeyPair('--tls-cert-file, --tls-private-key-file', serving);
  const tls = {
    ...serving,
    clientCa,
    ...tlsSettings(config.tlsMinVersion, config.tlsCipherSuites),
  };
  const kubeletClient = files.pair(
    { cert: 'kubelet-client-certificate', key: 'kubelet-client-key' },
    { cert: config.kubeletClientCertificate, key: config.kubeletClientKey },
    'apiserver-kubelet-client',
  );
  const kubeletCa =
    config.kubeletCertificateAuthority === undefined
      ? clientCa
      : readFlagFile('--kubelet-certificate-authority', config.kubeletCertificateAuthority);
  if (kubeletClient !== undefined)
    checkKeyPair('--kubelet-client-certificate, --kubelet-client-key', kubeletClient);
  if (kubeletCa !== undefined) checkAuthority('--kubelet-certificate-authority', kubeletCa);
  if (kubeletClient !== undefined && kubeletCa === undefined) {
    throw new UserError(
      '--kubelet-client-certificate needs --kubelet-certificate-authority or --client-ca-file',
    );
  }
  const nodeConnector =
    kubeletClient === undefined || kubeletCa === undefined
      ? undefined
      : createTlsNodeConnector({ clock, ...kubeletClient, ca: kubeletCa });
  const aggregation = aggregationOf(config, files);
  const maxExpirationSeconds = maxTokenExpiration(config.serviceAccountMaxTokenExpiration);
  const signingKey = files.required(
    'service-account-signing-key-file',
    config.serviceAccountSigningKeyFile,
    'sa.key',
  );
  checkKeys('--service-account-signing-key-file', () => tokenSigner(signingKey));
  const otherKeys = readAccountKeys(config.serviceAccountKeyFile ?? []);
  const [issuer, ...acceptedIssuers] = config.serviceAccountIssuer ?? [];
  const tokens =
    config.tokenAuthFile === undefined ? undefined : readTokenFile(config.tokenAuthFile);
  const oidc = oidcOf(config, clock);
  const audit = await auditOf(config, { clock, logger, random });
  const { encryptionProviderConfig } = config;
  const encryption =
    encryptionProviderConfig === undefined
      ? undefined
      : readEncryptionFile(resolve(encryptionProviderConfig));

  const inner = InnerComponents.of({
    ...config,
    store,
    serviceCidr,
    serviceAccountKey: signingKey,
    rootCa: serving.cert,
  });

  const shutdownDelayMs = shutdownDelay(config.shutdownDelayDuration);
  const opened = await openStorage({
    choice: store,
    etcd: config.etcd,
    dir: '',
    clock,
    random,
    logger,
  });
  const storage = encryption === undefined ? opened : encryptStorage(opened, encryption, random);
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
  };
  try {
    const { workers: workersWanted } = config;
    const serverConfig: ApiServerConfig = {
      storage,
      clock,
      random: random.derive(`apiserver/${hostname()}`),
      logger: logger.with({ component: 'apiserver' }),
      serviceCidr,
      serviceNodePortRange: config.serviceNodePortRange,
      nodeConnector: inner?.connector(nodeConnector) ?? nodeConnector,
      otherMetrics: () => (config.otherMetrics?.() ?? '') + (workers?.metrics() ?? ''),
      ...(workersWanted !== undefined && { hasWorkers: () => workers?.any === true }),
      componentHealth: localComponentHealth(clock),
      version: config.reportedVersion ?? KUBERNETES_VERSION.gitVersion,
      serviceAccounts: {
        signingKey,
        publicKeys: [signingKey, ...otherKeys],
        issuer,
        acceptedIssuers,
        jwksUri: config.serviceAccountJwksUri,
        audiences: config.apiAudiences,
        mountTokens: true,
        ...(maxExpirationSeconds !== undefined && { maxExpirationSeconds }),
      },
      tokens,
      bootstrapTokens: config.enableBootstrapTokenAuth,
      anonymous: anonymousRequests(config.anonymousAuth, authorizationModes),
      authorizationModes,
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
      defaultTolerationSeconds: {
        notReady: config.defaultNotReadyTolerationSeconds,
        unreachable: config.defaultUnreachableTolerationSeconds,
      },
      bindAddress: config.bindAddress ?? '0.0.0.0',
      port: config.securePort,
      advertiseAddress: config.advertiseAddress,
      disableAdmissionPlugins: admission.disabled,
      runtimeConfig: config.runtimeConfig,
      flags: config.flags,
      ...(oidc !== undefined && { oidc: oidc.config }),
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
    const use = (renewed: KeyPair): void => {
      server?.setServingCertificate(renewed);
      workers?.setServingCertificate(renewed);
    };
    void keepRenewed(
      {
        clock,
        logger,
        name: 'apiserver',
        current: tls,
        periodMs: RELOAD_PERIOD_MS,
        latest: () => readServing() ?? serving,
        use,
      },
      reloading.signal,
    );
    void aggregation.keepRenewed({ clock, logger }, reloading.signal);
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

function maxTokenExpiration(ms: number | undefined): number | undefined {
  if (ms === undefined || ms === 0) return undefined;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 3600 || seconds > 2 ** 32) {
    throw new UserError(
      '--service-account-max-token-expiration must be between 1 hour and 2^32 seconds',
    );
  }
  return seconds;
}

/** Names and addresses of a certificate that the server makes for itself. */
function servingHosts(
  { bindAddress, advertiseAddress }: ApiServerRoleConfig,
  serviceAddress: string,
): readonly string[] {
  const addresses = [
    bindAddress,
    advertiseAddress,
    advertisedAddress(bindAddress ?? '0.0.0.0'),
    serviceAddress,
  ];
  const names = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
    hostname(),
  ];
  const usable = addresses.flatMap((address) =>
    address === undefined || /^(0\.0\.0\.0|::)$/.test(address) ? [] : [address],
  );
  return ['localhost', '127.0.0.1', ...names, ...usable];
}

function checkPortRange(range: string | undefined): void {
  if (range === undefined) return;
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range) ?? [];
  if (first !== '' && Number(first) > 0 && Number(first) <= Number(last) && Number(last) <= 65_535)
    return;
  throw new UserError(
    `--service-node-port-range takes a range of ports, such as 30000-32767, not ${JSON.stringify(shortened(range))}`,
  );
}

function parseModes(
  names: readonly string[] | undefined,
): readonly AuthorizationMode[] | undefined {
  if (names === undefined || names.length === 0) return undefined;
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UserError(
      `--authorization-mode: ${JSON.stringify(shortened(twice))} is there more than once`,
    );
  return names.map((name) => {
    const mode = AUTHORIZATION_MODES.find((known) => known === name);
    if (mode !== undefined) return mode;
    const known =
      name === 'ABAC' || name === 'Webhook' ? 'is not supported' : 'is no authorization mode';
    throw new UserError(
      `--authorization-mode: ${JSON.stringify(shortened(name))} ${known}: modes are ${AUTHORIZATION_MODES.join(', ')}`,
    );
  });
}

/** If every user may do everything, requests without credentials are rejected, as upstream does. */
function anonymousRequests(
  allowed: boolean | undefined,
  modes: readonly AuthorizationMode[] | undefined,
): AnonymousRequests | undefined {
  if (allowed === false) return 'none';
  return allowed === true && !modes?.includes('AlwaysAllow') ? 'all' : undefined;
}

const limitOf = (flag: number | undefined): number | undefined =>
  flag === 0 ? Number.POSITIVE_INFINITY : flag;

const shortened = (text: string): string => (text.length <= 80 ? text : `${text.slice(0, 80)}…`);

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
