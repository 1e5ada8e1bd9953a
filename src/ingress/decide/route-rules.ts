// Rules of HTTPRoutes and GRPCRoutes as rules of the proxy.

import { compilePattern } from '#machinery/text/pattern.ts';
import { DurationError, parseDuration } from '#machinery/text/duration.ts';
import type { RE2JS } from 're2js';
import type {
  BackendRef,
  GrpcRoute,
  GrpcRule,
  HttpRoute,
  HttpRule,
  NamedValue,
  RouteFilter,
} from '../gateway-api/types.ts';
import type { PathMatch, RouteAction, RouteRule, ValueMatch, WeightedBackend } from '../model.ts';
import { type BackendRefContext, resolveBackend, type UnresolvedRef } from './backend-refs.ts';
import { readFilters } from './filters.ts';
import { RouteProblem } from './route-problem.ts';

export interface ConvertedRoute {
  readonly rules: readonly RouteRule[];
  /** The first reference that does not resolve to a back end. */
  readonly unresolved: UnresolvedRef | undefined;
}

/** The status code for a rule without its back end. */
const NO_BACKEND = 500;

/** Converts a route. Throws RouteProblem for features that the proxy does not support. */
export function convertHttpRoute(route: HttpRoute, context: BackendRefContext): ConvertedRoute {
  return convert(route, context, (rule: HttpRule) => {
    refuse(rule.retry, 'retry');
    refuse(rule.sessionPersistence, 'sessionPersistence');
    const matches = rule.matches?.length ? rule.matches : [{}];
    return matches.map(({ path, headers = [], queryParams = [], method }) => ({
      path: pathMatch(path?.type ?? 'PathPrefix', path?.value ?? '/'),
      ...(method !== undefined && { method }),
      headers: headerMatches(headers),
      query: firstOfEachName(queryParams).map((match) => valueMatch(match, match.name)),
    }));
  });
}

/** Converts a route. Throws RouteProblem for features that the proxy does not support. */
export function convertGrpcRoute(route: GrpcRoute, context: BackendRefContext): ConvertedRoute {
  return convert(route, context, (rule: GrpcRule) => {
    refuse(rule.sessionPersistence, 'sessionPersistence');
    const matches = rule.matches?.length ? rule.matches : [{}];
    return matches.map(({ method, headers = [] }) => ({
      path: methodMatch(method ?? {}),
      headers: headerMatches(headers),
      query: [],
    }));
  });
}

type Match = Omit<RouteRule, 'action'>;

interface CommonRule {
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly BackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
}

function convert<Rule extends CommonRule>(
  route: {
    readonly metadata: HttpRoute['metadata'];
    readonly spec: { readonly rules?: readonly Rule[] };
  },
  context: BackendRefContext,
  matchesOf: (rule: Rule) => Match[],
): ConvertedRoute {
  let unresolved: UnresolvedRef | undefined;
  const resolve = (ref: BackendRef): ReturnType<typeof resolveBackend> => {
    const resolved = resolveBackend(ref, context);
    if ('reason' in resolved) unresolved ??= resolved;
    return resolved;
  };
  const actionOf = (rule: Rule): RouteAction => {
    const mirrorTo = ({ backendRef }: { backendRef: BackendRef }): WeightedMirror => {
      const resolved = resolve(backendRef);
      return 'reason' in resolved ? undefined : resolved;
    };
    const filters = readFilters(rule.filters ?? [], mirrorTo);
    const backends = (rule.backendRefs ?? []).map((ref): WeightedBackend => {
      const own = readFilters(ref.filters ?? [], () => {
        throw new RouteProblem(
          'UnsupportedValue',
          'RequestMirror is not supported as a filter of a back end',
        );
      });
      if (own.redirect !== undefined || own.rewrite !== undefined) {
        throw new RouteProblem(
          'UnsupportedValue',
          'a back end can have only filters that change headers',
        );
      }
      const resolved = resolve(ref);
      return {
        weight: ref.weight ?? 1,
        target: 'reason' in resolved ? NO_BACKEND : resolved,
        ...(own.requestHeaders !== undefined && { requestHeaders: own.requestHeaders }),
        ...(own.responseHeaders !== undefined && { responseHeaders: own.responseHeaders }),
      };
    });
    const requestTimeoutMs = timeout(rule.timeouts?.request);
    const backendTimeoutMs = timeout(rule.timeouts?.backendRequest);
    return {
      route: `${context.kind} ${context.namespace}/${route.metadata.name}`,
      ...filters,
      ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      ...(backendTimeoutMs !== undefined && { backendTimeoutMs }),
      backends,
    };
  };
  const rules = (route.spec.rules ?? []).flatMap((rule) => {
    const action = actionOf(rule);
    return matchesOf(rule).map((match) => ({ ...match, action }));
  });
  return { rules, unresolved };
}

type WeightedMirror = Exclude<ReturnType<typeof resolveBackend>, UnresolvedRef> | undefined;

function refuse(value: unknown, field: string): void {
  if (value !== undefined) throw new RouteProblem('UnsupportedValue', `${field} is not supported`);
}

/** Parses a duration. '0s' means no limit. */
function timeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return parseDuration(text) || undefined;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    throw new RouteProblem('UnsupportedValue', `timeouts: ${error.message}`);
  }
}

function pathMatch(type: string, value: string): PathMatch {
  switch (type) {
    case 'Exact':
    case 'PathPrefix':
      return { type, value };
    case 'RegularExpression':
      return { type, value, pattern: regularExpression(value) };
    default:
      throw new RouteProblem(
        'UnsupportedValue',
        `path matches of type ${JSON.stringify(type)} are not supported`,
      );
  }
}

function methodMatch({
  type = 'Exact',
  service,
  method,
}: NonNullable<NonNullable<GrpcRule['matches']>[number]['method']>): PathMatch {
  if (type === 'RegularExpression') {
    return pathMatch(
      type,
      `/${service ? `(?:${service})` : '[^/]+'}/${method ? `(?:${method})` : '[^/]+'}`,
    );
  }
  if (type !== 'Exact')
    throw new RouteProblem(
      'UnsupportedValue',
      `method matches of type ${JSON.stringify(type)} are not supported`,
    );
  if (service && method) return pathMatch('Exact', `/${service}/${method}`);
  if (service) return pathMatch('PathPrefix', `/${service}`);
  if (method) return pathMatch('RegularExpression', `/[^/]+/${method}`);
  return pathMatch('PathPrefix', '/');
}

function headerMatches(headers: readonly NamedValue[]): ValueMatch[] {
  const lowerCase = headers.map((header) => ({ ...header, name: header.name.toLowerCase() }));
  return firstOfEachName(lowerCase).map((match) => valueMatch(match, match.name));
}

/** Returns the first match of each name: later ones do not count. */
function firstOfEachName(matches: readonly NamedValue[]): NamedValue[] {
  return matches.filter(
    ({ name }, index) => matches.findIndex((other) => other.name === name) === index,
  );
}

function valueMatch({ type = 'Exact', value }: NamedValue, name: string): ValueMatch {
  if (type === 'Exact') return { name, value };
  if (type === 'RegularExpression') return { name, value, pattern: regularExpression(value) };
  throw new RouteProblem(
    'UnsupportedValue',
    `matches of type ${JSON.stringify(type)} are not supported`,
  );
}

function regularExpression(value: string): RE2JS {
  const compiled = compilePattern(value);
  if (typeof compiled !== 'string') return compiled;
  throw new RouteProblem(
    'UnsupportedValue',
    `${JSON.stringify(value)} is no regular expression: ${compiled}`,
  );
}
