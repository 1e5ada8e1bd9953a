// Who asks? The first authenticator that knows the credentials says so; credentials that nobody knows are refused. Without
// any, only health and version are answered.

import * as apierrors from '../../machinery/apierrors.ts';
import { ANONYMOUS, AUTHENTICATED_GROUP } from '../authentication/authenticator.ts';
import type { Authenticator } from '../authentication/authenticator.ts';
import type { ApiRequest, ApiResponse, Filter, UserInfo } from '../request.ts';

const ANONYMOUS_PATHS: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/version']);

export function authentication(authenticators: readonly Authenticator[]): Filter {
  return (next) => {
    const authenticated = async (request: ApiRequest): Promise<ApiResponse> => {
      request.user = await authenticate(request, authenticators);
      return next(request);
    };
    // In-process requests bring their user.
    return (request) => (request.user === undefined ? authenticated(request) : next(request));
  };
}

async function authenticate(request: ApiRequest, authenticators: readonly Authenticator[]): Promise<UserInfo> {
  for (const authenticator of authenticators) {
    const answer = authenticator.authenticate(request);
    const user = answer instanceof Promise ? await answer : answer;
    if (user !== undefined) return withAuthenticatedGroup(user);
  }
  const hasCredentials = request.headers['authorization'] !== undefined;
  if (!hasCredentials && isAnonymousPath(request.path)) return ANONYMOUS;
  throw apierrors.unauthorized('Unauthorized');
}

/** The health endpoints with their single checks, and the version. */
export function isAnonymousPath(path: string): boolean {
  if (ANONYMOUS_PATHS.has(path)) return true;
  return path.startsWith('/livez/') || path.startsWith('/readyz/') || path.startsWith('/healthz/');
}

const known = new WeakMap<UserInfo, UserInfo>();

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.groups.includes(AUTHENTICATED_GROUP)) return user;
  let complete = known.get(user);
  if (complete === undefined) {
    complete = { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
    known.set(user, complete);
  }
  return complete;
}
