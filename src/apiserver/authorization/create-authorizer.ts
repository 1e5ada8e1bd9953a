// Creates the default authorizer of a server: first the privileged group, then functions of this
// process, then the modes of the config.

import type { Authorizer } from './authorizer.ts';
import { alwaysAllow, alwaysDeny, type AuthorizationMode } from './modes.ts';
import type { NodeGraph } from './node/graph.ts';
import { NodeAuthorizer } from './node/node-authorizer.ts';
import { privilegedAuthorizer } from './privileged.ts';
import { RbacAuthorizer } from './rbac/rbac-authorizer.ts';
import type { RoleCache } from './rbac/role-cache.ts';
import { UnionAuthorizer } from './union.ts';

export interface AuthorizerSources {
  readonly roles: RoleCache;
  readonly nodeGraph: NodeGraph;
  /** The authorizer that is called before the modes. Default: none. */
  readonly local?: Authorizer;
}

export function createAuthorizer(
  modes: readonly AuthorizationMode[],
  { roles, nodeGraph, local }: AuthorizerSources,
): Authorizer {
  const authorizerOf = (mode: AuthorizationMode): Authorizer => {
    switch (mode) {
      case 'Node':
        return new NodeAuthorizer(nodeGraph);
      case 'RBAC':
        return new RbacAuthorizer(roles);
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
    }
  };
  return new UnionAuthorizer([
    privilegedAuthorizer,
    ...(local === undefined ? [] : [local]),
    ...modes.map(authorizerOf),
  ]);
}
