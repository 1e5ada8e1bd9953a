// Facts of a connection that are stored at its socket, and at the session on it.

import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { TrackedConnection } from '#machinery/serving/index.ts';
import type { PeerCertificate } from '../request.ts';
import { peerCertificateOf, type Trust, verifiedAnew } from './peer-certificate.ts';

/**
 * The key under which a socket, and the session on it, store their entry in the table of
 * connections.
 */
export const CONNECTION = Symbol('connection');
/**
 * The key under which both store their peer's certificate, null if there is none. Each request reads
 * it, and a map would be slower.
 */
const CERTIFICATE = Symbol('peer certificate');
/** The key for the authorities by which the certificate was verified. */
export const VERIFIED_BY = Symbol('authorities');

export interface Tracked {
  [CONNECTION]?: TrackedConnection;
  [CERTIFICATE]?: PeerCertificate | null;
  [VERIFIED_BY]?: Trust;
}

/**
 * Returns the peer's certificate from the handshake if it is still valid. `connection`: the
 * socket, or the session on it. `trust`: the present authorities. `now`: in wall-clock ms.
 */
export function certificateOf(
  connection: Tracked,
  socket: TLSSocket,
  trust: Trust,
  now: number,
): PeerCertificate | undefined {
  let certificate = connection[CERTIFICATE];
  if (certificate === undefined || connection[VERIFIED_BY] !== trust) {
    certificate =
      (connection[VERIFIED_BY] === trust
        ? peerCertificateOf(socket, trust)
        : verifiedAnew(socket, trust, now)) ?? null;
    connection[CERTIFICATE] = certificate;
    connection[VERIFIED_BY] = trust;
  }
  return certificate === null || now > certificate.notAfter ? undefined : certificate;
}

/** Closes a connection when what was written has been sent. */
export function closeTracked(socket: Duplex): void {
  const connection = (socket as Tracked)[CONNECTION];
  if (connection === undefined) socket.destroy();
  else connection.close();
}
