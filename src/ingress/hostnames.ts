// Hostnames of listeners and routes: exact ones, wildcards such as '*.example.com', and '' for
// every host.

const isWildcard = (hostname: string): boolean => hostname.startsWith('*.');

/**
 * Reports whether the hostname matches a host, which is in lower case and has no port. `oneLabel`:
 * a wildcard matches one label only.
 */
export function matchesHostname(hostname: string, host: string, oneLabel = false): boolean {
  if (hostname === '' || hostname === host) return true;
  if (!isWildcard(hostname)) return false;
  const suffix = hostname.slice(1);
  if (!host.endsWith(suffix) || host.length === suffix.length) return false;
  return !oneLabel || !host.slice(0, -suffix.length).includes('.');
}

/** Returns the hosts that both hostnames match, as one hostname; undefined if there are none. */
export function intersectHostnames(a: string, b: string): string | undefined {
  if (a === '' || a === b) return b;
  if (b === '') return a;
  if (isWildcard(a) && isWildcard(b)) {
    if (a.endsWith(b.slice(1))) return a;
    return b.endsWith(a.slice(1)) ? b : undefined;
  }
  if (isWildcard(a)) return matchesHostname(a, b) ? b : undefined;
  return matchesHostname(b, a) ? a : undefined;
}

/**
 * Orders hostnames by precedence: exact ones, then wildcards from the longest to the shortest, then
 * ''.
 */
export function compareHostnames(a: string, b: string): number {
  return rank(a) - rank(b) || b.length - a.length || (a < b ? -1 : Number(a > b));
}

function rank(hostname: string): number {
  if (hostname === '') return 2;
  return isWildcard(hostname) ? 1 : 0;
}

/**
 * Returns the host of a Host or :authority value: in lower case, without port and trailing dot.
 * undefined: the value is malformed.
 */
export function hostOf(authority: string): string | undefined {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.~!$&'()*+,;=%-]*)(?::(\d{0,5}))?$/.exec(
    authority,
  );
  if (match === null) return undefined;
  const host = (match[1] ?? '').toLowerCase();
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
