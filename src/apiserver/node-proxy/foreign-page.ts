// Keeps pages of pods and nodes from acting as the user. A browser that reaches this server with a
// client certificate sees such a page at the server's own origin, where its scripts could call the
// API with the user's rights. So these pages get an origin of their own, and cannot change what the
// browser keeps for the server's origin.

import type { ApiRequest, ApiResponse } from '../request.ts';

/**
 * The page runs, but as another origin: without `allow-same-origin` it reads no responses of this
 * server, has no cookies, and registers no service workers.
 */
const SANDBOX =
  'sandbox allow-downloads allow-forms allow-modals allow-pointer-lock allow-popups allow-scripts';

/** Headers that change the state of the whole origin in a browser. */
const ORIGIN_WIDE: ReadonlySet<string> = new Set([
  'alt-svc',
  'clear-site-data',
  'service-worker-allowed',
  'set-cookie',
  'strict-transport-security',
]);

type Headers = NonNullable<ApiResponse['headers']>;

/**
 * Reports whether a browser may see responses to the request at this server's origin. Behind
 * another proxy (`kubectl proxy`), which adds X-Forwarded-For, the origin is that proxy's. A page of
 * another origin cannot make a browser send the header. A front proxy that authenticates users
 * passes this server's pages on as well, so it counts as this server.
 */
export function isAtOwnOrigin({ headers, peerCertificate }: ApiRequest): boolean {
  return headers['x-forwarded-for'] === undefined || peerCertificate?.isFrontProxy === true;
}

/** Reports whether the header, in lower case, changes the state of the whole origin. */
export function isOriginWide(name: string): boolean {
  return ORIGIN_WIDE.has(name);
}

/** Returns the headers of a pod's or node's response to the request. */
export function isolatedHeaders(request: ApiRequest, headers: Headers): Headers {
  if (!isAtOwnOrigin(request)) return headers;
  const kept = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ORIGIN_WIDE.has(name)),
  );
  // Every policy of the list holds.
  const own = headers['content-security-policy'];
  return {
    ...kept,
    'content-security-policy': own === undefined ? SANDBOX : `${String(own)}, ${SANDBOX}`,
  };
}
