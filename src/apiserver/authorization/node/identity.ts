// Finds the node that a user is.

import type { UserInfo } from '#apiserver/request.ts';

const GROUP = 'system:nodes';
const USER_PREFIX = 'system:node:';

/**
 * Returns the name of the node that a user is: '' if the user name contains none, undefined if the
 * user is not a node. Both the name and the group are required.
 */
export function nodeOfUser({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(USER_PREFIX) && groups.includes(GROUP)
    ? name.slice(USER_PREFIX.length)
    : undefined;
}
