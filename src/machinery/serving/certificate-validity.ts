// The expiry of a TLS peer's certificates.

import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

/**
 * Returns the time (wall-clock milliseconds) at which the first certificate of the peer's chain
 * expires. A connection may last longer than that: the handshake checks the dates only once.
 */
export function peerNotAfter(socket: TLSSocket): number {
  let notAfter = Infinity;
  let certificate: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true);
  const seen = new Set<unknown>();
  while (certificate?.valid_to !== undefined && !seen.has(certificate.fingerprint256)) {
    seen.add(certificate.fingerprint256);
    const expires = Date.parse(certificate.valid_to);
    // A date that cannot be parsed counts as expired.
    notAfter = Number.isNaN(expires) ? -Infinity : Math.min(notAfter, expires);
    certificate = certificate.issuerCertificate;
  }
  return notAfter;
}
