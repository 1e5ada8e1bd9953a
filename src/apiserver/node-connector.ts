// How the API server reaches a node's kubelet.

import type { Duplex } from 'node:stream';

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
