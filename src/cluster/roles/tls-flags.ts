// --tls-min-version, --tls-cipher-suites and --tls-curve-preferences: upstream's names and numbers for
// what OpenSSL calls otherwise.

import { createSecureContext } from 'node:tls';
import type { TlsConfig } from '#apiserver/config.ts';
import { UserError } from '../user-error.ts';

/** Suites of TLS 1.3, which cannot be chosen: they are always offered. */
const TLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/**
 * Suites of TLS 1.2. Those with CBC, and those with RSA key exchange, which have no forward secrecy,
 * are offered only if the flag names them. OpenSSL does not have upstream's suites with RC4 and 3DES.
 */
const TLS12: ReadonlyMap<string, string> = new Map([
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
]);

/** Key exchanges by their number in TLS, which upstream takes. Those with ML-KEM need OpenSSL 3.5. */
const CURVES: ReadonlyMap<number, string> = new Map([
  [23, 'prime256v1'],
  [24, 'secp384r1'],
  [25, 'secp521r1'],
  [29, 'X25519'],
  [4587, 'SecP256r1MLKEM768'],
  [4588, 'X25519MLKEM768'],
  [4589, 'SecP384r1MLKEM1024'],
]);

/** The settings as they are given; undefined or empty: the default. */
export interface TlsFlags {
  readonly tlsMinVersion?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsCurvePreferences?: readonly number[];
}

/** Throws UserError for versions, suites and curves that do not exist or are not offered. */
export function tlsSettings({
  tlsMinVersion: minVersion = '',
  tlsCipherSuites: suites = [],
  tlsCurvePreferences: curves = [],
}: TlsFlags): Pick<TlsConfig, 'minVersion' | 'ciphers' | 'curves'> {
  return {
    ...(minVersion !== '' && { minVersion: versionOf(minVersion) }),
    ...(suites.length > 0 && { ciphers: [...TLS13, ...chosen(suites)].join(':') }),
    ...(curves.length > 0 && { curves: curveNames(curves).join(':') }),
  };
}

function curveNames(numbers: readonly number[]): readonly string[] {
  return numbers.map((number, index) => {
    if (!Number.isInteger(number) || number <= 0 || number > 0xffff)
      throw curveError(`${number} is out of range (must be 1-65535)`);
    if (numbers.indexOf(number) < index) throw curveError(`${number} is a duplicate`);
    const name = CURVES.get(number);
    if (name === undefined || !hasCurve(name))
      throw curveError(
        `${number} is not supported by OpenSSL ${process.versions['openssl'] ?? ''} of this Node`,
      );
    return name;
  });
}

const curveError = (problem: string): UserError =>
  new UserError(`--tls-curve-preferences: curve preference ${problem}`);

/** Reports whether OpenSSL knows the key exchange. It has no list of them. */
function hasCurve(name: string): boolean {
  try {
    createSecureContext({ ecdhCurve: name });
    return true;
  } catch {
    return false;
  }
}

function versionOf(name: string): 'TLSv1.2' | 'TLSv1.3' {
  if (name === 'VersionTLS12') return 'TLSv1.2';
  if (name === 'VersionTLS13') return 'TLSv1.3';
  throw new UserError(
    `--tls-min-version: ${JSON.stringify(name)} is not supported: it is VersionTLS12 or VersionTLS13`,
  );
}

/** Returns OpenSSL's names of the suites, the best ones first: as in Go, the flag has no order. */
function chosen(suites: readonly string[]): readonly string[] {
  for (const suite of suites) {
    if (TLS13.includes(suite) || TLS12.has(suite)) continue;
    throw new UserError(
      `--tls-cipher-suites: cipher suite ${JSON.stringify(suite)} is not supported or does not exist`,
    );
  }
  return [...TLS12].flatMap(([suite, name]) => (suites.includes(suite) ? [name] : []));
}
