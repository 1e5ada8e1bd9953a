// What somebody who connects asks for, as the object that Kubernetes makes of it: PodExecOptions from `?command=ls&stdin=true`.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import type { ApiRequest } from '../request.ts';

/** Undefined: the kind has no form as a query. What the query has beyond the kind's fields is left out. */
export function connectOptions({ kind, query }: ObjectCodec, request: ApiRequest): object | undefined {
  if (query === undefined) return undefined;
  // Of a proxy the path is the rest of the request's own.
  const options = query.decode((name) => (name === 'path' ? [subpath(request)] : request.query.getAll(name)));
  return { kind: kind.kind, apiVersion: apiVersionOf(kind), ...options };
}

/** '/a/b/' of '/api/v1/namespaces/x/pods/y/proxy/a/b/'. */
function subpath({ info }: ApiRequest): string {
  const rest = info.parts.length === 0 ? '' : `/${info.parts.join('/')}`;
  return info.path.endsWith('/') && !rest.endsWith('/') ? `${rest}/` : rest;
}
