// The configuration of an API server.

import type { Scheme } from '#api/machinery/scheme.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import type { ConnectionLimits } from '#machinery/serving/index.ts';
import type { Storage } from '#storage/interface.ts';
import type { AggregationConfig } from './aggregator/aggregator.ts';
import type { AdmissionPlugin } from './admission/plugin.ts';
import type { PodSecurityConfig } from './admission/pod-security/index.ts';
import type { DefaultTolerations } from './admission/default-toleration-seconds.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import type { RequestHeaderConfig } from './authentication/request-header.ts';
import type { AuthorizationMode } from './authorization/modes.ts';
import type { AnonymousRequests } from './filters/authentication.ts';
import type { MaxInFlightConfig } from './filters/max-in-flight.ts';
import type { ComponentHealth } from './kinds/core/component-status.ts';
import type { NodeConnector } from './node-connector.ts';
import type { Handler, UserInfo } from './request.ts';
import type { RuntimeConfig } from './runtime-config.ts';
import type { LocalWebhooks } from './webhooks/client/index.ts';

export interface TlsConfig {
  /** PEM. */
  readonly key: string;
  /** PEM: the server's certificate, then the chain to its authority. */
  readonly cert: string;
  /** PEM: clients whose certificates this authority has signed are who the certificates say. Absent: certificates prove nothing. */
  readonly clientCa?: string;
  /** Default: 'TLSv1.2'. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** Names of OpenSSL, with colons between them. Default: Node's, the fastest first. */
  readonly ciphers?: string;
}

export interface ServiceAccountKeyConfig {
  /** PEM, a private key: RSA, or EC on P-256, P-384 or P-521. */
  readonly signingKey: string;
  /** PEM: keys whose tokens are accepted (public keys, certificates or private keys). Default: that of the signing key alone. */
  readonly publicKeys?: readonly string[];
  /** Default: 'https://kubernetes.default.svc.cluster.local'. */
  readonly issuer?: string;
  /** The longest lifetime of a token, in seconds. A request for more gets this, with a warning. Default: no limit. */
  readonly maxExpirationSeconds?: number;
  /** Issuers whose tokens are accepted besides those of `issuer`. Default: none. */
  readonly acceptedIssuers?: readonly string[];
  /** Where the public keys are published for others. Default: '/openid/v1/jwks' of this server. */
  readonly jwksUri?: string;
  /** The default audiences of tokens. Default: the issuer. */
  readonly audiences?: readonly string[];
  /** Pods get a volume with a token of their account, which their kubelets must know how to mount. Default: false. */
  readonly mountTokens?: boolean;
}

export interface ApiServerConfig {
  /** Not closed by the server: who opened it closes it, after `stop`. */
  readonly storage: Storage;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Default: every kind that there is. */
  readonly scheme?: Scheme;
  /** Needed by `listen`. */
  readonly tls?: TlsConfig;
  /** Default: '127.0.0.1'. */
  readonly bindAddress?: string;
  /**
   * By which pods and other machines reach the server, as the endpoints of the Service `kubernetes` say. Default: the bind
   * address; the machine's first if the server listens at all, or only at the loopback address.
   */
  readonly advertiseAddress?: string;
  /** Other API servers run on the same storage, and are published along with this one. Default: false. */
  readonly sharesStorage?: boolean;
  /** 0: any that is free. Default: 6443. */
  readonly port?: number;
  /** Time limits of connections in their states, and how many there may be. Default: those of kube-apiserver; 10,000 connections. */
  readonly connectionLimits?: Partial<ConnectionLimits>;
  /** Bearer tokens of the components, and whose they are. Default: none. */
  readonly tokens?: ReadonlyMap<string, UserInfo>;
  /** How tokens of ServiceAccounts are signed. Absent: there are none. */
  readonly serviceAccounts?: ServiceAccountKeyConfig;
  /** Asked after client certificates and `tokens`. Default: none. */
  readonly authenticators?: readonly Authenticator[];
  /** Default: system:masters, and then the `authorizationModes`. */
  readonly authorizer?: Authorizer;
  /** Asked one after the other. Default: Node, RBAC. */
  readonly authorizationModes?: readonly AuthorizationMode[];
  /** Asked after system:masters and before the `authorizationModes`. Default: none. */
  readonly localAuthorizer?: Authorizer;
  /** Webhooks that are functions of this process. Default: none. */
  readonly localWebhooks?: LocalWebhooks;
  /** Is put around the whole handler chain, to observe or hold requests. Default: nothing. */
  readonly wrapHandler?: (handler: Handler) => Handler;
  /** Default: for health and version only. */
  readonly anonymous?: AnonymousRequests;
  /** How long events are kept. Default: an hour. */
  readonly eventTtlMs?: number;
  /** How long pods stay on a node that is not ready or unreachable if they do not say it, in seconds. Default: 300. */
  readonly defaultTolerationSeconds?: DefaultTolerations;
  /** Run after the server's own. Default: none. */
  readonly admissionPlugins?: readonly AdmissionPlugin[];
  /** Returns the metrics of other components of the process, in Prometheus' text format. Default: none. */
  readonly otherMetrics?: () => string | Promise<string>;
  /** Names of the server's own plugins that are left out. Default: none. */
  readonly disableAdmissionPlugins?: readonly string[];
  /** The default pod security levels of namespaces, and the exemptions. Default: privileged; none. */
  readonly podSecurity?: PodSecurityConfig;
  /** Which API versions are served: 'storagemigration.k8s.io/v1beta1': 'true'. Default: stable versions. */
  readonly runtimeConfig?: RuntimeConfig;
  /** The range of cluster IPs; with a comma and one of the other family, both families have addresses. Default: '10.96.0.0/12'. */
  readonly serviceCidr?: string;
  /** The ports of nodes that services get. Default: '30000-32767'. */
  readonly serviceNodePortRange?: string;
  /** How kubelets are reached, for logs, exec and their like. Absent: those answer 503. */
  readonly nodeConnector?: NodeConnector;
  /** For ComponentStatuses. Absent: the state of the components is unknown. */
  readonly componentHealth?: ComponentHealth;
  /** The version that /version reports. Default: 'v1.36.3'. */
  readonly version?: string;
  /** The flags of the command, by name and without dashes, for /flagz. Absent: there is no /flagz. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Front proxies whose requests name their users in headers. Default: there are none, and such headers are ignored. */
  readonly requestHeader?: RequestHeaderConfig;
  /** How other API servers are reached. */
  readonly aggregation?: AggregationConfig;
  readonly maxInFlight?: MaxInFlightConfig;
  /** The time limit of all requests but long-running ones. Default: one minute. */
  readonly requestTimeoutMs?: number;
  /** The least time after which a watch ends whose client did not say; the most is twice that. Default: 30 minutes. */
  readonly minWatchTimeoutMs?: number;
  /** Freezes objects, so that modifying one throws. For tests. Default: false. */
  readonly detectMutations?: boolean;
  /** How long `stop` waits for requests under way. Default: 5 seconds. */
  readonly shutdownTimeoutMs?: number;
}
