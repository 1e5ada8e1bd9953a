// URLs as Go's net/url parses them, which differs from browsers: nothing is normalized, and an
// absolute path is a URL, too.

export interface ParsedUrl {
  readonly scheme: string;
  /** The host with its port. */
  readonly host: string;
  readonly escapedPath: string;
  readonly query: string;
}

/** The reason why a text is not a URL, with Go's message. */
export class UrlError extends Error {}

/** Characters below the space, and DEL. */
const CONTROL = /[^ -~\u0080-\uffff]/;
/** Characters that need no escape in a path. */
const PATH_SAFE = /[A-Za-z0-9\-_.~$&+,/:;=@]/;
const PATH_VALID = /^[A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]*$/;

/**
 * Parses an absolute URI or an absolute path. `fragment`: cuts off '#…' first; otherwise '#' is an
 * ordinary character. Throws UrlError.
 */
export function parseUrl(text: string, fragment: boolean): ParsedUrl {
  if (CONTROL.test(text)) throw new UrlError('net/url: invalid control character in URL');
  const whole = fragment ? text.split('#')[0]! : text;
  if (whole === '') throw new UrlError('empty url');
  const { scheme, rest } = splitScheme(whole);
  const mark = rest.indexOf('?');
  const query = mark < 0 ? '' : rest.slice(mark + 1);
  let path = mark < 0 ? rest : rest.slice(0, mark);
  let host = '';
  if (!path.startsWith('/')) {
    if (scheme === '') throw new UrlError('invalid URI for request');
    // An opaque URL: mailto:user.
    return { scheme, host, escapedPath: '', query };
  }
  if (scheme !== '' && path.startsWith('//')) {
    const end = path.indexOf('/', 2);
    host = parseAuthority(end < 0 ? path.slice(2) : path.slice(2, end));
    path = end < 0 ? '' : path.slice(end);
  }
  return { scheme, host, escapedPath: escapePath(path), query };
}

function splitScheme(text: string): { readonly scheme: string; readonly rest: string } {
  const colon = /^[A-Za-z][A-Za-z0-9+\-.]*:/.exec(text)?.[0];
  if (colon !== undefined)
    return { scheme: colon.slice(0, -1).toLowerCase(), rest: text.slice(colon.length) };
  if (text.startsWith(':')) throw new UrlError('missing protocol scheme');
  return { scheme: '', rest: text };
}

function parseAuthority(authority: string): string {
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host.startsWith('[')) {
    const close = host.lastIndexOf(']');
    if (close < 0) throw new UrlError("missing ']' in host");
    checkPort(host.slice(close + 1));
    return host;
  }
  const colon = host.lastIndexOf(':');
  if (colon >= 0) checkPort(host.slice(colon));
  const invalid = /[ "<>\\^`{|}]/.exec(host)?.[0];
  if (invalid !== undefined)
    throw new UrlError(`invalid character ${JSON.stringify(invalid)} in host name`);
  // ASCII characters must not be escaped in a host.
  const escape = /%(?![89A-Fa-f][0-9A-Fa-f]).{0,2}/.exec(host)?.[0];
  if (escape !== undefined) throw new UrlError(`invalid URL escape ${JSON.stringify(escape)}`);
  return host.includes('%') ? unescape(host) : host;
}

function checkPort(port: string): void {
  if (!/^(?::[0-9]*)?$/.test(port))
    throw new UrlError(`invalid port ${JSON.stringify(port)} after host`);
}

/** Replaces escapes by their bytes. Throws UrlError for invalid escapes. */
function unescape(text: string): string {
  const invalidEscape = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(text)?.[0];
  if (invalidEscape !== undefined)
    throw new UrlError(`invalid URL escape ${JSON.stringify(invalidEscape)}`);
  const bytes = Buffer.from(
    text.replaceAll(
      /%([0-9A-Fa-f]{2})|([^%]+)/g,
      (_, hex: string | undefined, plain: string | undefined) =>
        hex === undefined
          ? Buffer.from(plain!).toString('latin1')
          : String.fromCodePoint(parseInt(hex, 16)),
    ),
    'latin1',
  );
  return bytes.toString();
}

/** Returns the path unchanged if it is valid, otherwise with the necessary escapes. */
function escapePath(path: string): string {
  const plain = unescape(path);
  if (PATH_VALID.test(path)) return path;
  return [...Buffer.from(plain)]
    .map((byte) => {
      const character = String.fromCodePoint(byte);
      return byte < 0x80 && PATH_SAFE.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

export const hostname = (host: string): string =>
  host.startsWith('[') ? host.slice(1, host.lastIndexOf(']')) : host.replace(/:[0-9]*$/, '');

export const port = (host: string): string =>
  /:([0-9]*)$/.exec(host.slice(host.lastIndexOf(']') + 1))?.[1] ?? '';

/** Returns the values by key, both in their original order. Invalid pairs are left out. */
export function parseQuery(query: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const equals = pair.indexOf('=');
    try {
      const [key, value] = (
        equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
      ).map((part) => unescape(part.replaceAll('+', ' '))) as [string, string];
      values.set(key, [...(values.get(key) ?? []), value]);
    } catch (error) {
      if (!(error instanceof UrlError)) throw error;
    }
  }
  return values;
}
