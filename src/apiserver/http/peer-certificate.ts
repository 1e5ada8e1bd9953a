// The verified certificate of the peer of a connection.

import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

import { peerNotAfter } from '#machinery/serving/index.ts';
import type { PeerCertificate } from '../request.ts';

/**
 * The authorities of peers. TLS accepts the certificates of both; the meaning of a certificate
 * depends on the authority that signed it.
 */
export interface PeerAuthorities {
  /** The authority of client certificates, in PEM. */
  readonly clientCa?: string;
  /** The authority of front proxies' certificates, in PEM. */
  readonly requestHeaderCa?: string;
}

/** The fingerprints of the certificates of each authority. */
export interface AuthorityFingerprints {
  readonly client: ReadonlySet<string>;
  readonly frontProxy: ReadonlySet<string>;
}

/** Returns the fingerprints. Throws for invalid certificates. */
export function fingerprintsOf({
  clientCa,
  requestHeaderCa,
}: PeerAuthorities): AuthorityFingerprints {
  return { client: fingerprints(clientCa), frontProxy: fingerprints(requestHeaderCa) };
}

function fingerprints(bundle: string | undefined): ReadonlySet<string> {
  const certificates =
    bundle?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return new Set(certificates.map((pem) => new X509Certificate(pem).fingerprint256));
}

/**
 * Returns the peer's certificate. Undefined: the peer presented none, or one that no authority has
 * signed or that was not valid at the handshake. `authorities`: absent if there is only the client
 * authority.
 */
export function peerCertificateOf(
  socket: TLSSocket,
  authorities?: AuthorityFingerprints,
): PeerCertificate | undefined {
  // The handshake sets `authorized` after checking the chain and the dates.
  if (!socket.authorized) return undefined;
  const certificate: Partial<DetailedPeerCertificate> = socket.getPeerCertificate(
    authorities !== undefined,
  );
  const subject = certificate.subject as
    | { CN?: string | string[]; O?: string | string[] }
    | undefined;
  if (subject?.CN === undefined) return undefined;
  const commonName = Array.isArray(subject.CN) ? subject.CN.at(-1) : subject.CN;
  const organizations =
    subject.O === undefined ? [] : Array.isArray(subject.O) ? subject.O : [subject.O];
  if (commonName === undefined) return undefined;
  const { fingerprint256 } = certificate;
  const proved = {
    commonName,
    organizations,
    notAfter: peerNotAfter(socket),
    ...(fingerprint256 !== undefined && {
      fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
    }),
  };
  if (authorities === undefined) return proved;
  const signers = signersOf(certificate as DetailedPeerCertificate);
  return {
    ...proved,
    isClient: signers.some((fingerprint) => authorities.client.has(fingerprint)),
    isFrontProxy: signers.some((fingerprint) => authorities.frontProxy.has(fingerprint)),
  };
}

/** The maximum length of a chain that is followed. */
const MAX_CHAIN = 10;

/** Returns the fingerprints of the certificates above the peer's own. */
function signersOf(certificate: DetailedPeerCertificate): readonly string[] {
  const signers: string[] = [];
  let current: DetailedPeerCertificate | undefined = certificate;
  for (let depth = 0; depth < MAX_CHAIN; depth++) {
    const issuer: DetailedPeerCertificate | undefined = current?.issuerCertificate;
    // The issuer of a root is the root itself.
    if (issuer === undefined || issuer === current) break;
    signers.push(issuer.fingerprint256);
    current = issuer;
  }
  return signers;
}
