// The configuration of an API server.

import type { Scheme } from '#api/machinery/scheme.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { HealthCheck } from '#machinery/serving/health.ts';
import type { ConnectionLimits } from '#machinery/serving/index.ts';
import type { Storage } from '#storage/interface.ts';
import type { AggregationConfig } from './aggregator/aggregator.ts';
import type { AdmissionPluginSettings } from './admission/configuration.ts';
import type { AdmissionPlugin } from './admission/plugin.ts';
import type { PodSecurityConfig } from './admission/pod-security/index.ts';
import type { WebhookKubeconfigs } from './admission/webhook/index.ts';
import type { DefaultTolerations } from './admission/default-toleration-seconds.ts';
import type { AuditSettings } from './audit/index.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import type { JwtSettings } from './authentication/oidc/settings.ts';
import type { TokenWebhookSettings } from './authentication/webhook/webhook-tokens.ts';
import type { RequestHeaderConfig } from './authentication/request-header.ts';
import type { AuthorizerSettings } from './authorization/settings.ts';
import type { AnonymousRequests } from './filters/authentication.ts';
import type { MaxInFlightConfig } from './filters/max-in-flight.ts';
import type { ComponentHealth } from './kinds/core/component-status.ts';
import type { MountFactory } from './mount.ts';
import type { NodeConnector } from './node-connector.ts';
import type { Filter, Handler, UserInfo } from './request.ts';
import type { RuntimeConfig } from './runtime-config.ts';
import type { LocalWebhooks } from './webhooks/client/index.ts';

/** A certificate for clients that ask for one of its names. */
export interface NamedCertificate {
  /** PEM, as in TlsConfig. */
  readonly cert: string;
  readonly key: string;
  /**
   * Host names, of which the first label may be `*`. Absent or empty: the host names in the
   * certificate.
   */
  readonly names?: readonly string[];
}

export interface TlsConfig {
  /** The private key, in PEM. */
  readonly key: string;
  /** The server's certificate, then the chain to its authority, in PEM. */
  readonly cert: string;
  /** Certificates for other names. Default: none. */
  readonly named?: readonly NamedCertificate[];
  /**
   * The authority of client certificates, in PEM. A client with a certificate of it is
   * authenticated as the certificate's subject. Absent: certificates do not authenticate.
   */
  readonly clientCa?: string;
  /** The minimum version of TLS. Default: 'TLSv1.2'. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names of ciphers, separated by colons. Default: Node's ciphers, fastest first. */
  readonly ciphers?: string;
  /** OpenSSL's names of key exchanges, separated by colons. Default: OpenSSL's. */
  readonly curves?: string;
}

export type ServiceAccountKeyConfig = ServiceAccountSettings &
  (LocalAccountKeys | ExternalAccountKeys);

export interface LocalAccountKeys {
  /** A private key in PEM: RSA, or EC on P-256, P-384 or P-521. */
  readonly signingKey: string;
  /**
   * Keys whose tokens are accepted, in PEM (public keys, certificates or private keys). Default:
   * only the public key of the signing key.
   */
  readonly publicKeys?: readonly string[];
}

export interface ExternalAccountKeys {
  /** The socket of a program that signs tokens, and has the public keys; see ExternalSigner. */
  readonly signingEndpoint: string;
}

export interface ServiceAccountSettings {
  /** The issuer of the tokens. Default: 'https://kubernetes.default.svc.cluster.local'. */
  readonly issuer?: string;
  /**
   * The maximum lifetime of a token, in seconds. A request for a longer one gets this, with a
   * warning. Default: no limit.
   */
  readonly maxExpirationSeconds?: number;
  /** See ServiceAccountTokensConfig. Default: false. */
  readonly extendExpiration?: boolean;
  /** See ServiceAccountTokensConfig. Default: a year. */
  readonly maxExtendedSeconds?: number;
  /** Further issuers whose tokens are accepted. Default: none. */
  readonly acceptedIssuers?: readonly string[];
  /** The URL at which the public keys are published. Default: '/openid/v1/jwks' of this server. */
  readonly jwksUri?: string;
  /** The default audiences of tokens. Default: the issuer. */
  readonly audiences?: readonly string[];
  /**
   * Pods get a volume with a token of their ServiceAccount, so their kubelets must support
   * projected volumes. Default: false.
   */
  readonly mountTokens?: boolean;
}

export interface ApiServerConfig {
  /** The storage. The server does not close it: its owner closes it after `stop`. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The kinds and their conversions. Default: all built-in kinds. */
  readonly scheme?: Scheme;
  /** The serving certificate and client authorities. Required by `listen`. */
  readonly tls?: TlsConfig;
  /** The address at which the server listens. Default: '127.0.0.1'. */
  readonly bindAddress?: string;
  /**
   * The address by which pods and other machines reach the server; it is published in the endpoints
   * of the Service `kubernetes`. Default: the bind address. If the server listens at all addresses
   * or only at the loopback address, the machine's first address.
   */
  readonly advertiseAddress?: string;
  /**
   * The name of the machine, by which the server identifies itself in a Lease. Absent: it has no
   * Lease.
   */
  readonly hostname?: string;
  /** A stage of the chain behind authorization: simulation injects faults there. Default: none. */
  readonly intercept?: Filter;
  /** Is awaited before each call of a webhook, within its time limit. Default: no delay. */
  readonly interceptWebhook?: (name: string, signal: AbortSignal) => Promise<void> | undefined;
  /**
   * Other API servers use the same storage, and are published together with this one. Default:
   * false.
   */
  readonly sharesStorage?: boolean;
  /**
   * This server is a worker: another server with the same storage and port is the main one, which
   * creates the objects of the cluster, repairs services, publishes endpoints and keeps the status
   * of definitions and APIServices. Default: false.
   */
  readonly worker?: boolean;
  /** Reports whether workers of this server run. Absent: it never has any. */
  readonly hasWorkers?: () => boolean;
  /** The port to listen at; 0: any free port. Default: 6443. */
  readonly port?: number;
  /**
   * Timeouts of connections by their states, and the maximum number of connections. Default:
   * kube-apiserver's timeouts; 100,000 connections, or 80 % of the limit of open files.
   */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** See ListenerConfig. Default: 0. */
  readonly goawayChance?: number;
  /** Directives of the header Strict-Transport-Security of every response. Default: none. */
  readonly strictTransportSecurity?: readonly string[];
  /** Bearer tokens of the components, with their users. Default: none. */
  readonly tokens?: ReadonlyMap<string, UserInfo>;
  /** The keys for tokens of ServiceAccounts. Absent: there are no such tokens. */
  readonly serviceAccounts?: ServiceAccountKeyConfig;
  /** Whether tokens in Secrets of the type bootstrap.kubernetes.io/token are accepted. Default: false. */
  readonly bootstrapTokens?: boolean;
  /**
   * Returns the issuers of JSON web tokens that are accepted: the same list until they change, which
   * is possible while the server runs. Default: none.
   */
  readonly jwt?: () => readonly JwtSettings[];
  /** The webhook that knows bearer tokens. Default: none. */
  readonly tokenWebhook?: TokenWebhookSettings;
  /** Authenticators that are called after client certificates and `tokens`. Default: none. */
  readonly authenticators?: readonly Authenticator[];
  /**
   * The authorizer. Default: system:masters may do everything, then the `authorizers` decide.
   */
  readonly authorizer?: Authorizer;
  /**
   * Returns the authorizers, in order: the same list until they change, which is possible while the
   * server runs. Default: Node, RBAC.
   */
  readonly authorizers?: () => readonly AuthorizerSettings[];
  /**
   * The authorizer that is called after system:masters and before the `authorizers`. Default: none.
   */
  readonly localAuthorizer?: Authorizer;
  /** Webhooks that are functions of this process. Default: none. */
  readonly localWebhooks?: LocalWebhooks;
  /** Whether the server's own client has `latestHeartbeats` (InProcessTransportConfig). Default: false. */
  readonly latestHeartbeats?: boolean;
  /** Which requests are recorded, and where. Absent: there is no audit log. */
  readonly audit?: AuditSettings;
  /** Wraps the whole handler chain, to observe or hold requests. Default: no wrapper. */
  readonly wrapHandler?: (handler: Handler) => Handler;
  /** Parts of the port that other modules serve. Default: none. */
  readonly mounts?: readonly MountFactory[];
  /**
   * Whether anonymous requests are allowed. Default: only for health and version, with
   * `bootstrapTokens` also for the ConfigMap kube-public/cluster-info.
   */
  readonly anonymous?: AnonymousRequests;
  /** See StoreServices. */
  readonly listsKeepLimit?: boolean;
  /** How long events are kept, in ms. Default: an hour. */
  readonly eventTtlMs?: number;
  /**
   * How long pods stay on a node that is not ready or unreachable, in seconds, unless they have
   * their own tolerations. Default: 300.
   */
  readonly defaultTolerationSeconds?: DefaultTolerations;
  /** Admission plugins that run after the server's own. Default: none. */
  readonly admissionPlugins?: readonly AdmissionPlugin[];
  /**
   * Returns metrics of other components of the process, in Prometheus' text format. Default: none.
   */
  readonly otherMetrics?: () => string | Promise<string>;
  /** Returns checks of /healthz and /readyz beside the server's own. Default: none. */
  readonly otherChecks?: () => readonly HealthCheck[];
  /** Names of the server's own plugins to run beside the default ones. Default: none. */
  readonly enableAdmissionPlugins?: readonly string[];
  /** Names of the server's own plugins to disable. Default: none. */
  readonly disableAdmissionPlugins?: readonly string[];
  /**
   * The default pod security levels of namespaces, and the exemptions. Defaults: privileged; no
   * exemptions.
   */
  readonly podSecurity?: PodSecurityConfig;
  /** Kubeconfigs with the credentials for admission webhooks. Default: there are none. */
  readonly webhookKubeconfigs?: WebhookKubeconfigs;
  /** The settings of further admission plugins. Default: none. */
  readonly admissionSettings?: AdmissionPluginSettings;
  /**
   * The API versions to serve, such as 'storagemigration.k8s.io/v1beta1': 'true'. Default: stable
   * versions.
   */
  readonly runtimeConfig?: RuntimeConfig;
  /**
   * The range of cluster IPs. For two families: one range of each, separated by a comma. Default:
   * '10.96.0.0/12'.
   */
  readonly serviceCidr?: string;
  /** The range of node ports of Services. Default: '30000-32767'. */
  readonly serviceNodePortRange?: string;
  /**
   * Connects to kubelets, for logs, exec and port-forward. Absent: such requests get status 503.
   */
  readonly nodeConnector?: NodeConnector;
  /**
   * Whether metrics.k8s.io is served, from the kubelets' summaries. Default: if there is a
   * nodeConnector.
   */
  readonly resourceMetrics?: boolean;
  /**
   * The types of addresses by which kubelets are reached, in order. Default: InternalIP, ExternalIP,
   * Hostname, InternalDNS, ExternalDNS.
   */
  readonly nodeAddressTypes?: readonly string[];
  /**
   * Returns the health of components, for ComponentStatuses. Absent: their state is reported as
   * unknown.
   */
  readonly componentHealth?: ComponentHealth;
  /** The version that /version reports. Default: 'v1.36.3'. */
  readonly version?: string;
  /** The flags of the command by name, without dashes, for /flagz. Absent: /flagz is not served. */
  readonly flags?: Readonly<Record<string, string>>;
  /**
   * Front proxies that authenticate users, and name them in headers. Default: none; such headers
   * are ignored.
   */
  readonly requestHeader?: RequestHeaderConfig;
  /** How the server connects to other API servers. */
  readonly aggregation?: AggregationConfig;
  /** The limits of requests in flight. Priority and fairness divides their sum. */
  readonly maxInFlight?: MaxInFlightConfig;
  /**
   * Divides the requests in flight by FlowSchemas and priority levels. False: reads and writes have
   * one limit each. Default: true.
   */
  readonly priorityAndFairness?: boolean;
  /** The timeout of all requests except long-running ones, in ms. Default: one minute. */
  readonly requestTimeoutMs?: number;
  /**
   * The minimum timeout of a watch without a timeout of its own, in ms; the maximum is twice that.
   * Default: 30 minutes.
   */
  readonly minWatchTimeoutMs?: number;
  /** Freezes objects, so that modifying one throws. For tests. Default: false. */
  readonly detectMutations?: boolean;
  /**
   * The time in ms for which `stop` keeps serving while /readyz fails already, so that a load
   * balancer sends new requests elsewhere. Default: 0.
   */
  readonly shutdownDelayMs?: number;
  /** How long `stop` then waits for requests in flight, in ms. Default: 5 seconds. */
  readonly shutdownTimeoutMs?: number;
}
