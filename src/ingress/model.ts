// The proxy's configuration as values: addresses to listen at, and the destination of each request.
// `decide` makes it, `proxy/` carries it out.

import type { RE2JS } from 're2js';

/**
 * The complete configuration of the proxy. A new configuration replaces the present one;
 * connections stay open.
 */
export interface Configuration {
  readonly servers: readonly ServerSpec[];
}

/** An address and port to listen at. */
export interface ServerSpec {
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  readonly listeners: readonly VirtualListener[];
}

export const serverKey = (address: string, port: number): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}`;

/**
 * The requests for one hostname of a server. Only the listener with the most specific hostname gets
 * a request.
 */
export interface VirtualListener {
  /**
   * An exact name such as 'example.com', a wildcard such as '*.example.com', or '' for every host.
   */
  readonly hostname: string;
  /**
   * With TLS, the host of a request and the name in the handshake (SNI) must belong to the same
   * group, or the answer is 421.
   */
  readonly group: string;
  /**
   * Candidates for the handshake. The first one with a matching name is used, otherwise the first
   * one.
   */
  readonly certificates: readonly Certificate[];
  readonly hosts: readonly HostRoutes[];
}

export interface Certificate {
  /** An identity that changes with the certificate. */
  readonly id: string;
  /** The certificate chain and the key, as PEM. They are never logged. */
  readonly cert: string;
  readonly key: string;
  /** Reports whether the certificate is for this name. */
  matches(serverName: string): boolean;
}

export interface HostRoutes {
  /** The hostname, in the form of VirtualListener.hostname. */
  readonly hostname: string;
  /**
   * A wildcard matches exactly one label, as in Ingress. In the Gateway API it matches one or more.
   */
  readonly oneLabel: boolean;
  /** The rules in order of precedence. */
  readonly rules: readonly RouteRule[];
}

/**
 * One match of a route's rule. A rule with several matches becomes several RouteRules with the same
 * action.
 */
export interface RouteRule {
  readonly path: PathMatch;
  readonly method?: string;
  readonly headers: readonly ValueMatch[];
  readonly query: readonly ValueMatch[];
  readonly action: RouteAction;
}

export interface PathMatch {
  readonly type: 'Exact' | 'PathPrefix' | 'RegularExpression';
  readonly value: string;
  readonly pattern?: RE2JS;
}

/** A value to match. `name`: in lower case for headers. */
export interface ValueMatch {
  readonly name: string;
  readonly value: string;
  readonly pattern?: RE2JS;
}

export interface RouteAction {
  /** Kind, namespace and name of the object, for logs. */
  readonly route: string;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
  readonly rewrite?: Rewrite;
  readonly mirrors: readonly Mirror[];
  /**
   * The time limits for the whole exchange and for one attempt, in milliseconds. Absent: no limit.
   */
  readonly requestTimeoutMs?: number;
  readonly backendTimeoutMs?: number;
  readonly backends: readonly WeightedBackend[];
}

export interface HeaderChanges {
  readonly set: readonly (readonly [name: string, value: string])[];
  readonly add: readonly (readonly [name: string, value: string])[];
  readonly remove: readonly string[];
}

export interface PathChange {
  readonly type: 'ReplaceFullPath' | 'ReplacePrefixMatch';
  readonly value: string;
}

export interface Redirect {
  readonly scheme?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly path?: PathChange;
  readonly status: number;
}

export interface Rewrite {
  readonly hostname?: string;
  readonly path?: PathChange;
}

export interface Mirror {
  readonly backend: Backend;
  /** The mirrored share of requests: `numerator` of `denominator`. */
  readonly numerator: number;
  readonly denominator: number;
}

export type BackendProtocol = 'http' | 'h2c';

/** A port of a Service. */
export interface Backend {
  /** 'namespace/name:port'. Load balancing continues per key across configurations. */
  readonly key: string;
  readonly protocol: BackendProtocol;
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  readonly ip: string;
  readonly port: number;
}

export interface WeightedBackend {
  readonly weight: number;
  /** The back end, or a status code if the reference does not resolve. */
  readonly target: Backend | number;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
}
