// The cluster's certificates: a certificate authority made at first start, and what it signs (API server, admin, kubelets,
// the API server's own client certificate for kubelets), plus the key that signs ServiceAccount tokens. ECDSA P-256 throughout.
//
// Layout under `dir` (mode 0700, keys 0600), names as kubeadm has them: ca.{crt,key}, apiserver.{crt,key},
// apiserver-kubelet-client.{crt,key}, admin.{crt,key}, kubelet-<node>.{crt,key}, sa.{key,pub}.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type webcrypto, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type * as X509Module from '@peculiar/x509';
import type { Extension } from '@peculiar/x509';
import type { Clock } from '../machinery/clock.ts';
import type { Random } from '../machinery/random.ts';

/** A certificate and its private key, both PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usage: 'server' | 'client' | 'both';
  /** DNS names and IP addresses; for servers. */
  readonly hosts?: readonly string[];
}

export interface PkiConfig {
  readonly clock: Clock;
  readonly random: Random;
  /** Where the files live; absent: in memory only. */
  readonly dir?: string;
}

const DAY_MS = 24 * 3600 * 1000;
const CA_VALIDITY_MS = 3650 * DAY_MS;
const LEAF_VALIDITY_MS = 365 * DAY_MS;
/** A leaf with less time left than this is made anew at start. */
const RENEW_BEFORE_MS = 30 * DAY_MS;
/** Certificates are valid a little before they are made, for clocks that differ. */
const BACKDATE_MS = 5 * 60 * 1000;

/** Loaded only when something must be signed: it takes longer than the rest of a start with certificates already made. */
async function loadX509(): Promise<typeof X509Module> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export class Pki {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #dir: string | undefined;
  #ca: KeyPair;

  /** Opens the authority in `dir`, or makes one. */
  static async open(config: PkiConfig): Promise<Pki> {
    if (config.dir !== undefined) mkdirSync(config.dir, { recursive: true, mode: 0o700 });
    const stored = config.dir === undefined ? undefined : readPair(config.dir, 'ca');
    const ca = stored ?? (await makeAuthority(config));
    if (stored === undefined && config.dir !== undefined) writePair(config.dir, 'ca', ca);
    return new Pki(config, ca);
  }

  private constructor(config: PkiConfig, ca: KeyPair) {
    this.#clock = config.clock;
    this.#random = config.random;
    this.#dir = config.dir;
    this.#ca = ca;
  }

  /** The authority with its key, for those who sign what is approved. */
  get authority(): KeyPair {
    return this.#ca;
  }

  /** The authority's certificate, PEM. */
  get caCertificate(): string {
    return this.#ca.cert;
  }

  /** The certificate stored as `name` if it still serves `request`, or a new one. */
  async certificate(name: string, request: CertificateRequest): Promise<KeyPair> {
    const stored = this.#dir === undefined ? undefined : readPair(this.#dir, name);
    if (stored !== undefined && this.#serves(stored, request)) return stored;
    const made = await this.sign(request);
    if (this.#dir !== undefined) writePair(this.#dir, name, made);
    return made;
  }

  /** Makes a key and a certificate for it, signed by the authority. */
  async sign(request: CertificateRequest): Promise<KeyPair> {
    const x509 = await loadX509();
    const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
    const now = this.#clock.now();
    const usages: string[] = [];
    if (request.usage !== 'client') usages.push(x509.ExtendedKeyUsage.serverAuth);
    if (request.usage !== 'server') usages.push(x509.ExtendedKeyUsage.clientAuth);
    const extensions: Extension[] = [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages),
    ];
    if (request.hosts !== undefined && request.hosts.length > 0) {
      const names = request.hosts.map((host) => ({ type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const), value: host }));
      extensions.push(new x509.SubjectAlternativeNameExtension(names));
    }
    const caCertificate = new x509.X509Certificate(this.#ca.cert);
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(this.#random),
      subject: subjectName(request),
      issuer: caCertificate.subject,
      notBefore: new Date(now - BACKDATE_MS),
      notAfter: new Date(now + LEAF_VALIDITY_MS),
      signingAlgorithm: EC,
      publicKey: keys.publicKey,
      signingKey: await importSigningKey(this.#ca.key),
      extensions,
    });
    return { cert: certificate.toString('pem') + '\n', key: await exportKey(keys.privateKey) };
  }

  /** The key pair that signs ServiceAccount tokens (ES256): private key and public key, PEM. */
  serviceAccountKeys(): { readonly privateKey: string; readonly publicKey: string } {
    const stored = this.#dir === undefined ? undefined : readOptional(join(this.#dir, 'sa.key'));
    if (stored !== undefined) {
      const publicKey = createPublicKey(createPrivateKey(stored)).export({ type: 'spki', format: 'pem' }).toString();
      return { privateKey: stored, publicKey };
    }
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    if (this.#dir !== undefined) {
      writePrivate(join(this.#dir, 'sa.key'), privateKey);
      writeFileSync(join(this.#dir, 'sa.pub'), publicKey, { mode: 0o644 });
    }
    return { privateKey, publicKey };
  }

  #serves(pair: KeyPair, request: CertificateRequest): boolean {
    const certificate = new X509Certificate(pair.cert);
    if (Date.parse(certificate.validTo) - this.#clock.now() < RENEW_BEFORE_MS) return false;
    if (!certificate.checkIssued(new X509Certificate(this.#ca.cert))) return false;
    return (request.hosts ?? []).every((host) =>
      isIP(host) === 0 ? certificate.checkHost(host) !== undefined : certificate.checkIP(host) !== undefined,
    );
  }
}

async function makeAuthority(config: PkiConfig): Promise<KeyPair> {
  const x509 = await loadX509();
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const now = config.clock.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(config.random),
    name: 'CN=kubernetes',
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + CA_VALIDITY_MS),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: certificate.toString('pem') + '\n', key: await exportKey(keys.privateKey) };
}

/** 16 random bytes with the top bit clear, as RFC 5280 wants a positive number. */
function serialNumber(random: Random): string {
  const bytes = Buffer.from(random.bytes(16));
  bytes[0] = ((bytes[0] as number) & 0x7f) | 0x01;
  return bytes.toString('hex');
}

function subjectName(request: CertificateRequest): Record<string, string[]>[] {
  return [...(request.organizations ?? []).map((organization) => ({ O: [organization] })), { CN: [request.commonName] }];
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' }).toString();
}

async function importSigningKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return crypto.subtle.importKey('pkcs8', new Uint8Array(der), EC, false, ['sign']);
}

function readPair(dir: string, name: string): KeyPair | undefined {
  const cert = readOptional(join(dir, `${name}.crt`));
  const key = readOptional(join(dir, `${name}.key`));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

function readOptional(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

/** The key first: a certificate is never there without its key, whenever the process dies. */
function writePair(dir: string, name: string, pair: KeyPair): void {
  writePrivate(join(dir, `${name}.key`), pair.key);
  const path = join(dir, `${name}.crt`);
  writeFileSync(`${path}.tmp`, pair.cert, { mode: 0o644 });
  renameSync(`${path}.tmp`, path);
}

function writePrivate(path: string, contents: string): void {
  writeFileSync(`${path}.tmp`, contents, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
