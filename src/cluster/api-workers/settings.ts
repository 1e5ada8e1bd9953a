// The settings by which a worker is the same API server as the main process: values only, since
// they go to another process. They contain private keys, so they go by the link alone (link.ts).

import type { AuditPolicy } from '#apiserver/audit/index.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { ServingTls } from '#apiserver/http/serving-tls.ts';
import type { UserInfo } from '#apiserver/request.ts';
import type { AuthorizerSettings } from '#apiserver/authorization/settings.ts';
import type { JwtSettings } from '#apiserver/authentication/oidc/settings.ts';
import type { LoggerConfig } from '#machinery/log.ts';
import type { KeyPair } from '../credentials/pki.ts';
import { COXSWAIN_VERSION } from '../version.ts';

/** The settings of a process' logger. */
export type Logging = Pick<LoggerConfig, 'format' | 'level' | 'dated'>;

/** The part of an API server's configuration that consists of values. */
const VALUES = [
  'tls',
  'bindAddress',
  'advertiseAddress',
  'connectionLimits',
  'serviceAccounts',
  'bootstrapTokens',
  'anonymous',
  'tokenWebhook',
  'eventTtlMs',
  'listsKeepLimit',
  'defaultTolerationSeconds',
  'enableAdmissionPlugins',
  'disableAdmissionPlugins',
  'podSecurity',
  'admissionSettings',
  'webhookKubeconfigs',
  'runtimeConfig',
  'serviceCidr',
  'serviceNodePortRange',
  'nodeAddressTypes',
  'resourceMetrics',
  'goawayChance',
  'strictTransportSecurity',
  'version',
  'flags',
  'requestHeader',
  'priorityAndFairness',
  'requestTimeoutMs',
  'minWatchTimeoutMs',
  'shutdownDelayMs',
  'shutdownTimeoutMs',
] as const;

/** Functions of the program, which cannot go to another process. */
const FUNCTIONS = [
  'scheme',
  'intercept',
  'interceptWebhook',
  'authenticators',
  'authorizer',
  'localAuthorizer',
  'localWebhooks',
  'wrapHandler',
  'admissionPlugins',
] as const;

export interface WorkerSettings {
  /** The version of the program. Both processes have to be of the same one. */
  readonly programVersion: string;
  /** Absent: nothing is logged. */
  readonly logging?: Logging;
  readonly server: Pick<ApiServerConfig, (typeof VALUES)[number]>;
  readonly port: number;
  readonly tokens?: readonly (readonly [token: string, user: UserInfo])[];
  /** The limits; null is no limit, since JSON has no infinity. */
  readonly maxInFlight: { readonly maxReads?: number | null; readonly maxWrites?: number | null };
  /** The issuers of JSON web tokens at this moment. Absent: there are none. */
  readonly jwt?: readonly JwtSettings[];
  readonly proxyClientCertificate?: KeyPair;
  /** The authorizers at this moment. Absent: the default ones. */
  readonly authorizers?: readonly AuthorizerSettings[];
  /** The main process connects to nodes. */
  readonly hasNodes: boolean;
  /** Names of components whose health the main process knows. */
  readonly components: readonly string[];
  /** The policy of the audit log, which the main process writes. Absent: there is none. */
  readonly auditPolicy?: AuditPolicy;
  /** The main process serves the console. */
  readonly hasConsole: boolean;
}

export interface SettingsSource {
  readonly config: ApiServerConfig;
  readonly port: number;
  /** The certificates and authorities that have changed since the start. */
  readonly tls: Partial<ServingTls>;
  readonly logging: Logging | undefined;
}

/**
 * Returns the parts of a server that cannot go to another process. A server with such parts has no
 * workers.
 */
export function partsOfProcess(config: ApiServerConfig): readonly string[] {
  return FUNCTIONS.filter((name) => config[name] !== undefined);
}

/** Returns the settings at this moment. */
export function settingsOf({
  config,
  port,
  tls: changed,
  logging,
}: SettingsSource): WorkerSettings {
  const { maxReads, maxWrites } = config.maxInFlight ?? {};
  const { tls, tokens, requestHeader } = config;
  const { requestHeaderCa, ...changedTls } = changed;
  const proxyClientCertificate = config.aggregation?.proxyClientCertificate?.();
  const values = Object.fromEntries(VALUES.map((name) => [name, config[name]]));
  return {
    programVersion: COXSWAIN_VERSION,
    ...(logging !== undefined && { logging }),
    server: {
      ...values,
      ...(tls !== undefined && {
        tls: { ...tls, ...changedTls },
      }),
      ...(requestHeader !== undefined && {
        requestHeader: { ...requestHeader, ca: requestHeaderCa ?? requestHeader.ca },
      }),
    },
    port,
    ...(tokens !== undefined && { tokens: [...tokens] }),
    maxInFlight: {
      ...(maxReads !== undefined && { maxReads: finite(maxReads) }),
      ...(maxWrites !== undefined && { maxWrites: finite(maxWrites) }),
    },
    ...(config.jwt !== undefined && { jwt: config.jwt() }),
    ...(proxyClientCertificate !== undefined && { proxyClientCertificate }),
    ...(config.authorizers !== undefined && { authorizers: config.authorizers() }),
    ...(config.audit !== undefined && { auditPolicy: config.audit.policy }),
    hasNodes: config.nodeConnector !== undefined,
    components: Object.keys(config.componentHealth ?? {}),
    hasConsole: (config.mounts ?? []).length > 0,
  };
}

const finite = (limit: number): number | null => (Number.isFinite(limit) ? limit : null);
