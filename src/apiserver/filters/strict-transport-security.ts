// The header by which browsers learn to use https only (RFC 6797).

import type { Filter } from '../request.ts';

/** Adds the header to every response. `directives`: such as `max-age=31536000`, one at least. */
export function strictTransportSecurity(directives: readonly string[]): Filter {
  const header = { 'strict-transport-security': directives.join('; ') };
  return (next) => async (request) => {
    const response = await next(request);
    return { ...response, headers: { ...response.headers, ...header } };
  };
}
