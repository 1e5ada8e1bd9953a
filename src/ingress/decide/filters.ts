// Filters of routes as actions of the proxy.

import type { HeaderFilter, NamedValue, PathModifier, RouteFilter } from '../gateway-api/types.ts';
import type { Backend, HeaderChanges, Mirror, PathChange, Redirect, Rewrite } from '../model.ts';
import { RouteProblem } from './route-problem.ts';

export interface Filters {
  readonly requestHeaders?: HeaderChanges;
  readonly responseHeaders?: HeaderChanges;
  readonly redirect?: Redirect;
  readonly rewrite?: Rewrite;
  readonly mirrors: readonly Mirror[];
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/**
 * Headers that belong to one connection, or that the proxy sets itself. Changing them would change
 * where a message ends.
 */
const PROTECTED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Converts filters to actions. Throws RouteProblem for filters that the proxy does not support, or
 * that exclude each other.
 *
 * @param mirrorTo resolves the back end of a mirror; undefined: the reference does not resolve
 */
export function readFilters(
  filters: readonly RouteFilter[],
  mirrorTo: (filter: NonNullable<RouteFilter['requestMirror']>) => Backend | undefined,
): Filters {
  const result: { -readonly [K in keyof Filters]: Filters[K] } = { mirrors: [] };
  for (const filter of filters) {
    switch (filter.type) {
      case 'RequestHeaderModifier':
        result.requestHeaders = headerChanges(filter.requestHeaderModifier);
        break;
      case 'ResponseHeaderModifier':
        result.responseHeaders = headerChanges(filter.responseHeaderModifier);
        break;
      case 'RequestRedirect':
        result.redirect = redirectOf(filter.requestRedirect ?? {});
        break;
      case 'URLRewrite': {
        const { hostname, path } = filter.urlRewrite ?? {};
        result.rewrite = {
          ...(hostname !== undefined && { hostname }),
          ...(path !== undefined && { path: pathChange(path) }),
        };
        break;
      }
      case 'RequestMirror': {
        const mirror = filter.requestMirror;
        const backend = mirror === undefined ? undefined : mirrorTo(mirror);
        if (mirror === undefined || backend === undefined) break;
        const { numerator, denominator = 100 } = mirror.fraction ?? {
          numerator: mirror.percent ?? 100,
        };
        result.mirrors = [...result.mirrors, { backend, numerator, denominator }];
        break;
      }
      default:
        throw new RouteProblem(
          'UnsupportedValue',
          `filters of type ${JSON.stringify(filter.type)} are not supported`,
        );
    }
  }
  if (result.redirect !== undefined && result.rewrite !== undefined) {
    throw new RouteProblem(
      'IncompatibleFilters',
      'RequestRedirect and URLRewrite cannot be used in one rule',
    );
  }
  return result;
}

function headerChanges({ set = [], add = [], remove = [] }: HeaderFilter = {}): HeaderChanges {
  for (const name of [
    ...set.map((each) => each.name),
    ...add.map((each) => each.name),
    ...remove,
  ]) {
    if (PROTECTED.has(name.toLowerCase())) {
      throw new RouteProblem(
        'UnsupportedValue',
        `the header ${JSON.stringify(name)} cannot be changed`,
      );
    }
  }
  const pairs = (values: readonly NamedValue[]): (readonly [string, string])[] =>
    values.map(({ name, value }) => [name, value]);
  return { set: pairs(set), add: pairs(add), remove: remove.map((name) => name.toLowerCase()) };
}

function redirectOf(redirect: NonNullable<RouteFilter['requestRedirect']>): Redirect {
  const { scheme, hostname, path, port, statusCode = 302 } = redirect;
  if (!REDIRECTS.has(statusCode))
    throw new RouteProblem('UnsupportedValue', `status ${statusCode} is no redirect`);
  return {
    ...(scheme !== undefined && { scheme }),
    ...(hostname !== undefined && { hostname }),
    ...(port !== undefined && { port }),
    ...(path !== undefined && { path: pathChange(path) }),
    status: statusCode,
  };
}

function pathChange({
  type,
  replaceFullPath = '',
  replacePrefixMatch = '',
}: PathModifier): PathChange {
  switch (type) {
    case 'ReplaceFullPath':
      return { type, value: replaceFullPath };
    case 'ReplacePrefixMatch':
      return { type, value: replacePrefixMatch };
    default:
      throw new RouteProblem(
        'UnsupportedValue',
        `path modifiers of type ${JSON.stringify(type)} are not supported`,
      );
  }
}
