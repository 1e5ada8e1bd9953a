// The names of users that are nodes or ServiceAccounts.

import { isDNS1123Label, isDNS1123Subdomain } from '#machinery/validation/validation.ts';

const NODE_PREFIX = 'system:node:';
const SERVICE_ACCOUNT_PREFIX = 'system:serviceaccount:';

/** Returns the node of a user name; undefined for other users. */
export function nodeOf(user: string): string | undefined {
  if (!user.startsWith(NODE_PREFIX)) return undefined;
  const name = user.slice(NODE_PREFIX.length);
  return isDNS1123Subdomain(name).length === 0 ? name : undefined;
}

/**
 * Returns the ServiceAccount of a user name; undefined for other users, also if the name only begins
 * like a ServiceAccount's.
 */
export function serviceAccountOf(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace = '', name = '', ...others] = user
    .slice(SERVICE_ACCOUNT_PREFIX.length)
    .split(':');
  if (
    others.length > 0 ||
    isDNS1123Label(namespace).length > 0 ||
    isDNS1123Subdomain(name).length > 0
  )
    return undefined;
  return { namespace, name };
}
