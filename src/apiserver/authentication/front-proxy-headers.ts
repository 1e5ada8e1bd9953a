// The standard headers in which front proxies name users, and this server names them to aggregated
// API servers.

const NAMES: ReadonlySet<string> = new Set(['x-remote-user', 'x-remote-uid', 'x-remote-group']);
const EXTRA_PREFIX = 'x-remote-extra-';

/** Reports whether the header, in lower case, names a user. No client's value is passed on. */
export function isFrontProxyHeader(name: string): boolean {
  return NAMES.has(name) || name.startsWith(EXTRA_PREFIX);
}
