// The configuration of the role `cox apiserver`: the flags of kube-apiserver as values.

import type { ApiServerConfig } from '#apiserver/config.ts';
import type { AccessFlags } from '../../access/index.ts';
import type { EncryptionFlags } from '../../stores/encryption.ts';
import type { ApiWorkersSettings } from '../../api-workers/index.ts';
import type { EtcdConfig } from '../../stores/open-storage.ts';
import type { AuditFlags } from '../../audit/audit-flags.ts';
import type { InnerComponentsConfig } from '../inner-components.ts';
import type { OidcFlags } from '../../access/oidc.ts';
import type { RoleConfig } from '../role.ts';
import type { AggregationFlags } from './aggregation-flags.ts';

/** The flags that the server takes as they are. */
type ServerFlags = Pick<
  ApiServerConfig,
  'advertiseAddress' | 'flags' | 'runtimeConfig' | 'serviceNodePortRange'
>;

export interface ApiServerRoleConfig
  extends
    RoleConfig,
    AccessFlags,
    EncryptionFlags,
    AggregationFlags,
    AuditFlags,
    InnerComponentsConfig,
    OidcFlags,
    ServerFlags {
  /** Default: 'etcd'. */
  readonly store?: 'etcd' | 'memory';
  readonly etcd: EtcdConfig;
  /** Default: '0.0.0.0'. */
  readonly bindAddress?: string;
  /** 0: any that is free. Default: 6443. */
  readonly securePort?: number;
  /** One range, or one of each family with a comma between them. Default: '10.96.0.0/16'. */
  readonly serviceClusterIpRange?: string;
  /** The directory of files that no flag names; their names are those of `cox certs`. */
  readonly certDir?: string;
  readonly tlsCertFile?: string;
  /** Each 'certfile,keyfile' or 'certfile,keyfile:name,name'. */
  readonly tlsSniCertKey?: readonly string[];
  readonly tlsPrivateKeyFile?: string;
  readonly clientCaFile?: string;
  /** Default: apiserver-kubelet-client.crt of `certDir`; without, kubelets see an anonymous client. */
  readonly kubeletClientCertificate?: string;
  readonly kubeletClientKey?: string;
  /** Default: ca.crt of `certDir`; without, kubelets' certificates are not verified. */
  readonly kubeletCertificateAuthority?: string;
  /** The types of addresses by which kubelets are reached, in order. Default: see ApiServerConfig. */
  readonly kubeletPreferredAddressTypes?: readonly string[];
  readonly serviceAccountSigningKeyFile?: string;
  /** The socket of a program that signs tokens in the place of the key; see ExternalSigner. */
  readonly serviceAccountSigningEndpoint?: string;
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
  /** See ServiceAccountTokensConfig. Default: true. */
  readonly serviceAccountExtendTokenExpiration?: boolean;
  /** Default: the issuers. */
  readonly apiAudiences?: readonly string[];
  /** The URL of the public keys. Default: /openid/v1/jwks of this server. */
  readonly serviceAccountJwksUri?: string;
  readonly tokenAuthFile?: string;
  /** Whether bootstrap tokens authenticate. Default: false. */
  readonly enableBootstrapTokenAuth?: boolean;
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  /** Numbers of TLS, such as 29 for X25519. */
  readonly tlsCurvePreferences?: readonly number[];
  /** Default: true. */
  readonly enablePriorityAndFairness?: boolean;
  /** 0: no limit. Default: 400. */
  readonly maxRequestsInflight?: number;
  /** 0: no limit. Default: 200. */
  readonly maxMutatingRequestsInflight?: number;
  /** Milliseconds. Default: a minute. */
  readonly requestTimeout?: number;
  /** Between 0 and 0.02. Default: 0. */
  readonly goawayChance?: number;
  /** Directives of the header Strict-Transport-Security. Default: none. */
  readonly strictTransportSecurityDirectives?: readonly string[];
  /** In milliseconds. */
  readonly shutdownDelayDuration?: number;
  /** Seconds that a watch lasts at least. Default: 1800. */
  readonly minRequestTimeout?: number;
  /** Milliseconds. Default: an hour. */
  readonly eventTtl?: number;
  /** False: lists at resourceVersion 0 keep their limit. Default: true. */
  readonly watchCache?: boolean;
  readonly defaultNotReadyTolerationSeconds?: number;
  readonly defaultUnreachableTolerationSeconds?: number;
  /** The version that /version, metrics and /statusz publish. Default: the version that is spoken. */
  readonly reportedVersion?: string;
  /** Published at /metrics beside the server's own, in the form that Prometheus reads. */
  readonly otherMetrics?: () => string;
  /** Processes that serve the API beside this one. Absent: there are none. */
  readonly workers?: ApiWorkersSettings;
  /** Whether the web console is served. Default: false. */
  readonly console?: boolean;
}
