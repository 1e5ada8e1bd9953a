// The target of a request: parsing, redirects and rewrites.

import type { PathChange, PathMatch, Redirect } from '../model.ts';

export interface Target {
  readonly path: string;
  /** The query with its question mark; '' without one. */
  readonly search: string;
}

/** Characters that are allowed in an HTTP/2 path, but not in HTTP/1.1. */
const UNSAFE = /[^\u0021-\u00ff]|\u007f/;

const DOT_SEGMENT = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Returns the target in origin form with dot segments resolved, so that a back end gets the same
 * path that was routed. undefined: the target is malformed.
 */
export function parseTarget(text: string): Target | undefined {
  if (!text.startsWith('/') || text.includes('#') || UNSAFE.test(text)) return undefined;
  const question = text.indexOf('?');
  const path = question < 0 ? text : text.slice(0, question);
  const search = question < 0 ? '' : text.slice(question);
  return { path: DOT_SEGMENT.test(path) ? withoutDotSegments(path) : path, search };
}

/** Splits a target in absolute form, as proxies get it: its authority replaces the Host header. */
export function splitAbsolute(
  text: string,
): { readonly authority: string; readonly rest: string } | undefined {
  const match = /^https?:\/\/([^/?#]+)(.*)$/i.exec(text);
  if (match === null) return undefined;
  const rest = match[2] ?? '';
  return { authority: match[1] ?? '', rest: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Removes dot segments (RFC 3986, section 5.2.4). */
function withoutDotSegments(path: string): string {
  const result: string[] = [];
  const segments = path.slice(1).split('/');
  segments.forEach((segment, index) => {
    const last = index === segments.length - 1;
    const decoded = segment.replaceAll(/%2e/gi, '.');
    if (decoded === '..') result.pop();
    if (decoded !== '..' && decoded !== '.') result.push(segment);
    else if (last) result.push('');
  });
  return `/${result.join('/')}`;
}

/** Returns the path after a change. `match`: the match of the rule, whose prefix is replaced. */
export function changePath(path: string, change: PathChange, match: PathMatch): string {
  if (change.type === 'ReplaceFullPath') return change.value === '' ? '/' : change.value;
  const prefix = match.type === 'PathPrefix' ? match.value.replace(/\/$/, '') : '';
  const rest = path.slice(prefix.length);
  const replacement = change.value.replace(/\/$/, '');
  const joined =
    rest === '' || rest.startsWith('/') ? `${replacement}${rest}` : `${replacement}/${rest}`;
  return joined.startsWith('/') ? joined : `/${joined}`;
}

const WELL_KNOWN_PORTS: Readonly<Record<string, number>> = { http: 80, https: 443 };

/** Returns the Location of a redirect. `port`: the listener's port. */
export function redirectLocation(
  { scheme, hostname, port, path }: Redirect,
  request: {
    readonly scheme: string;
    readonly host: string;
    readonly port: number;
    readonly target: Target;
  },
  match: PathMatch,
): string {
  const newScheme = scheme ?? request.scheme;
  const newPort = port ?? (scheme === undefined ? request.port : WELL_KNOWN_PORTS[scheme]);
  const suffix =
    newPort === undefined || newPort === WELL_KNOWN_PORTS[newScheme] ? '' : `:${newPort}`;
  const { target } = request;
  const newPath = path === undefined ? target.path : changePath(target.path, path, match);
  return `${newScheme}://${hostname ?? request.host}${suffix}${newPath}${target.search}`;
}
