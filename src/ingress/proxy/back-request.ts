// Converts a client's request for its back end, and the response's headers for the client:
// forwarded headers, filters, rewrites.

import type { RouteAction, WeightedBackend } from '../model.ts';
import type { BackRequest } from './back.ts';
import type { FrontRequest } from './front.ts';
import { changeHeaders, endToEnd, headerValue, withForwarded } from './headers.ts';
import type { RoutedTarget } from './route-request.ts';
import { changePath } from './target.ts';

/**
 * Returns the request for the back end. `trusted`: the client is a proxy whose forwarded headers
 * are kept.
 */
export function backRequestOf(
  front: FrontRequest,
  { rule, target, authority }: RoutedTarget,
  chosen: WeightedBackend,
  trusted: boolean,
): BackRequest {
  const { action } = rule;
  let headers = withForwarded(endToEnd(front.headers), {
    remoteAddress: front.remoteAddress,
    scheme: front.scheme,
    authority,
    port: front.localPort,
    trusted,
  });
  for (const changes of [action.requestHeaders, chosen.requestHeaders]) {
    if (changes !== undefined) headers = changeHeaders(headers, changes);
  }
  const path =
    action.rewrite?.path === undefined
      ? target.path
      : changePath(target.path, action.rewrite.path, rule.path);
  return {
    method: front.method,
    target: `${path}${target.search}`,
    authority: action.rewrite?.hostname ?? authority,
    headers: withoutOwn(headers),
    hasBody: front.hasBody,
    trailers: headerValue(front.headers, 'te')?.includes('trailers') === true,
  };
}

/** Returns the headers of a response after the filters of the rule and of the back end. */
export function filteredResponse(
  headers: readonly string[],
  action: RouteAction,
  chosen: WeightedBackend,
): readonly string[] {
  let result = headers;
  for (const changes of [action.responseHeaders, chosen.responseHeaders]) {
    if (changes !== undefined) result = changeHeaders(result, changes);
  }
  return result;
}

/** Returns the list without the headers that the back end clients write themselves. */
function withoutOwn(list: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    if (list[i] !== 'host' && list[i] !== 'expect') result.push(list[i]!, list[i + 1]!);
  }
  return result;
}
