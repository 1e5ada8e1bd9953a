// The interface by which the API server reaches a node's kubelet, and its implementation over TLS.

import type { Duplex } from 'node:stream';

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { describeTransportError, dial } from '#machinery/net/peer/index.ts';

/** A node's kubelet, as the node's status describes it. */
export interface NodeTarget {
  readonly name: string;
  /** The node's address that the API server prefers; '' if the node has none. */
  readonly host: string;
  /** The port in status.daemonEndpoints.kubeletEndpoint, or 10250. */
  readonly port: number;
  /**
   * The client of the request chooses the path, as in nodes/proxy. A network connection is then
   * made only to addresses of other machines: not to loopback, link-local, unspecified or multicast
   * addresses. Default: false.
   */
  readonly anyPath?: boolean;
  /** The client asked not to verify the kubelet's certificate for this request. Default: false. */
  readonly insecureSkipTlsVerify?: boolean;
}

export interface NodeConnector {
  /**
   * Opens a connection on which the node's kubelet serves HTTP/1.1. The connection is already
   * encrypted and authenticated, or in-process. Rejects with AddressNotAllowedError, or another
   * Error.
   */
  connect(node: NodeTarget, signal?: AbortSignal): Promise<Duplex>;
}

export interface TlsNodeConnectorConfig {
  readonly clock: Clock;
  /**
   * Returns the API server's client certificate for kubelets with its private key, in PEM;
   * undefined to connect without, as an anonymous client of the kubelet.
   */
  readonly pair: () => { readonly cert: string; readonly key: string } | undefined;
  /**
   * The authority of the kubelets' serving certificates, in PEM. Undefined: they are not verified,
   * as by kube-apiserver without --kubelet-certificate-authority.
   */
  readonly ca: string | undefined;
}

/**
 * Returns a connector that uses TLS to the node's address and kubelet port. Errors of the
 * connection have Go's texts, which clients look for.
 */
export function createTlsNodeConnector({ clock, pair, ca }: TlsNodeConnectorConfig): NodeConnector {
  return {
    async connect({ name, host, port, anyPath, insecureSkipTlsVerify = false }, signal) {
      if (host === '') throw new Error(`node ${name} has no address`);
      const trust =
        ca === undefined || insecureSkipTlsVerify
          ? { rejectUnauthorized: false }
          : { ca, allowPartialTrustChain: true };
      try {
        const tls = { ...pair(), ...trust, minVersion: 'TLSv1.2' } as const;
        return await dial({ host, port, clock, signal, tls, globalOnly: anyPath });
      } catch (error) {
        const text = describeTransportError(error, clock.now());
        if (text === errorMessage(error)) throw error;
        throw new Error(text, { cause: error });
      }
    },
  };
}
