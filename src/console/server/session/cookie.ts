// The cookie of a session.

/**
 * Browsers accept a cookie with this prefix only from HTTPS, for this host alone and for all of its
 * paths. So no other host of the domain can plant one.
 */
export const COOKIE = '__Host-coxswain-console';

/** No session has a longer value. */
const MAX_LENGTH = 128;

/**
 * Returns the value of the cookie. Undefined: there is none, or there are several, so that one of
 * them is not of this server.
 */
export function cookieOf(
  header: string | undefined,
  name = COOKIE,
  maxLength = MAX_LENGTH,
): string | undefined {
  if (header === undefined || !header.includes(name)) return undefined;
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value] = values;
  return values.length === 1 && value !== undefined && value !== '' && value.length <= maxLength
    ? value
    : undefined;
}

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';

/** Returns the Set-Cookie header. The cookie ends with the browser, and the session before. */
export function settingCookie(value: string): string {
  return `${COOKIE}=${value}; ${ATTRIBUTES}`;
}

/** Returns the Set-Cookie header that removes the cookie. */
export function removingCookie(): string {
  return `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;
}
