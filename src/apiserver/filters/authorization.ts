// Rejects requests that the authorizer does not allow.

import * as apierrors from '#machinery/apierrors.ts';
import type { Attributes, Authorizer, Decision } from '../authorization/authorizer.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';

const DECISION = 'authorization.k8s.io/decision';
const REASON = 'authorization.k8s.io/reason';

export function authorization(authorizer: Authorizer): Filter {
  return (next) => (request) => {
    const attributes = attributesOf(request);
    const proceed = ({ decision, reason }: Decision): Promise<ApiResponse> => {
      if (request.audit !== undefined) {
        request.audit.annotate(DECISION, decision === 'allow' ? 'allow' : 'forbid');
        request.audit.annotate(REASON, reason);
      }
      return decision === 'allow'
        ? next(request)
        : Promise.reject(forbiddenError(attributes, reason));
    };
    const decided = authorizer.authorize(attributes);
    return decided instanceof Promise ? decided.then(proceed) : proceed(decided);
  };
}

export function attributesOf({
  info,
  user,
  query,
}: Pick<ApiRequest, 'info' | 'user' | 'query'>): Attributes {
  const { verb } = info;
  // Requests with the legacy prefix for one object have no selectors, as upstream.
  const ofSeveral =
    info.pathVerb === '' && (verb === 'list' || verb === 'watch' || verb === 'deletecollection');
  return {
    user: user!,
    isResourceRequest: info.isResourceRequest,
    path: info.path,
    verb,
    apiGroup: info.apiGroup,
    apiVersion: info.apiVersion,
    namespace: info.namespace,
    resource: info.resource,
    subresource: info.subresource,
    name: info.name,
    fieldSelector:
      ofSeveral && info.isResourceRequest ? (query.get('fieldSelector') ?? undefined) : undefined,
  };
}

/**
 * The authorizer has denied a request. Upstream's response has a header that other errors do not
 * have (see panic-recovery.ts).
 */
export class DeniedError extends apierrors.StatusError {
  override readonly name = 'DeniedError';
}

/**
 * Returns error 403: `pods is forbidden: User "x" cannot list resource "pods" in API group "" in
 * the namespace "default"`.
 */
export function forbiddenError(attributes: Attributes, reason: string): DeniedError {
  return new DeniedError(forbidden(attributes, reason).status);
}
