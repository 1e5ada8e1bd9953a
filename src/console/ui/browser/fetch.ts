// The only place that calls the browser's fetch: same origin, with the session's cookie.

export type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/**
 * Requests a path of the page's own origin. The header makes the server take the session's cookie
 * as the identity: pages of other origins cannot set it.
 */
export const browserFetch: Fetch = (path, init) => {
  const headers = new Headers(init.headers);
  headers.set('X-Coxswain-Console', '1');
  return fetch(path, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
};
