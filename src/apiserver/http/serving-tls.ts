// The TLS of the secure port: its certificates, by the name that a client asks for, and the
// authorities of clients.

import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { TLS_SERVER_OPTIONS } from '#machinery/serving/index.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import type { TlsConfig } from '../config.ts';
import type { PeerAuthorities } from '../request.ts';

/** The part that may change while the port is open: a plain value. */
export interface ServingTls
  extends Pick<TlsConfig, 'cert' | 'key' | 'clientCa' | 'named'>, PeerAuthorities {}

/** The part that stays. */
export type TlsRules = Pick<TlsConfig, 'minVersion' | 'ciphers' | 'curves'>;

/** The options for clients that ask for no name, or for one without a certificate of its own. */
export function defaultContext(tls: ServingTls, rules: TlsRules): SecureContextOptions {
  return contextOf(tls, tls, rules);
}

function contextOf(
  { cert, key }: { readonly cert: string; readonly key: string },
  { clientCa, requestHeaderCa }: PeerAuthorities,
  { minVersion, ciphers, curves }: TlsRules,
): SecureContextOptions {
  const authorities = [clientCa, requestHeaderCa].filter((ca) => ca !== undefined);
  return {
    ...TLS_SERVER_OPTIONS,
    key,
    cert,
    ca: authorities.length === 0 ? undefined : authorities,
    ...(minVersion !== undefined && { minVersion }),
    ...(ciphers !== undefined && { ciphers }),
    ...(curves !== undefined && { ecdhCurve: curves }),
  };
}

/**
 * The certificates by name. Names that are given with a certificate come before those that are in
 * one, and earlier certificates before later ones, as upstream.
 */
export class NamedContexts {
  readonly #byName = new Map<string, SecureContext>();

  /** Throws if a key is not that of its certificate. */
  constructor(tls: ServingTls, rules: TlsRules) {
    const entries = (tls.named ?? []).map((pair) => ({
      ...pair,
      context: createSecureContext(contextOf(pair, tls, rules)),
    }));
    const explicit = entries.map(({ names = [], context }) => ({ names, context }));
    const own = entries
      .filter(({ names }) => names === undefined || names.length === 0)
      .map(({ cert, context }) => ({ names: namesIn(cert), context }));
    for (const { names, context } of [...explicit, ...own])
      for (const name of names) {
        const key = name.toLowerCase();
        if (!this.#byName.has(key)) this.#byName.set(key, context);
      }
  }

  /**
   * Returns the context for a name that a client asks for: that of the name itself, or of its
   * wildcard. Undefined: the default one.
   */
  contextFor(name: string): SecureContext | undefined {
    const key = name.toLowerCase();
    return this.#byName.get(key) ?? this.#byName.get(key.replace(/^[^.]*/, '*'));
  }
}

/** Returns the host names in a certificate: its common name, if it is one, and its DNS names. */
function namesIn(cert: string): readonly string[] {
  const { subject, subjectAltName = '' } = new X509Certificate(cert);
  const common = /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
  const alternatives = subjectAltName
    .split(', ')
    .flatMap((entry) => (entry.startsWith('DNS:') ? [entry.slice('DNS:'.length)] : []));
  return [common, ...alternatives].filter(isServerName);
}

/**
 * Reports whether certificates can be chosen by the name: a host name, perhaps with `*` as its first
 * label. Clients do not ask for addresses.
 */
export function isServerName(name: string): boolean {
  if (/^[0-9.]+$/.test(name)) return false;
  return name === '*' || isDNS1123Subdomain(name.replace(/^\*\./, '').toLowerCase()).length === 0;
}
