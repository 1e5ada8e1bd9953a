// Finds the listener and the rule for a request on one server. Compiled once per configuration.

import type {
  Certificate,
  HostRoutes,
  RouteRule,
  ServerSpec,
  ValueMatch,
  VirtualListener,
} from '../model.ts';

/** The parts of a request that rules match. */
export interface RoutedRequest {
  /** The host, in the form of hostOf. */
  readonly host: string;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** The query without the question mark. */
  readonly query: string;
  /** Returns the values of a header, joined with commas; `name`: in lower case. */
  header(name: string): string | undefined;
}

/** Values by hostname, looked up by host. */
class HostnameMap<T> {
  readonly #values = new Map<string, T>();
  #wildcards = false;

  /** Adds a value. The first value of a hostname stays. */
  add(hostname: string, value: T): void {
    if (this.#values.has(hostname)) return;
    this.#values.set(hostname, value);
    if (hostname.startsWith('*.')) this.#wildcards = true;
  }

  /** Yields the values for the host, the most specific hostname first. */
  *matching(host: string): Generator<T> {
    const exact = host === '' ? undefined : this.#values.get(host);
    if (exact !== undefined) yield exact;
    if (this.#wildcards) {
      for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        if (dot === 0) continue;
        const value = this.#values.get(`*${host.slice(dot)}`);
        if (value !== undefined) yield value;
      }
    }
    const any = this.#values.get('');
    if (any !== undefined) yield any;
  }

  first(host: string): T | undefined {
    for (const value of this.matching(host)) return value;
    return undefined;
  }
}

interface CompiledListener {
  readonly listener: VirtualListener;
  readonly hosts: HostnameMap<HostRoutes>;
}

/** 'misdirected': the request arrived on a connection that belongs to another listener. */
export type Routed = RouteRule | 'misdirected' | undefined;

export class Router {
  readonly #listeners = new HostnameMap<CompiledListener>();

  constructor({ listeners }: Pick<ServerSpec, 'listeners'>) {
    for (const listener of listeners) {
      const hosts = new HostnameMap<HostRoutes>();
      for (const host of listener.hosts) hosts.add(host.hostname, host);
      this.#listeners.add(listener.hostname, { listener, hosts });
    }
  }

  /**
   * Returns the rule for the request; undefined: there is none.
   *
   * @param serverName the name in the TLS handshake, '' if the client sent none; undefined: without
   * TLS
   */
  route(request: RoutedRequest, serverName: string | undefined): Routed {
    const compiled = this.#listeners.first(request.host);
    if (serverName !== undefined) {
      const connected = this.#listeners.first(serverName);
      if (connected?.listener.group !== compiled?.listener.group) return 'misdirected';
    }
    if (compiled === undefined) return undefined;
    for (const { hostname, oneLabel, rules } of compiled.hosts.matching(request.host)) {
      if (
        oneLabel &&
        hostname.startsWith('*.') &&
        request.host.indexOf('.') !== request.host.length - hostname.length + 1
      )
        continue;
      const rule = rules.find((each) => matches(each, request));
      if (rule !== undefined) return rule;
    }
    return undefined;
  }

  /** Returns the certificate for a handshake; undefined: the handshake is rejected. */
  certificate(serverName: string): Certificate | undefined {
    const certificates = this.#listeners.first(serverName)?.listener.certificates ?? [];
    return certificates.find((certificate) => certificate.matches(serverName)) ?? certificates[0];
  }
}

function matches({ path, method, headers, query }: RouteRule, request: RoutedRequest): boolean {
  if (method !== undefined && method !== request.method) return false;
  switch (path.type) {
    case 'Exact':
      if (request.path !== path.value) return false;
      break;
    case 'PathPrefix':
      if (!hasPrefix(request.path, path.value)) return false;
      break;
    case 'RegularExpression':
      if (path.pattern?.matches(request.path) !== true) return false;
  }
  if (!headers.every((match) => matchesValue(match, request.header(match.name)))) return false;
  if (query.length === 0) return true;
  const parameters = new URLSearchParams(request.query);
  return query.every((match) => matchesValue(match, parameters.get(match.name) ?? undefined));
}

/**
 * Reports whether a path begins with complete elements of a prefix: '/foo' is a prefix of
 * '/foo/bar', not of '/foobar'.
 */
function hasPrefix(path: string, prefix: string): boolean {
  const bare = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
  return (
    path.startsWith(bare) && (path.length === bare.length || path.charCodeAt(bare.length) === 0x2f)
  );
}

const matchesValue = ({ value, pattern }: ValueMatch, actual: string | undefined): boolean =>
  actual !== undefined && (pattern === undefined ? actual === value : pattern.matches(actual));
