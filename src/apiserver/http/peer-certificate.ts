// The verified certificate of the peer of a connection.

import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

import { peerNotAfter } from '#machinery/serving/index.ts';
import type { PeerAuthorities, PeerCertificate } from '../request.ts';

/** The certificates of each authority. */
export interface Trust {
  readonly client: Bundle;
  /** Absent: there are no front proxies. */
  readonly frontProxy?: Bundle;
}

interface Bundle {
  readonly certificates: readonly X509Certificate[];
  readonly fingerprints: ReadonlySet<string>;
}

/** Returns the certificates. Throws for invalid ones. */
export function trustIn({ clientCa, requestHeaderCa }: PeerAuthorities): Trust {
  return {
    client: bundleOf(clientCa),
    ...(requestHeaderCa !== undefined && { frontProxy: bundleOf(requestHeaderCa) }),
  };
}

function bundleOf(pem: string | undefined): Bundle {
  const texts = pem?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const certificates = texts.map((text) => new X509Certificate(text));
  return { certificates, fingerprints: new Set(certificates.map((each) => each.fingerprint256)) };
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
 * signed or that was not valid at the handshake. `trust`: that of the handshake.
 */
export function peerCertificateOf(socket: TLSSocket, trust: Trust): PeerCertificate | undefined {
  // The handshake sets `authorized` after checking the chain and the dates.
  if (!socket.authorized) return undefined;
  const { client, frontProxy } = trust;
  const certificate: Partial<DetailedPeerCertificate> = socket.getPeerCertificate(
    frontProxy !== undefined,
  );
  const names = namesOf(certificate.subject);
  if (names === undefined) return undefined;
  const proved = provedBy(socket, certificate, names);
  if (frontProxy === undefined) return proved;
  const signers = signersOf(certificate as DetailedPeerCertificate);
  return {
    ...proved,
    isClient: signers.some((fingerprint) => client.fingerprints.has(fingerprint)),
    isFrontProxy: signers.some((fingerprint) => frontProxy.fingerprints.has(fingerprint)),
  };
}

type Names = Pick<PeerCertificate, 'commonName' | 'organizations' | 'uids'>;

function provedBy(
  socket: TLSSocket,
  { fingerprint256 }: Partial<DetailedPeerCertificate>,
  names: Names,
): PeerCertificate {
  return {
    ...names,
    notAfter: peerNotAfter(socket),
    ...(fingerprint256 !== undefined && {
      fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
    }),
  };
}

/** The object identifier of the purpose of clients' certificates. */
const CLIENT_PURPOSE = '1.3.6.1.5.5.7.3.2';

/**
 * Returns the peer's certificate by other authorities than those of the handshake: they have changed
 * since. Undefined: none of them has signed it. `now`: in ms.
 */
export function verifiedAnew(
  socket: TLSSocket,
  { client, frontProxy }: Trust,
  now: number,
): PeerCertificate | undefined {
  const certificate = socket.getPeerCertificate(true);
  const names = namesOf(certificate.subject);
  if (names === undefined) return undefined;
  const [own, ...chain] = chainOf(certificate);
  if (own === undefined || !isValidAt(own, now) || !isForClients(own)) return undefined;
  const isClient = isSignedBy(own, chain, client, now);
  const isFrontProxy = frontProxy !== undefined && isSignedBy(own, chain, frontProxy, now);
  if (!isClient && !isFrontProxy) return undefined;
  return { ...provedBy(socket, certificate, names), isClient, isFrontProxy };
}

function chainOf(certificate: DetailedPeerCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let current: DetailedPeerCertificate | undefined = certificate;
  while (current?.raw !== undefined && chain.length < MAX_CHAIN) {
    chain.push(new X509Certificate(current.raw));
    const issuer: DetailedPeerCertificate | undefined = current.issuerCertificate;
    current = issuer === current ? undefined : issuer;
  }
  return chain;
}

/** Reports whether a certificate of the bundle has signed the peer's, or one above it in the chain. */
function isSignedBy(
  own: X509Certificate,
  chain: readonly X509Certificate[],
  { certificates }: Bundle,
  now: number,
): boolean {
  const usable = (issuer: X509Certificate, signed: X509Certificate): boolean =>
    isValidAt(issuer, now) && signed.checkIssued(issuer) && signed.verify(issuer.publicKey);
  let current = own;
  for (let depth = 0; depth < MAX_CHAIN; depth++) {
    const signed = current;
    if (certificates.some((authority) => usable(authority, signed))) return true;
    const issuer = chain.find(
      (each) => each.ca && each.fingerprint256 !== signed.fingerprint256 && usable(each, signed),
    );
    if (issuer === undefined) return false;
    current = issuer;
  }
  return false;
}

const isValidAt = ({ validFrom, validTo }: X509Certificate, now: number): boolean =>
  Date.parse(validFrom) <= now && now <= Date.parse(validTo);

/** A certificate without purposes has all. */
const isForClients = (certificate: X509Certificate): boolean =>
  (certificate.keyUsage as readonly string[] | undefined)?.includes(CLIENT_PURPOSE) ?? true;

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
