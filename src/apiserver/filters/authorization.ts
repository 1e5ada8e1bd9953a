// Rejects requests that the authorizer does not allow.

import * as apierrors from '#machinery/apierrors.ts';
import { NOSNIFF } from '#machinery/serving/health.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Attributes, Authorizer, Decision } from '../authorization/authorizer.ts';
import { forbidden } from '../authorization/forbidden.ts';
import type { ApiRequest, ApiResponse, Filter } from '../request.ts';

const DECISION = 'authorization.k8s.io/decision';
const REASON = 'authorization.k8s.io/reason';
const INTERNAL_ERROR = 500;

export function authorization(authorizer: Authorizer): Filter {
  return (next) => (request) => {
    const attributes = attributesOf(request);
    const proceed = ({ decision, reason, error }: Decision): Promise<ApiResponse> => {
      // An authorizer may allow a request that another one could not evaluate.
      if (error !== undefined && decision !== 'allow') {
        request.audit?.annotate(REASON, 'internal error');
        return Promise.resolve(internalError(request, error));
      }
      if (request.audit !== undefined) {
        request.audit.annotate(DECISION, decision === 'allow' ? 'allow' : 'forbid');
        request.audit.annotate(REASON, reason);
      }
      return decision === 'allow'
        ? next(request)
        : Promise.reject(forbiddenError(attributes, reason));
    };
    const decided = authorizer.authorize(attributes, request);
    return decided instanceof Promise ? decided.then(proceed) : proceed(decided);
  };
}

/** Returns upstream's response: a line of text. */
function internalError({ path, query }: ApiRequest, error: string): ApiResponse {
  const search = query.size === 0 ? '' : `?${query.toString()}`;
  const text = `Internal Server Error: ${quote(`${path}${search}`)}: ${error}`;
  return {
    code: INTERNAL_ERROR,
    body: { kind: 'text', contentType: 'text/plain; charset=utf-8', text: `${escapeHtml(text)}\n` },
    headers: NOSNIFF,
  };
}

/** Escapes what a browser that guesses the type could take for a page, as upstream. */
const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

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
    ...(ofSeveral && info.isResourceRequest && selectorsOf(query)),
  };
}

function selectorsOf(query: URLSearchParams): Pick<Attributes, 'fieldSelector' | 'labelSelector'> {
  const fieldSelector = query.get('fieldSelector') ?? undefined;
  const labelSelector = query.get('labelSelector') ?? undefined;
  return { fieldSelector, labelSelector };
}

/**
 * Authorization or impersonation has denied a request. Upstream's response has a header that other
 * errors do not have (see panic-recovery.ts).
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
