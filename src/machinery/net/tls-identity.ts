// The check of a peer's certificate where TLS asks for another name than that of the peer.

import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** Returns a check of certificates against the host, whatever name was asked for. */
export function identityCheck(
  host: string,
): (name: string, certificate: PeerCertificate) => Error | undefined {
  return (_name, certificate) => checkServerIdentity(host, certificate);
}
