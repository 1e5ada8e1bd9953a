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

/** A subject's values by the short name of the attribute's type, or by its object identifier. */
type Subject = Readonly<Partial<Record<string, string | readonly string[]>>>;

/** The object identifier of the UID of a user, in Kubernetes' own arc. */
const UID_ATTRIBUTE = '1.3.6.1.4.1.57683.2';

/** Returns the names of a subject that authentication uses. Undefined: it has no common name. */
export function namesOf(
  subject: Subject | undefined,
): Pick<PeerCertificate, 'commonName' | 'organizations' | 'uids'> | undefined {
  const valuesOf = (type: string): readonly string[] => {
    const value = subject?.[type];
    return value === undefined ? [] : typeof value === 'string' ? [value] : value;
  };
  const commonName = valuesOf('CN').at(-1);
  if (commonName === undefined) return undefined;
  const uids = valuesOf(UID_ATTRIBUTE);
  return { commonName, organizations: valuesOf('O'), ...(uids.length > 0 && { uids }) };
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
  const names = namesOf(certificate.subject);
  if (names === undefined) return undefined;
  const { fingerprint256 } = certificate;
  const proved = {
    ...names,
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
