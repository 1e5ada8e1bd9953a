// The common part of the roles controller manager and scheduler: a kubeconfig, a port for health and metrics, and
// one of them leading.

import { hostname } from 'node:os';
import { collectDefaultMetrics, Registry } from 'prom-client';
import {
  RequestHeaderAuthenticator,
  type RequestHeaderConfig,
} from '#apiserver/authentication/request-header.ts';
import type { PeerAuthorities } from '#apiserver/request.ts';
import type { HealthCheck } from '#machinery/serving/health.ts';
import { versionInfo } from '#machinery/version-info.ts';
import type { Client } from '#client/client.ts';
import type { ServerAccess } from '#client/http/index.ts';
import type { LeaderElector } from '#client/leader-election.ts';
import { componentMetricsText } from '#machinery/metrics/component-metrics.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import {
  type CertificateRenewalConfig,
  keepRenewed,
  RELOAD_PERIOD_MS,
  RENEWAL_PERIOD_MS,
} from '../credentials/certificate-renewal.ts';
import { type KeyPair, Pki } from '../credentials/pki.ts';
import { UserError } from '../user-error.ts';
import { requestHeaderOf, type RequestHeaderFlags } from './api-server/aggregation-flags.ts';
import { CertificateFiles } from './api-server/files.ts';
import { startComponentServer } from './component-server.ts';
import { checkAccess, followAuthorities, publishedClientAuthority } from './delegated-access.ts';
import { leading, type LeaderElectionSettings } from '../components/leading.ts';
import { clientFor, supervised, type RoleConfig, type RunningRole } from './role.ts';
import { checkAuthority, readFlagFile, readKubeconfig } from '../flags/flag-files.ts';

export interface ControlRoleConfig extends RoleConfig, RequestHeaderFlags {
  /** The kubeconfig with the address of the API server and the role's credentials. */
  readonly kubeconfig: string;
  /** Default: '127.0.0.1': only this machine reads health and metrics. */
  readonly bindAddress?: string;
  /** 0: any that is free. */
  readonly securePort?: number;
  /** Absent: a self-signed certificate is created at each start. */
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  /** The authority of client certificates. Default: the one that the API server publishes. */
  readonly clientCaFile?: string;
  readonly leaderElection?: LeaderElectionSettings;
  /** The flags of the command, by name and without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
}

export interface RunningControlRole extends RunningRole {
  readonly port: number;
  readonly identity: string;
  readonly isLeading: () => boolean;
}

export interface Work {
  readonly component: 'kube-controller-manager' | 'kube-scheduler';
  readonly defaultPort: number;
  /**
   * Returns the metrics in Prometheus' format. Default: only those of leader election and of the
   * process.
   */
  readonly metrics?: () => string;
  /** More metrics, by their path: each in Prometheus' text form. */
  readonly otherMetrics?: Readonly<Record<string, () => string>>;
  /** The checks of each health endpoint, by its path, from the checks that every role has. */
  health(checks: RoleChecks): Readonly<Record<string, () => readonly HealthCheck[]>>;
  /** Runs while this one leads. */
  run(client: Client, access: ServerAccess, signal: AbortSignal): Promise<void>;
}

export interface RoleChecks {
  /** Fails while this process leads with a lease that has expired. Absent without leader election. */
  readonly leaderElection: readonly HealthCheck[];
  /** Fails once the role stops. */
  readonly shutdown: HealthCheck;
}

/** The time that a leader may go on working after its lease has expired. */
const LEASE_TOLERANCE_MS = 20_000;

/**
 * Starts a controller manager or a scheduler. Rejects with UserError for a problem that the user can
 * solve. An API server that cannot be reached is not such a problem: it may start later.
 */
export async function startControlRole(
  config: ControlRoleConfig,
  work: Work,
): Promise<RunningControlRole> {
  const { clock, random, logger, bindAddress = '127.0.0.1' } = config;
  const { component } = work;
  const access = await readKubeconfig('--kubeconfig', config.kubeconfig);
  const client = clientFor(access, component, config);
  const identity = `${hostname()}_${random.uuid()}`;
  let leads = false;
  let stops = false;
  let elector: LeaderElector | undefined;
  const leaderElection: HealthCheck = {
    name: 'leaderElection',
    check: () => {
      if ((elector?.expiredMs ?? 0) > LEASE_TOLERANCE_MS) {
        throw new Error(
          `failed election to renew leadership on lease ${config.leaderElection?.resourceName ?? component}`,
        );
      }
    },
  };
  const shutdown: HealthCheck = {
    name: 'shutdown',
    check: () => {
      if (stops) throw new Error('process is shutting down');
    },
  };
  const version = versionInfo(KUBERNETES_VERSION.gitVersion);
  const serving = await servingCertificates(config);
  const authority = clientAuthority(config, client);
  const readFrontProxies = (): RequestHeaderConfig | undefined => frontProxiesOf(config);
  const frontProxies = readFrontProxies();
  const headers = frontProxies && new RequestHeaderAuthenticator(frontProxies);
  const server = await startComponentServer({
    component,
    version,
    clock,
    flags: config.flags,
    health: work.health({
      leaderElection: config.leaderElection?.leaderElect === false ? [] : [leaderElection],
      shutdown,
    }),
    bindAddress,
    port: config.securePort ?? work.defaultPort,
    tls: serving.current,
    logger,
    metrics: {
      '/metrics': async () =>
        componentMetricsText(await metricsText(component, () => leads, work.metrics), version),
      ...work.otherMetrics,
    },
    checkAccess: (credentials, path) => checkAccess(client, credentials, path, headers),
  });
  const renewing = new AbortController();
  const use = (pair: KeyPair): void => server.setCertificate(pair);
  void keepRenewed({ clock, logger, name: component, ...serving, use }, renewing.signal);
  const latest = async (signal: AbortSignal): Promise<PeerAuthorities> => {
    const clientCa = await authority(signal);
    const requestHeaderCa = readFrontProxies()?.ca;
    return {
      ...(clientCa !== undefined && { clientCa }),
      ...(requestHeaderCa !== undefined && { requestHeaderCa }),
    };
  };
  void followAuthorities(
    { clock, logger, latest, use: (authorities) => server.setAuthorities(authorities) },
    renewing.signal,
  );
  const running = supervised(component, (signal) =>
    leading(
      {
        client,
        clock,
        random,
        logger,
        component,
        identity,
        settings: config.leaderElection ?? {},
        work: (held) => work.run(client, access, held),
        onLeading: (now) => (leads = now),
        onElector: (made) => (elector = made),
      },
      signal,
    ),
  );
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stops = true;
    renewing.abort();
    await running.stop();
    await server.close();
  };
  return {
    port: server.port,
    identity,
    isLeading: () => leads,
    description: `${component} of ${access.server}, its health on port ${server.port}`,
    failed: running.failed,
    stop: () => (stopping ??= stop()),
  };
}

/** Throws UserError. The headers have upstream's defaults for these components. */
function frontProxiesOf(config: ControlRoleConfig): RequestHeaderConfig | undefined {
  const {
    requestheaderClientCaFile,
    requestheaderUsernameHeaders = ['x-remote-user'],
    requestheaderGroupHeaders = ['x-remote-group'],
    requestheaderExtraHeadersPrefix = ['x-remote-extra-'],
  } = config;
  if (requestheaderClientCaFile === undefined) return undefined;
  const headers = {
    requestheaderUsernameHeaders,
    requestheaderGroupHeaders,
    requestheaderExtraHeadersPrefix,
  };
  return requestHeaderOf({ ...config, ...headers }, new CertificateFiles(undefined));
}

/** Throws a UserError if the file of the flag has no certificate. */
function clientAuthority(
  { clientCaFile: file }: ControlRoleConfig,
  client: Client,
): (signal: AbortSignal) => Promise<string | undefined> {
  if (file === undefined) return (signal) => publishedClientAuthority(client, signal);
  const read = (): string => readFlagFile('--client-ca-file', file);
  checkAuthority('--client-ca-file', read());
  return async () => read();
}

let processMetrics: Registry | undefined;

async function metricsText(
  component: string,
  leads: () => boolean,
  own: (() => string) | undefined,
): Promise<string> {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  const leading =
    '# HELP leader_election_master_status Whether this one leads.\n# TYPE leader_election_master_status gauge\n' +
    `leader_election_master_status{name="${component}"} ${leads() ? 1 : 0}\n`;
  return leading + (own?.() ?? '') + (await processMetrics.metrics());
}

type ServingCertificates = Pick<CertificateRenewalConfig, 'current' | 'latest' | 'periodMs'>;

/** Returns the certificate of the flags, or one of an authority that exists in this process only. */
async function servingCertificates({
  clock,
  random,
  tlsCertFile,
  tlsPrivateKeyFile,
}: ControlRoleConfig): Promise<ServingCertificates> {
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined)) {
    throw new UserError(
      '--tls-cert-file and --tls-private-key-file belong together: give both or neither',
    );
  }
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined) {
    const latest = (): KeyPair => ({
      cert: readFlagFile('--tls-cert-file', tlsCertFile),
      key: readFlagFile('--tls-private-key-file', tlsPrivateKeyFile),
    });
    return { current: latest(), latest, periodMs: RELOAD_PERIOD_MS };
  }
  const pki = await Pki.open({ clock, random });
  const request = {
    commonName: hostname(),
    usage: 'server',
    hosts: [hostname(), 'localhost', '127.0.0.1'],
  } as const;
  const latest = (): Promise<KeyPair> => pki.certificate('serving', request);
  return { current: await latest(), latest, periodMs: RENEWAL_PERIOD_MS };
}
