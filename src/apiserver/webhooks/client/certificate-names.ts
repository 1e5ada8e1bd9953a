// Checks whether a certificate is valid for a name or an address. As in Go, only subject
// alternative names count, not the common name.

import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** Returns the error if the certificate is not valid for the name, with Go's message. */
export function checkCertificateNames(
  wanted: string,
  certificate: PeerCertificate,
): Error | undefined {
  const { subject, ...rest } = certificate;
  const withoutCommonName = { ...rest, subject: {} } as unknown as PeerCertificate;
  if (checkServerIdentity(wanted, withoutCommonName) === undefined) return undefined;
  const why = describe(wanted, certificate.subjectaltname ?? '', subject?.CN !== undefined);
  return new Error(`tls: failed to verify certificate: x509: ${why}`);
}

/**
 * Returns the message. `names`: the names as Node prints them: 'DNS:a.example.com, IP
 * Address:127.0.0.1'.
 */
function describe(wanted: string, names: string, hasCommonName: boolean): string {
  const parts = names === '' ? [] : names.split(', ');
  const ofType = (prefix: string): string[] =>
    parts.flatMap((part) => (part.startsWith(prefix) ? [part.slice(prefix.length)] : []));
  if (isIP(wanted) !== 0) {
    const addresses = ofType('IP Address:');
    if (addresses.length === 0)
      return `cannot validate certificate for ${wanted} because it doesn't contain any IP SANs`;
    return `certificate is valid for ${addresses.join(', ')}, not ${wanted}`;
  }
  const hosts = ofType('DNS:');
  if (hosts.length > 0) return `certificate is valid for ${hosts.join(', ')}, not ${wanted}`;
  if (parts.length === 0 && hasCommonName)
    return 'certificate relies on legacy Common Name field, use SANs instead';
  return `certificate is not valid for any names, but wanted to match ${wanted}`;
}
