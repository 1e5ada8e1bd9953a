// The check of a peer's certificate where its name is not that of the host, or where TLS asks for
// another one.

import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

type IdentityCheck = (name: string, certificate: PeerCertificate) => Error | undefined;

/** Returns a check of certificates against the host, whatever name was asked for. */
export function identityCheck(host: string): IdentityCheck {
  return (_name, certificate) => checkServerIdentity(host, certificate);
}

/**
 * Returns options of node:tls for a peer whose certificate must have the name. As in Go, TLS asks
 * for a name but not for an IP address: RFC 6066 does not allow it, and Node warns or throws.
 */
export function peerNamed(name: string): {
  readonly servername: string;
  readonly checkServerIdentity: IdentityCheck;
} {
  return { servername: isIP(name) === 0 ? name : '', checkServerIdentity: identityCheck(name) };
}
