// How the API server reaches a node's kubelet.

import type { Duplex } from 'node:stream';

import type { Clock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';

/** What a node's status says about how to reach it. */
export interface NodeTarget {
  readonly name: string;
  /** Its address, by the API server's preference; '' if it has none. */
  readonly host: string;
  /** status.daemonEndpoints.kubeletEndpoint.Port, or 10250. */
  readonly port: number;
  /**
   * The client of the request chooses the path, as in nodes/proxy. Then a connection over the network goes only to addresses that can be
   * another machine's: not to loopback, link-local, unspecified or multicast ones. Default: false.
   */
  readonly anyPath?: boolean;
}

export interface NodeConnector {
  /**
   * A connection on which the node's kubelet speaks HTTP/1.1, encrypted and authenticated already (or in-process, where
   * there is nothing to protect). Rejects with AddressNotAllowedError, or another Error.
   */
  connect(node: NodeTarget, signal?: AbortSignal): Promise<Duplex>;
}

export interface TlsNodeConnectorConfig {
  readonly clock: Clock;
  /** PEM: the API server's own client certificate for kubelets, and its key. */
  readonly cert: string;
  readonly key: string;
  /** PEM: the authority of the kubelets' serving certificates. */
  readonly ca: string;
}

/** Returns a connector by TLS to the node's address and kubelet port. */
export function createTlsNodeConnector({
  clock,
  cert,
  key,
  ca,
}: TlsNodeConnectorConfig): NodeConnector {
  return {
    async connect({ name, host, port, anyPath }, signal) {
      if (host === '') throw new Error(`node ${name} has no address`);
      return dial({
        host,
        port,
        clock,
        signal,
        tls: { cert, key, ca, minVersion: 'TLSv1.2', allowPartialTrustChain: true },
        globalOnly: anyPath,
      });
    },
  };
}
