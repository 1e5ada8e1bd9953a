// The cluster's certificates: a certificate authority made at first start, and what it signs (API
// server, admin, kubelets, the API server's own client certificate for kubelets), plus the key that
// signs ServiceAccount tokens. ECDSA P-256 throughout.
//
// Layout under `dir` (mode 0700, keys 0600), names as kubeadm has them: ca.{crt,key},
// apiserver.{crt,key}, apiserver-kubelet-client.{crt,key}, front-proxy-ca.{crt,key},
// front-proxy-client.{crt,key}, admin.{crt,key}, kubelet-<node>.{crt,key}, sa.{key,pub}.
//
// Files are written durably, a key before its certificate. What happens to a file that is missing
// or damaged:
//
//   ca.crt or ca.key, sa.key   UserError: other files and objects depend on them, so that a new one
//                              would break the cluster
//   a leaf certificate         missing, without its key, expiring or for other hosts: a new one is
//                              signed; damaged: UserError

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  type webcrypto,
  X509Certificate,
} from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type * as X509Module from '@peculiar/x509';
import type { Extension } from '@peculiar/x509';
import type { Clock } from '#machinery/clock.ts';
import { writeDurableFile } from '#machinery/files/durable-file.ts';
import type { Random } from '#machinery/random.ts';
import { privateKeyPem } from './private-key.ts';
import { UserError } from '../user-error.ts';

/** A certificate and its private key, both PEM. The key is in SEC1 form. */
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
  /** The directory of the files. Absent: in memory only. */
  readonly dir?: string;
  /**
   * Default: 'ca'. Other authorities in the same directory can be replaced: only their own
   * certificates depend on them.
   */
  readonly authority?: 'ca' | 'front-proxy-ca';
  /** The name of an authority that is made. Default: 'kubernetes', or 'front-proxy-ca'. */
  readonly commonName?: string;
}

const DAY_MS = 24 * 3600 * 1000;
const CA_VALIDITY_MS = 3650 * DAY_MS;
const LEAF_VALIDITY_MS = 365 * DAY_MS;
/** A leaf with less time left than this is replaced at the start. */
const RENEW_BEFORE_MS = 30 * DAY_MS;
/** Certificates are valid from some time before their creation, for clocks that differ. */
const BACKDATE_MS = 5 * 60 * 1000;

/**
 * Loaded at the first signature: loading takes longer than the rest of a start that signs nothing.
 */
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
  /** By name: what was issued without a directory to keep it. */
  readonly #issued = new Map<string, KeyPair>();

  /**
   * Opens the authority in `dir`, or makes one in an empty directory. Throws UserError if its files
   * are damaged or incomplete.
   */
  static async open(config: PkiConfig): Promise<Pki> {
    if (config.dir !== undefined) mkdirSync(config.dir, { recursive: true, mode: 0o700 });
    const { dir, authority = 'ca' } = config;
    const stored = dir === undefined ? undefined : readAuthority(dir, authority);
    const ca = stored ?? (await makeAuthority(config));
    if (stored === undefined && dir !== undefined) writePair(dir, authority, ca);
    return new Pki(config, ca);
  }

  private constructor(config: PkiConfig, ca: KeyPair) {
    this.#clock = config.clock;
    this.#random = config.random;
    this.#dir = config.dir;
    this.#ca = ca;
  }

  /** Opens the authority of front proxies, which is another one and lives in the same directory. */
  frontProxy(): Promise<Pki> {
    const dir = this.#dir;
    return Pki.open({
      clock: this.#clock,
      random: this.#random,
      ...(dir !== undefined && { dir }),
      authority: 'front-proxy-ca',
    });
  }

  /** The authority with its key, for components that sign approved requests. */
  get authority(): KeyPair {
    return this.#ca;
  }

  /** The authority's certificate, PEM. */
  get caCertificate(): string {
    return this.#ca.cert;
  }

  /**
   * Returns the certificate stored as `name` if it still serves `request`, or a new one. Throws
   * UserError if a file is damaged.
   */
  async certificate(name: string, request: CertificateRequest): Promise<KeyPair> {
    const stored = this.#dir === undefined ? this.#issued.get(name) : readLeaf(this.#dir, name);
    if (stored !== undefined && this.#serves(stored, request)) return stored;
    const made = await this.sign(request);
    if (this.#dir === undefined) this.#issued.set(name, made);
    else writePair(this.#dir, name, made);
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
      const names = request.hosts.map((host) => ({
        type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const),
        value: host,
      }));
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
    const path = this.#dir === undefined ? undefined : join(this.#dir, 'sa.key');
    const stored = path === undefined ? undefined : readOptional(path);
    if (path !== undefined && stored !== undefined) {
      const publicKey = createPublicKey(readKey(path, stored, RESTORE_TOKEN_KEY));
      return {
        privateKey: stored,
        publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      };
    }
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    if (path !== undefined) {
      writeDurableFile(path, privateKey);
      writeDurableFile(path.replace(/key$/, 'pub'), publicKey, { mode: 0o644 });
    }
    return { privateKey, publicKey };
  }

  #serves(pair: KeyPair, request: CertificateRequest): boolean {
    const certificate = new X509Certificate(pair.cert);
    if (Date.parse(certificate.validTo) - this.#clock.now() < RENEW_BEFORE_MS) return false;
    if (!certificate.checkIssued(new X509Certificate(this.#ca.cert))) return false;
    // A crash between the two writes of a renewal leaves the new key with the old certificate.
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key))) return false;
    return (request.hosts ?? []).every((host) =>
      isIP(host) === 0
        ? certificate.checkHost(host) !== undefined
        : certificate.checkIP(host) !== undefined,
    );
  }
}

const DEFAULT_NAMES = { ca: 'kubernetes', 'front-proxy-ca': 'front-proxy-ca' } as const;

async function makeAuthority(config: PkiConfig): Promise<KeyPair> {
  const x509 = await loadX509();
  const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const now = config.clock.now();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(config.random),
    name: [{ CN: [config.commonName ?? DEFAULT_NAMES[config.authority ?? 'ca']] }],
    notBefore: new Date(now - BACKDATE_MS),
    notAfter: new Date(now + CA_VALIDITY_MS),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign |
          x509.KeyUsageFlags.cRLSign |
          x509.KeyUsageFlags.digitalSignature,
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
  return [
    ...(request.organizations ?? []).map((organization) => ({ O: [organization] })),
    { CN: [request.commonName] },
  ];
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', key));
  return privateKeyPem(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
}

async function importSigningKey(pem: string): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return crypto.subtle.importKey('pkcs8', new Uint8Array(der), EC, false, ['sign']);
}

const RESTORE_AUTHORITY =
  'Restore ca.crt and ca.key from a backup. Without one, remove the directory: the next ' +
  'start makes a new authority, and all ' +
  'kubeconfigs and certificates of the old one become invalid.';
const RESTORE_TOKEN_KEY =
  'Restore it from a backup, or remove it: the next start makes a new key, and all ' +
  'ServiceAccount tokens become invalid.';

/** Returns undefined if there is no authority yet. */
function readAuthority(dir: string, name: string): KeyPair | undefined {
  const paths = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
  const cert = readOptional(paths.cert);
  const key = readOptional(paths.key);
  if (cert === undefined && key === undefined) return undefined;
  if (name !== 'ca' && (cert === undefined || key === undefined)) return undefined;
  // The first start writes the key, and nothing else before the certificate: it was interrupted.
  if (
    cert === undefined &&
    readdirSync(dir).every((name) => name === 'ca.key' || name === 'ca.crt.tmp')
  )
    return undefined;
  if (cert === undefined)
    throw new UserError(
      `${paths.cert} is missing, and ${paths.key} is there. ${RESTORE_AUTHORITY}`,
    );
  if (key === undefined)
    throw new UserError(
      `${paths.key} is missing, and ${paths.cert} is there. ${RESTORE_AUTHORITY}`,
    );
  const certificate = readCertificate(paths.cert, cert, RESTORE_AUTHORITY);
  const privateKey = readKey(paths.key, key, RESTORE_AUTHORITY);
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new UserError(
      `${paths.key} is not an ECDSA key on the curve P-256: other authorities are not supported.`,
    );
  }
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new UserError(`${paths.key} is not the key of ${paths.cert}. ${RESTORE_AUTHORITY}`);
  }
  if (!certificate.ca)
    throw new UserError(
      `${paths.cert} is not the certificate of an authority. ${RESTORE_AUTHORITY}`,
    );
  return { cert, key };
}

/** Returns undefined if the certificate or its key is missing. */
function readLeaf(dir: string, name: string): KeyPair | undefined {
  const paths = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
  const cert = readOptional(paths.cert);
  const key = readOptional(paths.key);
  if (cert === undefined || key === undefined) return undefined;
  const remedy = `Remove ${name}.crt and ${name}.key: the next start makes new ones.`;
  readCertificate(paths.cert, cert, remedy);
  return { cert, key: privateKeyPem(readKey(paths.key, key, remedy)) };
}

function readCertificate(path: string, pem: string, remedy: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw damaged(path, pem, 'a certificate', remedy, error);
  }
}

function readKey(path: string, pem: string, remedy: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw damaged(path, pem, 'a private key', remedy, error);
  }
}

function damaged(
  path: string,
  contents: string,
  expected: string,
  remedy: string,
  cause: unknown,
): UserError {
  const problem = contents.trim() === '' ? 'is empty' : `does not contain ${expected}`;
  return new UserError(`${path} ${problem}. ${remedy}`, { cause });
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UserError(`${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/** Writes the key first: a certificate is never there without a key, even if the process dies in between. */
function writePair(dir: string, name: string, pair: KeyPair): void {
  writeDurableFile(join(dir, `${name}.key`), pair.key);
  writeDurableFile(join(dir, `${name}.crt`), pair.cert, { mode: 0o644 });
}
