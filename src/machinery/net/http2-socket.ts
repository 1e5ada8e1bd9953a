// Opens the socket of an HTTP/2 connection: plain, or with TLS and the protocol agreed on.

import { isIP, type Socket, connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { watchErrors } from './peer/dial.ts';

/** PEM. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/**
 * Starts to connect. What is written meanwhile is kept until the connection is open. `opened` is
 * called then; errors are events of the socket.
 */
export function openSocket(
  origin: URL,
  tls: TlsOptions | undefined,
  opened: () => void,
): Socket | TLSSocket {
  const host = origin.hostname.replace(/^\[(.*)\]$/, '$1');
  // A URL has no port that is the default of its scheme.
  const port = Number(origin.port || (tls === undefined ? 80 : 443));
  if (tls === undefined) {
    return watchErrors(connectTcp({ host, port, noDelay: true }, opened));
  }
  const socket = connectTls(
    {
      ...tls,
      host,
      port,
      ALPNProtocols: ['h2'],
      ...(isIP(host) === 0 && { servername: host }),
    },
    () => {
      socket.setNoDelay(true);
      if (socket.alpnProtocol === 'h2') opened();
      else socket.destroy(new Error('the server does not speak HTTP/2'));
    },
  );
  return watchErrors(socket);
}
