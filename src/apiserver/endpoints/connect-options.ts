// Converts the query of a connect request to Kubernetes' object of options and back:
// `?command=ls&stdin=true` is a PodExecOptions. Admission may change the object, and the request
// continues with the changed options.

import type { ObjectCodec, QueryCodec } from '#api/machinery/codec/object-codec.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ApiRequest, RequestInfo } from '../request.ts';

/** The option of a proxy that is a part of the request's path. */
const PATH = 'path';

/**
 * Returns the options of a request. Undefined: the kind cannot be read from a query. Other
 * parameters of the query are left out.
 */
export function connectOptions(
  { kind, query }: ObjectCodec,
  request: ApiRequest,
): object | undefined {
  if (query === undefined) return undefined;
  // The option `path` of a proxy is the rest of the request's path.
  const options = query.decode((name) =>
    name === PATH ? [subpath(request.info)] : request.query.getAll(name),
  );
  return { kind: kind.kind, apiVersion: apiVersionOf(kind), ...options };
}

/**
 * Returns the request with the given options. Other parameters stay. Throws StatusError (400) for
 * an invalid path of a proxy.
 */
export function requestWithOptions(
  { query: codec }: ObjectCodec,
  request: ApiRequest,
  options: object,
): ApiRequest {
  if (codec === undefined) return request;
  const optionFields = options as Readonly<Record<string, unknown>>;
  const query = queryWithOptions(codec, request.query, optionFields);
  const path = optionFields[PATH];
  const isProxy = codec.parameters.some(({ name }) => name === PATH);
  const { info } = request;
  if (!isProxy || path === subpath(info)) return derived(request, { query });
  return derived(request, { query, ...pathOf(request, typeof path === 'string' ? path : '') });
}

function queryWithOptions(
  codec: QueryCodec,
  before: URLSearchParams,
  options: Readonly<Record<string, unknown>>,
): URLSearchParams {
  const query = new URLSearchParams(before);
  for (const { name } of codec.parameters) {
    if (name === PATH) continue;
    query.delete(name);
    const value = options[name];
    for (const item of Array.isArray(value) ? value : [value])
      if (item !== undefined) query.append(name, String(item));
  }
  return query;
}

/** Returns path and info of a request for another path behind the proxy. */
function pathOf(
  { info, path }: ApiRequest,
  wanted: string,
): { readonly path: string; readonly info: RequestInfo } {
  const parts = wanted.split('/').filter((part) => part !== '');
  if (parts.some((part) => part === '.' || part === '..'))
    throw apierrors.badRequest(`invalid path ${JSON.stringify(wanted)}`);
  const own = subpath(info);
  const encode = (text: string): string => text.split('/').map(encodeURIComponent).join('/');
  // The path as it was sent ends with the path behind the proxy.
  const prefix = path
    .split('/')
    .slice(0, path.split('/').length - own.split('/').length + 1)
    .join('/');
  const shown = wanted === '' || wanted.startsWith('/') ? wanted : `/${wanted}`;
  const infoPath = `${info.path.slice(0, info.path.length - own.length)}${shown}`;
  return { path: `${prefix}${encode(shown)}`, info: { ...info, path: infoPath, parts } };
}

/**
 * Returns a request with a few different members. All others are those of the original, even when
 * they change later.
 */
function derived(
  request: ApiRequest,
  members: Partial<Pick<ApiRequest, 'query' | 'path' | 'info'>>,
): ApiRequest {
  return new Proxy(request, {
    get: (target, name) => {
      if (name in members) return members[name as keyof typeof members];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Returns the path behind the proxy: '/a/b/' for '/api/v1/namespaces/x/pods/y/proxy/a/b/'. */
function subpath(info: RequestInfo): string {
  const rest = info.parts.length === 0 ? '' : `/${info.parts.join('/')}`;
  return info.path.endsWith('/') && !rest.endsWith('/') ? `${rest}/` : rest;
}
