// The modes of impersonation. A constrained mode allows some verbs on some resources for one kind of
// user (KEP 5284): the user needs `impersonate-on:MODE:VERB` for the request itself, and
// `impersonate:MODE` for the requested user. The legacy mode needs `impersonate` for the requested
// user, and then allows every request.

import type { Attributes, Authorizer } from '../../authorization/authorizer.ts';
import type { UserInfo } from '../../request.ts';
import { check, CONSTRAINED, LEGACY, mayImpersonate } from './permissions.ts';
import { nodeOf, serviceAccountOf } from './user-names.ts';

/** The user that a request continues as. */
export interface Impersonated {
  readonly user: UserInfo;
  /** The verb of the constrained mode that allowed it, for the audit log. Undefined: legacy. */
  readonly constraint: string | undefined;
}

/**
 * Returns the user that the request continues as; undefined if the mode is not for such users.
 * Rejects with Forbidden.
 */
export type Mode = (
  requested: UserInfo,
  attributes: Attributes,
) => Promise<Impersonated | undefined>;

const NODE_NAME = 'authentication.kubernetes.io/node-name';
const NODE_KEYS = 'authentication.kubernetes.io/associated-node-keys';

/** Returns the modes in the order in which they are tried. */
export function modes(authorizer: Authorizer): readonly Mode[] {
  return [
    // The mode of a ServiceAccount whose token is bound to a pod, and so to a node: it may
    // impersonate that node. The permission is for all nodes, and is the same on each of them.
    constrained(authorizer, 'associated-node', {
      isFor: (requested, requestor) => hasNameOnly(requested) && isOnNode(requestor, requested),
      requestor: (user) => ({
        ...user,
        extra: { [NODE_KEYS]: Object.keys(user.extra ?? {}).sort() },
      }),
      nodeName: '*',
    }),
    constrained(authorizer, 'arbitrary-node', {
      isFor: (requested) => hasNameOnly(requested) && nodeOf(requested.name) !== undefined,
    }),
    constrained(authorizer, 'serviceaccount', {
      isFor: (requested) =>
        hasNameOnly(requested) && serviceAccountOf(requested.name) !== undefined,
    }),
    constrained(authorizer, 'user-info', {
      isFor: ({ name }) => nodeOf(name) === undefined && serviceAccountOf(name) === undefined,
    }),
    legacy(authorizer),
  ];
}

function legacy(authorizer: Authorizer): Mode {
  return async (requested, { user }) => ({
    user: await mayImpersonate(authorizer, user, requested, LEGACY),
    constraint: undefined,
  });
}

interface ConstrainedMode {
  readonly isFor: (requested: UserInfo, requestor: UserInfo) => boolean;
  /** Returns the user whose permissions are checked. Default: the requestor itself. */
  readonly requestor?: (user: UserInfo) => UserInfo;
  /** The name of a node in permissions. Default: the name of the requested node. */
  readonly nodeName?: string;
}

function constrained(
  authorizer: Authorizer,
  name: string,
  { isFor, requestor = (user) => user, nodeName }: ConstrainedMode,
): Mode {
  const constraint = `impersonate:${name}`;
  const rules = { ...CONSTRAINED, verb: constraint, nodeName };
  return async (requested, attributes) => {
    if (!isFor(requested, attributes.user)) return undefined;
    const user = requestor(attributes.user);
    const verb = `impersonate-on:${name}:${attributes.verb}`;
    await check(authorizer, { ...attributes, user, verb });
    return { user: await mayImpersonate(authorizer, user, requested, rules), constraint };
  };
}

/** Reports whether the requestor is a ServiceAccount with a token for the requested node. */
function isOnNode(requestor: UserInfo, { name }: UserInfo): boolean {
  const nodes = requestor.extra?.[NODE_NAME] ?? [];
  const isNamed = nodes.length === 1 && nodes[0] === nodeOf(name);
  return isNamed && serviceAccountOf(requestor.name) !== undefined;
}

/** Reports whether nothing but the name is requested. The server knows the groups of such users. */
function hasNameOnly({ uid, groups, extra }: UserInfo): boolean {
  return uid === undefined && groups.length === 0 && Object.keys(extra ?? {}).length === 0;
}
