// How the API server reaches a node's kubelet.

import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';

/** What a node's status says about how to reach it. */
export interface NodeTarget {
  readonly name: string;
  /** Its address, by the API server's preference; '' if it has none. */
  readonly host: string;
  /** status.daemonEndpoints.kubeletEndpoint.Port, or 10250. */
  readonly port: number;
}

export interface NodeConnector {
  /**
   * A connection on which the node's kubelet speaks HTTP/1.1, encrypted and authenticated already (or in-process, where
   * there is nothing to protect). Rejects with what made it impossible.
   */
  connect(node: NodeTarget, signal?: AbortSignal): Promise<Duplex>;
}

export interface TlsNodeConnectorConfig {
  /** PEM: the API server's own client certificate for kubelets, and its key. */
  readonly cert: string;
  readonly key: string;
  /** PEM: who has signed the kubelets' serving certificates. */
  readonly ca: string;
}

/** TLS to the node's address and kubelet port. */
export function createTlsNodeConnector(config: TlsNodeConnectorConfig): NodeConnector {
  return {
    connect: (node, signal) =>
      new Promise((resolve, reject) => {
        if (node.host === '') {
          reject(new Error(`node ${node.name} has no address`));
          return;
        }
        const socket = connect({
          host: node.host,
          port: node.port,
          ...config,
          ...(isIP(node.host) === 0 && { servername: node.host }),
        });
        const abort = (): void => void socket.destroy(new Error('the request was given up'));
        signal?.addEventListener('abort', abort, { once: true });
        const settled = (): void => signal?.removeEventListener('abort', abort);
        socket.once('error', (error) => {
          settled();
          reject(error);
        });
        socket.once('secureConnect', () => {
          settled();
          socket.removeAllListeners('error');
          resolve(socket);
        });
      }),
  };
}
