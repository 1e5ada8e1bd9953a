// Links of what is served behind a proxy, as clients in front of it must follow them.

export interface ProxiedPlace {
  /** How the client reaches the server, 'https'. */
  readonly scheme: string;
  /** How the client calls the server, with its port. */
  readonly host: string;
  /** How the server behind the proxy is called, with its port. */
  readonly backend: string;
  /** The path of the proxy, without a slash at its end. */
  readonly prefix: string;
}

/** Returns the link for the client. Links to another server, and relative ones, stay as they are. */
export function rewriteLocation(location: string, place: ProxiedPlace): string {
  const match = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(location);
  const [, scheme, authority = '', path = '', rest = ''] = match ?? [];
  const elsewhere = authority !== '' && authority !== place.backend && authority !== place.host;
  if (match === null || elsewhere || !path.startsWith('/')) return location;
  const origin = scheme === undefined && authority === '' ? '' : `${place.scheme}://${place.host}`;
  const below = path.startsWith(place.prefix) ? path : `${place.prefix}${path}`;
  return `${origin}${below}${rest}`;
}
