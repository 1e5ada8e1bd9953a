// Collects the servers of a configuration. Listeners share an address and port if they have the
// same protocol and different hostnames.

import type { Gateway, Listener } from '../gateway-api/types.ts';
import { type ServerSpec, serverKey, type VirtualListener } from '../model.ts';
import { tlsOf } from './listeners.ts';

interface PlannedServer {
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  readonly listeners: VirtualListener[];
  /** Listeners of Gateways by hostname: 'namespace/name'. */
  readonly hostnames: Map<string, string>;
}

export class ServerPlan {
  readonly #servers = new Map<string, PlannedServer>();

  /**
   * Returns the server, creating it even without a listener. The first call decides whether it uses
   * TLS.
   */
  open(address: string, port: number, tls: boolean): PlannedServer {
    const key = serverKey(address, port);
    let server = this.#servers.get(key);
    if (server === undefined) {
      server = { address, port, tls, listeners: [], hostnames: new Map() };
      this.#servers.set(key, server);
    }
    return server;
  }

  add(address: string, port: number, tls: boolean, listener: VirtualListener): void {
    this.open(address, port, tls).listeners.push(listener);
  }

  /**
   * Reserves the hostname of a Gateway's listener at its addresses. Returns the conflict if it is
   * taken: conflicting listeners of one Gateway are all rejected; between Gateways the older one
   * wins.
   */
  claim(
    gateway: Gateway,
    listener: Listener,
    siblings: readonly Listener[],
    addresses: readonly string[],
  ):
    | { readonly reason: 'ProtocolConflict' | 'HostnameConflict'; readonly message: string }
    | undefined {
    const tls = tlsOf(listener);
    const hostname = (listener.hostname ?? '').toLowerCase();
    const others = siblings.filter((other) => other !== listener && other.port === listener.port);
    const supported = others.filter(({ protocol }) => protocol === 'HTTP' || protocol === 'HTTPS');
    if (supported.some((other) => tlsOf(other) !== tls)) {
      return {
        reason: 'ProtocolConflict',
        message: `port ${listener.port} has listeners with and without TLS`,
      };
    }
    if (supported.some((other) => (other.hostname ?? '').toLowerCase() === hostname)) {
      return {
        reason: 'HostnameConflict',
        message: `another listener has port ${listener.port} and the same hostname`,
      };
    }
    const owner = `${gateway.metadata.namespace}/${gateway.metadata.name}`;
    for (const address of addresses) {
      const server = this.#servers.get(serverKey(address, listener.port));
      if (server !== undefined && server.tls !== tls) {
        const message = `port ${listener.port} of ${address} is used ${server.tls ? 'with' : 'without'} TLS already`;
        return { reason: 'ProtocolConflict', message };
      }
      const holder = server?.hostnames.get(hostname);
      if (holder !== undefined && holder !== owner) {
        return {
          reason: 'HostnameConflict',
          message: `Gateway ${holder} has port ${listener.port} of ${address} with this hostname`,
        };
      }
    }
    for (const address of addresses)
      this.open(address, listener.port, tls).hostnames.set(hostname, owner);
    return undefined;
  }

  /**
   * Returns the servers, without those that have no listeners, unless they were opened with `keep`.
   */
  finish(keep: ReadonlySet<string>): ServerSpec[] {
    return [...this.#servers.values()]
      .filter(
        ({ address, port, listeners }) =>
          listeners.length > 0 || keep.has(serverKey(address, port)),
      )
      .map(({ address, port, tls, listeners }) => ({ address, port, tls, listeners }));
  }
}
