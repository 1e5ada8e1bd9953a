// --tls-min-version and --tls-cipher-suites: upstream's names for what OpenSSL calls otherwise.

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

/** Throws UserError for versions and suites that do not exist or are not offered. */
export function tlsSettings(
  minVersion: string | undefined,
  suites: readonly string[] | undefined,
): Pick<TlsConfig, 'minVersion' | 'ciphers'> {
  return {
    ...(minVersion !== undefined && minVersion !== '' && { minVersion: versionOf(minVersion) }),
    ...(suites !== undefined &&
      suites.length > 0 && { ciphers: [...TLS13, ...chosen(suites)].join(':') }),
  };
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
