// What somebody who connects asks for, as the object that Kubernetes makes of it: PodExecOptions from `?command=ls&stdin=true`.

import { decodeObject } from '#api/machinery/codec/index.ts';
import type { GroupVersionKind, TypeRef } from '#api/machinery/descriptor.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import { messageOfKind } from '#api/machinery/schema/compile.ts';
import type { ApiRequest } from '../request.ts';

/** Undefined: the kind has no description. What the query has beyond the kind's fields is left out. */
export function connectOptions(kind: GroupVersionKind, request: ApiRequest): object | undefined {
  const apiVersion = apiVersionOf(kind);
  const message = messageOfKind(apiVersion, kind.kind);
  if (message === undefined) return undefined;
  const given: Record<string, unknown> = {};
  for (const { name, type } of message.fields) {
    // Of a proxy the path is the rest of the request's own.
    const values = name === 'path' ? [subpath(request)] : request.query.getAll(name);
    if (values.length > 0) given[name] = valueOf(type, values);
  }
  return { kind: kind.kind, apiVersion, ...decodeObject(message, given).object };
}

function valueOf(type: TypeRef, values: readonly string[]): unknown {
  if (type.kind === 'list') return values.map((value) => valueOf(type.items, [value]));
  const [value = ''] = values;
  if (type.kind !== 'scalar') return value;
  switch (type.scalar) {
    case 'bool':
      return value !== '0' && value.toLowerCase() !== 'false';
    case 'int32':
    case 'int64': {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : 0;
    }
    default:
      return value;
  }
}

/** '/a/b/' of '/api/v1/namespaces/x/pods/y/proxy/a/b/'. */
function subpath({ info }: ApiRequest): string {
  const rest = info.parts.length === 0 ? '' : `/${info.parts.join('/')}`;
  return info.path.endsWith('/') && !rest.endsWith('/') ? `${rest}/` : rest;
}
