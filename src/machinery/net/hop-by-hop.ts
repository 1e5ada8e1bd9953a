// Headers that concern one connection, which a proxy does not pass on (RFC 9110, section 7.6.1), and
// Trailer, which announces what most proxies do not pass on, either.

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Reports whether the header, in lower case, concerns one connection. */
export function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name);
}

/**
 * Returns the names, in lower case, of the further headers that a Connection header declares as
 * those of one connection.
 */
export function connectionOptions(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined) return NONE;
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

const NONE: ReadonlySet<string> = new Set();
