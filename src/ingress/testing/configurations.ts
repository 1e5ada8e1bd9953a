// Configurations of the proxy for tests.

import { X509Certificate } from 'node:crypto';
import type { AddressInfo, Server } from 'node:net';
import { makeCertificate } from '#client/testing/certificate.ts';
import type {
  Backend,
  BackendProtocol,
  Certificate,
  Configuration,
  Endpoint,
  RouteAction,
  RouteRule,
  VirtualListener,
} from '../model.ts';

/** Listens on a free port of 127.0.0.1. */
export function listen(server: Server): Promise<Endpoint> {
  return new Promise((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      resolve({ ip: '127.0.0.1', port: (server.address() as AddressInfo).port });
    });
  });
}

export function backend(
  endpoints: readonly Endpoint[],
  protocol: BackendProtocol = 'http',
): Backend {
  return { key: 'default/web:80', protocol, endpoints };
}

export function action(target: Backend | number, more: Partial<RouteAction> = {}): RouteAction {
  return { route: 'Ingress default/web', mirrors: [], backends: [{ weight: 1, target }], ...more };
}

/** Returns a rule for all paths that begin with `prefix`. */
export function rule(what: RouteAction, prefix = '/'): RouteRule {
  return { path: { type: 'PathPrefix', value: prefix }, headers: [], query: [], action: what };
}

export function listener(
  rules: readonly RouteRule[],
  more: Partial<VirtualListener> = {},
): VirtualListener {
  const { hostname = '' } = more;
  return {
    hostname,
    group: hostname,
    certificates: [],
    hosts: [{ hostname, oneLabel: false, rules }],
    ...more,
  };
}

/** Returns a configuration with one server on a free port of 127.0.0.1 (port 0). */
export function configuration(listeners: readonly VirtualListener[], tls = false): Configuration {
  return { servers: [{ address: '127.0.0.1', port: 0, tls, listeners }] };
}

export async function certificate(...names: string[]): Promise<Certificate> {
  const { cert, key } = await makeCertificate(names);
  const leaf = new X509Certificate(cert);
  return { id: names.join(), cert, key, matches: (name) => leaf.checkHost(name) !== undefined };
}
