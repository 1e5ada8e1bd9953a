// The order in which rules are tried.

import type { PathMatch, RouteRule } from '../model.ts';

const PATH_TYPES: Readonly<Record<PathMatch['type'], number>> = {
  Exact: 0,
  RegularExpression: 1,
  PathPrefix: 2,
};

/**
 * Returns the rules in the Gateway API's order of precedence: exact paths, the longest path, a
 * method, the most headers, the most query parameters, and then the given order: rules of older
 * objects first. Ingress has the same order for its paths. Regular expressions, which the
 * specification leaves open, precede prefixes.
 */
export function inPrecedence(rules: readonly RouteRule[]): RouteRule[] {
  return [...rules].sort(
    (a, b) =>
      PATH_TYPES[a.path.type] - PATH_TYPES[b.path.type] ||
      b.path.value.length - a.path.value.length ||
      Number(a.method === undefined) - Number(b.method === undefined) ||
      b.headers.length - a.headers.length ||
      b.query.length - a.query.length,
  );
}
