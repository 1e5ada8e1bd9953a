// Serves discovery: /api, /apis and what is below them that is not a resource. The answers are made at the first request and
// kept as bytes; with the ETag of an answer a client learns that nothing has changed.

import * as apierrors from '../../machinery/apierrors.ts';
import type { ServedResource } from '../registry/rest.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { aggregated, apiGroup, apiResourceList, byGroupVersion, documentOf, type Document } from './documents.ts';

export interface Discovery {
  /** Whether the path is one of discovery's. */
  handles(path: string): boolean;
  readonly handle: Handler;
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const JSON_TYPE = 'application/json';

export function createDiscovery(resources: readonly ServedResource[]): Discovery {
  const groups = byGroupVersion(resources);
  const documents = new Map<string, Document>();
  const named = [...groups].filter(([name]) => name !== '');

  /** The object at a path; undefined: nothing is there. */
  const make = (path: string, asAggregated: boolean): unknown => {
    const segments = path.split('/').filter((segment) => segment !== '');
    const [root, first, second] = segments;
    if (root === 'api') {
      const core = groups.get('');
      if (core === undefined) return undefined;
      if (segments.length === 1) {
        if (asAggregated) return aggregated([['', core]]);
        return { kind: 'APIVersions', versions: [...core.keys()], serverAddressByClientCIDRs: [] };
      }
      const list = segments.length === 2 ? core.get(first as string) : undefined;
      return list === undefined ? undefined : apiResourceList('', first as string, list);
    }
    if (segments.length === 1) {
      if (asAggregated) return aggregated(named);
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(([name, versions]) => apiGroup(name, versions.keys())) };
    }
    const versions = groups.get(first as string);
    if (versions === undefined) return undefined;
    if (segments.length === 2) return { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(first as string, versions.keys()) };
    const list = segments.length === 3 ? versions.get(second as string) : undefined;
    return list === undefined ? undefined : apiResourceList(first as string, second as string, list);
  };

  const handle = (request: ApiRequest): Promise<ApiResponse> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return Promise.reject(apierrors.methodNotSupported({ group: '', resource: 'discovery' }, request.method.toLowerCase()));
    }
    const path = request.path.replace(/\/+$/, '');
    const asAggregated = (path === '/api' || path === '/apis') && acceptsAggregated(request.headers['accept'] ?? '');
    const key = asAggregated ? `${path} aggregated` : path;
    let document = documents.get(key);
    if (document === undefined) {
      const object = make(path, asAggregated);
      if (object === undefined)
        return Promise.reject(
          apierrors.genericServerResponse({ code: 404, verb: 'get', serverMessage: '', isUnexpectedResponse: false }),
        );
      document = documentOf(object);
      documents.set(key, document);
    }
    const contentType = asAggregated ? AGGREGATED : JSON_TYPE;
    const headers = { etag: document.etag, vary: 'Accept' };
    if (request.headers['if-none-match'] === document.etag)
      return Promise.resolve({ code: 304, headers, body: { kind: 'none' } });
    return Promise.resolve({ code: 200, headers, body: { kind: 'bytes', contentType, bytes: document.bytes } });
  };

  return {
    handles: (path) => /^\/api(\/[^/]+)?\/?$/.test(path) || /^\/apis(\/[^/]+){0,2}\/?$/.test(path),
    handle,
  };
}

/** Whether the first JSON form that the client accepts is the aggregated one. */
function acceptsAggregated(accept: string): boolean {
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (type !== JSON_TYPE && type !== '*/*') continue;
    const given = new Map(parameters.map((parameter) => parameter.split('=', 2) as [string, string]));
    if (given.get('as') === undefined) return false;
    if (given.get('g') === 'apidiscovery.k8s.io' && given.get('v') === 'v2' && given.get('as') === 'APIGroupDiscoveryList')
      return true;
  }
  return false;
}
