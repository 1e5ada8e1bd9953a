// Finds the node that a user is.

import type { UserInfo } from '#apiserver/request.ts';

const GROUP = 'system:nodes';
const USER_PREFIX = 'system:node:';

/** The node that a user is, '' if its name says none; undefined for all who are none. The name alone makes no node, nor does the group. */
export function nodeOfUser({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(USER_PREFIX) && groups.includes(GROUP)
    ? name.slice(USER_PREFIX.length)
    : undefined;
}
