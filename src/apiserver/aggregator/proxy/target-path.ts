// The path and query for the backend. They are decoded and encoded again as Go's net/url does, so
// that the backend reads the path that was authorized.

/** Characters that Go's EscapedPath does not encode, in addition to letters and digits. */
const PATH_SAFE = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const QUERY_SAFE = /[A-Za-z0-9\-_.~]/;

/**
 * Decodes the segments of a path. Returns undefined for a path that cannot be decoded, or with an
 * encoded slash: the authorizer and the backend would read such a path differently.
 */
export function decodePath(path: string): string | undefined {
  if (!path.includes('%')) return path;
  if (/%2f/i.test(path)) return undefined;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

export function encodePath(decoded: string): string {
  return escape(decoded, PATH_SAFE);
}

/** Returns the query sorted by key; '' if there is none. */
export function encodeQuery(query: URLSearchParams): string {
  if (query.size === 0) return '';
  const encode = (text: string): string => escape(text, QUERY_SAFE).replaceAll('%20', '+');
  const byKey = [...query].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return byKey.map(([key, value]) => `${encode(key)}=${encode(value)}`).join('&');
}

function escape(text: string, safe: RegExp): string {
  let escaped = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const character = String.fromCharCode(byte);
    escaped += safe.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}
