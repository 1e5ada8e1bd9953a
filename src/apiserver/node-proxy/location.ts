// Rewrites links in responses from behind a proxy for clients in front of it.

export interface ProxiedPlace {
  /** The scheme by which the client reaches the server, 'https'. */
  readonly scheme: string;
  /** The host and port by which the client reaches the server. */
  readonly host: string;
  /** The host and port of the server behind the proxy. */
  readonly backend: string;
  /** The path of the proxy, without a slash at its end. */
  readonly prefix: string;
}

/** Returns the link for the client. Links to another server, and relative ones, stay unchanged. */
export function rewriteLocation(location: string, place: ProxiedPlace): string {
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(location);
  const [, scheme, authority = '', path = '', rest = ''] = match ?? [];
  const elsewhere = authority !== '' && authority !== place.backend && authority !== place.host;
  if (match === null || elsewhere || !path.startsWith('/')) return location;
  const origin = scheme === undefined && authority === '' ? '' : `${place.scheme}://${place.host}`;
  const below = path.startsWith(place.prefix) ? path : `${place.prefix}${path}`;
  return `${origin}${below}${rest}`;
}
