// What TLS has proved about the peer of a connection.

import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

import { peerNotAfter } from '#machinery/serving/index.ts';
import type { PeerCertificate } from '../request.ts';

/** Returns undefined if the peer showed no certificate, or one that the client CA did not sign or that was not valid at the handshake. */
export function peerCertificateOf(socket: TLSSocket): PeerCertificate | undefined {
  // `authorized` is set by the handshake: the chain and the dates have been checked.
  if (!socket.authorized) return undefined;
  const certificate: Partial<DetailedPeerCertificate> = socket.getPeerCertificate();
  const subject = certificate.subject as { CN?: string | string[]; O?: string | string[] } | undefined;
  if (subject?.CN === undefined) return undefined;
  const commonName = Array.isArray(subject.CN) ? subject.CN.at(-1) : subject.CN;
  const organizations = subject.O === undefined ? [] : Array.isArray(subject.O) ? subject.O : [subject.O];
  return commonName === undefined ? undefined : { commonName, organizations, notAfter: peerNotAfter(socket) };
}
