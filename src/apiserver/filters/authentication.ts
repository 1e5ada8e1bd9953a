// Finds the user of a request. The first authenticator that accepts the credentials decides, and
// unknown credentials are rejected. Requests without credentials are anonymous if that is allowed,
// by default for health and version only. An Authorization header without a bearer token counts as
// none, as upstream.

import * as apierrors from '#machinery/apierrors.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import {
  ANONYMOUS,
  AUTHENTICATED_GROUP,
  type Authenticator,
  bearerToken,
} from '../authentication/authenticator.ts';
import { hasInvalidUid } from '../authentication/client-certificate.ts';
import { hasWebSocketToken } from '../authentication/websocket-token.ts';
import type { ApiRequest, ApiResponse, Filter, UserInfo } from '../request.ts';

const ANONYMOUS_PATHS: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/version']);
/** The address of the public kubeconfig of clusters that are joined with tokens. */
const CLUSTER_INFO = '/api/v1/namespaces/kube-public/configmaps/cluster-info';

/**
 * Which requests without credentials are admitted, as system:anonymous. They still need
 * authorization.
 */
export type AnonymousRequests =
  | 'none'
  | 'health and version'
  /** Also what new nodes read before they have a token that they may send: how to join. */
  | 'health, version and cluster-info'
  | 'all'
  /** Requests to exactly these paths. */
  | { readonly paths: readonly string[] };

export function authentication(
  authenticators: readonly Authenticator[],
  anonymous: AnonymousRequests = 'health and version',
): Filter {
  return (next) => {
    const proceed = (request: ApiRequest, user: UserInfo): Promise<ApiResponse> => {
      request.user = user;
      return next(request);
    };
    return (request) => {
      // In-process requests carry their user.
      if (request.user !== undefined) return next(request);
      try {
        const user = authenticate(request, authenticators, anonymous, 0);
        return user instanceof Promise
          ? user.then((authenticated) => proceed(request, authenticated))
          : proceed(request, user);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  };
}

/**
 * Returns the user of credentials: that of the first authenticator that recognizes them, with the
 * group of authenticated users. Undefined: there is none.
 */
export async function userOfCredentials(
  credentials: Pick<ApiRequest, 'headers' | 'peerCertificate'>,
  authenticators: readonly Authenticator[],
): Promise<UserInfo | undefined> {
  for (const authenticator of authenticators) {
    const user = await authenticator.authenticate(credentials);
    if (user !== undefined) return withAuthenticatedGroup(user);
  }
  return undefined;
}

/** Calls the authenticators from index `from` on. Returns synchronously as long as they do. */
function authenticate(
  request: ApiRequest,
  authenticators: readonly Authenticator[],
  anonymous: AnonymousRequests,
  from: number,
): Awaitable<UserInfo> {
  for (let n = from; n < authenticators.length; n++) {
    const user = authenticators[n]!.authenticate(request);
    if (user instanceof Promise) {
      return user.then((authenticated) =>
        authenticated === undefined
          ? authenticate(request, authenticators, anonymous, n + 1)
          : withAuthenticatedGroup(authenticated),
      );
    }
    if (user !== undefined) return withAuthenticatedGroup(user);
  }
  const { headers, peerCertificate } = request;
  const hasCredentials =
    bearerToken(headers) !== undefined ||
    hasWebSocketToken(headers) ||
    (peerCertificate !== undefined && hasInvalidUid(peerCertificate));
  if (!hasCredentials && isServedAnonymously(request.path, anonymous)) return ANONYMOUS;
  throw apierrors.unauthorized('Unauthorized');
}

function isServedAnonymously(path: string, anonymous: AnonymousRequests): boolean {
  if (typeof anonymous === 'object') return anonymous.paths.includes(path);
  switch (anonymous) {
    case 'none':
      return false;
    case 'all':
      return true;
    case 'health and version':
      return isAnonymousPath(path);
    case 'health, version and cluster-info':
      return path === CLUSTER_INFO || isAnonymousPath(path);
  }
}

/** Reports whether the path is a health endpoint, one of its single checks, or the version. */
function isAnonymousPath(path: string): boolean {
  if (ANONYMOUS_PATHS.has(path)) return true;
  return path.startsWith('/livez/') || path.startsWith('/readyz/') || path.startsWith('/healthz/');
}

const completed = new WeakMap<UserInfo, UserInfo>();

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.groups.includes(AUTHENTICATED_GROUP)) return user;
  let complete = completed.get(user);
  if (complete === undefined) {
    complete = { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
    completed.set(user, complete);
  }
  return complete;
}
