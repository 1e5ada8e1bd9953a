// Parses the method and path of a request by Kubernetes' grammar of paths.
//
//   /api/v1/[watch/]namespaces/NS/RESOURCE[/NAME[/SUBRESOURCE[/…]]]      the core group
//   /apis/GROUP/VERSION/[watch/][namespaces/NS/]RESOURCE[/NAME[/…]]      all others
//
// Any other path is a non-resource request.

import * as apierrors from '#machinery/apierrors.ts';
import * as fields from '#machinery/selectors/fields.ts';
import { MAX_SELECTOR_LENGTH, parseBoolean } from '../endpoints/query-options.ts';
import type { ApiRequest, Filter, RequestInfo } from '../request.ts';

const VERB_OF_METHOD: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/**
 * Subresources of the Namespace itself. Any other segment after a namespace's name is a resource in
 * that namespace.
 */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize']);

export const requestInfo: Filter = (next) => (request) => {
  try {
    request.info = parseRequestInfo(request);
  } catch (error) {
    return Promise.reject(error);
  }
  return next(request);
};

/**
 * A cache of the results for creates, by path: such paths have no name at their end, so there are
 * few.
 */
const ofCreates = new Map<string, RequestInfo>();
const MAX_CREATES = 1000;
const MAX_KEPT_PATH = 500;

/** Parses the request. Throws BadRequest for a path that cannot be decoded. */
export function parseRequestInfo(
  request: Pick<ApiRequest, 'method' | 'path' | 'query'>,
): RequestInfo {
  if (request.method !== 'POST') return parse(request);
  const { path } = request;
  const cached = ofCreates.get(path);
  if (cached !== undefined) return cached;
  if (path.length > MAX_KEPT_PATH) return parse(request);
  // Copies the path, because a substring would keep the whole request target in memory.
  const copy = Buffer.from(path, 'utf8').toString('utf8');
  const info = parse({ method: request.method, path: copy, query: request.query });
  if (info.isResourceRequest && info.name === '') {
    if (ofCreates.size === MAX_CREATES) ofCreates.clear();
    ofCreates.set(copy, info);
  }
  return info;
}

function parse({
  method,
  path,
  query,
}: Pick<ApiRequest, 'method' | 'path' | 'query'>): RequestInfo {
  const parts = splitPath(path);
  const first = parts[0];
  if (first === 'api' ? parts.length < 3 : first !== 'apis' || parts.length < 4)
    return nonResource(path, method);

  let at = 1;
  const apiGroup = first === 'api' ? '' : parts[at++]!;
  const apiVersion = parts[at++]!;
  let verb = VERB_OF_METHOD[method] ?? '';
  let pathVerb: RequestInfo['pathVerb'] = '';
  const prefix = parts[at];
  if (prefix === 'watch' || prefix === 'proxy') {
    // A legacy form: the prefix is the verb, whatever the method is. No 'proxy' path is served any
    // more.
    verb = pathVerb = prefix;
    at++;
    if (at >= parts.length) return nonResource(path, method);
  }

  let namespace = '';
  let inNamespace = false;
  if (parts[at] === 'namespaces' && parts.length > at + 1) {
    namespace = parts[at + 1]!;
    const inside = parts[at + 2];
    if (inside !== undefined && !NAMESPACE_SUBRESOURCES.has(inside)) {
      inNamespace = true;
      at += 2;
    }
  }
  const resource = parts[at] ?? '';
  const pathName = parts[at + 1] ?? '';
  // Upstream parses no subresource after the prefix 'proxy'.
  const subresource = pathVerb === 'proxy' ? '' : (parts[at + 2] ?? '');
  const rest = parts.slice(at + 3);

  let name = pathName;
  if (name === '') {
    if (verb === 'get') {
      verb = wantsWatch(query) ? 'watch' : 'list';
      // A permission for one object by its name includes lists and watches of that object alone.
      name = nameInSelector(query);
    } else if (verb === 'delete') verb = 'deletecollection';
  }
  return {
    isResourceRequest: true,
    path,
    verb,
    apiGroup,
    apiVersion,
    namespace,
    inNamespace,
    resource,
    subresource,
    name,
    pathName,
    pathVerb,
    parts: rest,
  };
}

function nonResource(path: string, method: string): RequestInfo {
  return {
    isResourceRequest: false,
    path,
    verb: method.toLowerCase(),
    apiGroup: '',
    apiVersion: '',
    namespace: '',
    inNamespace: false,
    resource: '',
    subresource: '',
    name: '',
    pathName: '',
    pathVerb: '',
    parts: [],
  };
}

function splitPath(path: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < path.length;) {
    const slash = path.indexOf('/', start);
    const end = slash < 0 ? path.length : slash;
    if (end > start) parts.push(decode(path.slice(start, end)));
    start = end + 1;
  }
  return parts;
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw apierrors.badRequest(
      `the path has an invalid percent-encoding: ${JSON.stringify(segment)}`,
    );
  }
}

function wantsWatch(query: URLSearchParams): boolean {
  return parseBoolean(query, 'watch') ?? false;
}

function nameInSelector(query: URLSearchParams): string {
  const selector = query.get('fieldSelector');
  if (
    selector === null ||
    selector.length > MAX_SELECTOR_LENGTH ||
    !selector.includes('metadata.name')
  )
    return '';
  try {
    return fields.parseSelector(selector).requiresExactMatch('metadata.name') ?? '';
  } catch {
    // The list itself fails with the reason.
    return '';
  }
}

/**
 * Reports whether a request is long-running: it has no deadline and does not count as in flight.
 */
export function isLongRunning(info: RequestInfo): boolean {
  if (!info.isResourceRequest) return false;
  if (info.verb === 'watch' || info.verb === 'proxy') return true;
  switch (info.subresource) {
    case 'attach':
    case 'exec':
    case 'portforward':
    case 'proxy':
    case 'log':
      return true;
    default:
      return false;
  }
}
