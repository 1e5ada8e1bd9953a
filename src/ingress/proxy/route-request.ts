// The first half of an exchange, before a connection to a back end: parses a request and finds its
// rule.

import { hostOf } from '../hostnames.ts';
import type { RouteRule } from '../model.ts';
import type { Router } from '../routing/router.ts';
import { countHeader, type HeaderList, headerValue } from './headers.ts';
import { parseTarget, splitAbsolute, type Target } from './target.ts';

export interface RoutedTarget {
  readonly rule: RouteRule;
  readonly target: Target;
  readonly authority: string;
  readonly host: string;
}

export interface Refusal {
  readonly status: number;
  readonly text: string;
}

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  readonly headers: HeaderList;
  /** See Router.route. */
  readonly serverName: string | undefined;
}

/** Methods are tokens (RFC 9110, section 9.1). */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

/** Returns the rule for a request, or the response for a request without one. */
export function routeRequest(head: RequestHead, router: Router): RoutedTarget | Refusal {
  const { method, headers } = head;
  const absolute = head.target.startsWith('/') ? undefined : splitAbsolute(head.target);
  const authority = absolute?.authority ?? head.authority;
  const host = hostOf(authority);
  if (host === undefined || countHeader(headers, 'host') > 1)
    return { status: 400, text: 'malformed Host header' };
  if (!METHOD.test(method)) return { status: 400, text: 'malformed method' };
  const target = parseTarget(absolute?.rest ?? head.target);
  if (target === undefined) return { status: 400, text: 'malformed request target' };
  const rule = router.route(
    {
      host,
      method,
      path: target.path,
      query: target.search.slice(1),
      header: (name) => headerValue(headers, name),
    },
    head.serverName,
  );
  if (rule === 'misdirected') return { status: 421, text: 'this connection is not for that host' };
  if (rule === undefined) return { status: 404, text: 'no route' };
  return { rule, target, authority, host };
}
