// --tls-sni-cert-key: certificates for some host names, in upstream's form.

import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { NamedCertificate } from '#apiserver/config.ts';
import { isServerName } from '#apiserver/http/serving-tls.ts';
import { checkKeyPair, readFlagFile } from '../../flags/flag-files.ts';
import { UserError } from '../../user-error.ts';

const FLAG = '--tls-sni-cert-key';

interface SniFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** Empty: the names in the certificate. */
  readonly names: readonly string[];
}

/** Parses 'certfile,keyfile' or 'certfile,keyfile:name,name'. Throws UserError. */
export function parseSniCertKey(value: string): SniFiles {
  const colon = value.indexOf(':');
  const files = (colon < 0 ? value : value.slice(0, colon)).split(',').map((file) => file.trim());
  const [certFile = '', keyFile = '', ...more] = files;
  if (certFile === '' || keyFile === '' || more.length > 0)
    throw new UserError(`${FLAG}: expected comma separated certificate and key file paths`);
  if (colon < 0) return { certFile, keyFile, names: [] };
  const text = value.slice(colon + 1).trim();
  if (text === '') throw new UserError(`${FLAG}: empty names list is not allowed`);
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (isServerName(name)) continue;
    throw new UserError(
      `${FLAG}: ${JSON.stringify(name)} is no host name; clients do not ask for addresses: ` +
        'name the certificate for an address with --tls-cert-file',
    );
  }
  return { certFile, keyFile, names };
}

/**
 * Reads the files. `defaultCert`: the certificate for all other names, in PEM. Throws UserError, also
 * if a key is of another type than that of the default certificate: Node keeps a certificate of each
 * type for a connection, and OpenSSL may then present the default one.
 */
export function readNamed(
  files: readonly SniFiles[],
  defaultCert: string,
): readonly NamedCertificate[] {
  const expected = keyTypeOf(defaultCert);
  return files.map(({ certFile, keyFile, names }) => {
    const pair = {
      cert: readFlagFile(FLAG, resolve(certFile)),
      key: readFlagFile(FLAG, resolve(keyFile)),
    };
    checkKeyPair(FLAG, pair);
    const actual = keyTypeOf(pair.cert);
    if (actual !== expected)
      throw new UserError(
        `${FLAG}: the key of ${certFile} is of type ${actual}, and that of the default certificate of type ` +
          `${expected}, which clients might get instead: make one of type ${expected}, or name a ` +
          `default certificate of type ${actual} with --tls-cert-file and --tls-private-key-file`,
      );
    return names.length > 0 ? { ...pair, names } : pair;
  });
}

function keyTypeOf(cert: string): string {
  return new X509Certificate(cert).publicKey.asymmetricKeyType ?? 'unknown';
}
