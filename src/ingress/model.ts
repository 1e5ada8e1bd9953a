// The proxy's configuration, as values: what listens where, and where each request goes. `decide`
// makes it, `proxy/` carries it out.

import type { RE2JS } from 're2js';

/**
 * Everything that the proxy does. A new configuration replaces the one before; connections stay.
 */
export interface Configuration {
  readonly servers: readonly ServerSpec[];
}

/** One address and port to listen at. */
export interface ServerSpec {
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  readonly listeners: readonly VirtualListener[];
}

export const serverKey = (address: string, port: number): string =>
  `${address.includes(':') ? `[${address}]` : address}:${port}`;

/**
 * The requests for one hostname of a server. The listener whose hostname is the most specific gets
 * a request, and no other.
 */
export interface VirtualListener {
  /** 'example.com', '*.example.com', or '' for every host. */
  readonly hostname: string;
  /**
   * With TLS, a request's host and the name in the handshake (SNI) must lead to the same group, or
   * the answer is 421.
   */
  readonly group: string;
  /** Candidates for the handshake. The first one whose names match is used, else the first one. */
  readonly certificates: readonly Certificate[];
  readonly hosts: readonly HostRoutes[];
}

export interface Certificate {
  /** Changes with the certificate. */
  readonly id: string;
  /** PEM. Neither is ever logged. */
  readonly cert: string;
  readonly key: string;
  /** Reports whether the certificate is for this name. */
  matches(serverName: string): boolean;
}

export interface HostRoutes {
  /** As VirtualListener.hostname. */
  readonly hostname: string;
  /**
   * A wildcard stands for exactly one label, as in Ingress. In the Gateway API it stands for one or
   * more.
   */
  readonly oneLabel: boolean;
  /** In order of precedence. */
  readonly rules: readonly RouteRule[];
}

/**
 * One match of a route's rule. A rule with several matches becomes several of these, with the same
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

/** `name` is in lower case for headers. */
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
  /** Milliseconds for the whole exchange, and for one attempt at a back end. Absent: no limit. */
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
  /** The part of the requests that is mirrored: `numerator` of `denominator`. */
  readonly numerator: number;
  readonly denominator: number;
}

export type BackendProtocol = 'http' | 'h2c';

/** One port of a Service. */
export interface Backend {
  /**
   * 'namespace/name:port'. Load is balanced between the endpoints of a key across configurations.
   */
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
  /** A status code instead of a back end: the reference does not lead to one. */
  readonly target: Backend | number;
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
}
