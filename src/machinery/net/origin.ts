// The origin of the page for which a browser makes a request (the header Origin, RFC 6454).

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reports whether the request's Origin is this server, as the client has addressed it by https. False
 * without an Origin.
 */
export function isOwnOrigin(headers: Headers): boolean {
  const host = headers['host'] ?? headers[':authority'];
  const { origin } = headers;
  if (typeof host !== 'string' || typeof origin !== 'string' || !URL.canParse(origin)) return false;
  const expected = `https://${host}`;
  return URL.canParse(expected) && new URL(expected).origin === new URL(origin).origin;
}

/**
 * The Origin of programs whose library needs one (golang.org/x/net/websocket), such as upstream's
 * tests. Only a page at port 80 of the user's own machine has it.
 */
const OF_PROGRAMS = 'http://localhost';

/**
 * Reports whether a page of another origin makes a browser send the request, which then has the
 * user's client certificate without the user's intent. Browsers set the Origin of WebSockets and of
 * requests that may change something, and pages cannot change it. Requests through another proxy
 * (`kubectl proxy`) have the Origin of that proxy, and X-Forwarded-For, which such a page cannot set.
 */
export function isOfForeignPage(headers: Headers): boolean {
  return (
    headers['origin'] !== undefined &&
    headers['origin'] !== OF_PROGRAMS &&
    headers['x-forwarded-for'] === undefined &&
    !isOwnOrigin(headers)
  );
}
