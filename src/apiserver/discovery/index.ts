// Serves discovery: /, /api, /apis and what is below them that is not a resource. The answers are made at the first request
// and kept as bytes; with the ETag of an answer a client learns that nothing has changed.

import { createHash } from 'node:crypto';
import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { trimEnd } from '#machinery/text/trim.ts';
import { negotiate } from '../endpoints/negotiation.ts';
import { parseAccept } from '#machinery/serving/accept.ts';
import { notFound } from '../status-routes.ts';
import { FreshObject } from '../registry/encoded-object.ts';
import type { Kind } from '../catalog/kind.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { aggregated, apiGroup, apiResourceList, byGroupVersion } from './documents.ts';

export interface Discovery {
  /** Whether the path is one of discovery's. */
  handles(path: string): boolean;
  readonly handle: Handler;
}

export interface DiscoveryConfig {
  readonly resources: readonly Kind[];
  /** What else is served, for the index: '/version'. */
  readonly otherPaths: readonly string[];
  /** Where clients reach the server: 'HOST:PORT'. */
  readonly externalAddress: () => string;
}

const JSON_TYPE = 'application/json';
/** What makes all groups at once of a media type. */
const AGGREGATED = { g: 'apidiscovery.k8s.io', v: 'v2', as: 'APIGroupDiscoveryList' } as const;
const AGGREGATED_SUFFIX = Object.entries(AGGREGATED)
  .map(([key, value]) => `;${key}=${value}`)
  .join('');

interface Document {
  readonly object: FreshObject;
  readonly etag: string;
}

export function createDiscovery({ resources, otherPaths, externalAddress }: DiscoveryConfig): Discovery {
  const groups = byGroupVersion(resources);
  const named = [...groups].filter(([name]) => name !== '');
  const core = groups.get('');

  const index = (): object => {
    const versions = [...(core?.keys() ?? [])].map((version) => `/api/${version}`);
    const groupPaths = named.flatMap(([name, list]) => [
      `/apis/${name}`,
      ...[...list.keys()].map((version) => `/apis/${name}/${version}`),
    ]);
    return { paths: ['/api', ...versions, '/apis', '/apis/', ...groupPaths, ...otherPaths].toSorted() };
  };

  /** The object at a path; undefined: nothing is there. */
  const make = (path: string): object | undefined => {
    const [root, first, second] = path.split('/').slice(1);
    if (root === 'api') {
      if (first === undefined || core === undefined) return undefined;
      const list = core.get(first);
      return list && apiResourceList('', first, list);
    }
    if (first === undefined) {
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: named.map(([name, versions]) => apiGroup(name, versions.keys())) };
    }
    const versions = groups.get(first);
    if (versions === undefined) return undefined;
    if (second === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(first, versions.keys()) };
    const list = versions.get(second);
    return list && apiResourceList(first, second, list);
  };

  const documents = new Map<string, Document | undefined>();
  const documentAt = (key: string, object: () => object | undefined): Document | undefined => {
    if (!documents.has(key)) {
      const made = object();
      documents.set(key, made && documentOf(made));
    }
    return documents.get(key);
  };

  const handle: Handler = async (request) => {
    const { method, headers } = request;
    const path = trimEnd(request.path, '/') || '/';
    if (path === '/') {
      // The document has no kind, so it is always JSON. All methods are served, as upstream.
      const document = documentAt(path, index) as Document;
      return { code: 200, body: { kind: 'object', object: document.object }, format: { mediaType: JSON_TYPE, pretty: true } };
    }
    if (method !== 'GET' && method !== 'HEAD') throw apierrors.genericStatus(405);
    if (path === '/api' || path === '/apis') {
      const mediaType = wantsAggregated(headers['accept'] ?? '');
      if (mediaType !== undefined) {
        const list = path === '/apis' ? named : core === undefined ? [] : ([['', core]] as const);
        const document = documentAt(`${path}${AGGREGATED_SUFFIX}`, () => aggregated(list)) as Document;
        return answerAggregated(request, document, mediaType);
      }
    }
    if (path === '/api') return answer(request, documentOf(apiVersions([...(core?.keys() ?? [])], externalAddress())));
    const document = isPlausible(path, groups) ? documentAt(path, () => make(path)) : undefined;
    if (document !== undefined) return answer(request, document);
    // Below what is served a Status, elsewhere no more than there is.
    if (path.startsWith('/api/') || groups.has(path.split('/')[2] as string)) throw apierrors.genericStatus(404);
    return notFound();
  };

  return {
    handles: (path) => path === '/' || /^\/api(\/[^/]+)?\/?$/.test(path) || /^\/apis(\/[^/]+){0,2}\/?$/.test(path),
    handle,
  };
}

/** Not every path that somebody asks for is to be remembered. */
function isPlausible(path: string, groups: ReadonlyMap<string, ReadonlyMap<string, unknown>>): boolean {
  const [root, first = '', second] = path.split('/').slice(1);
  if (root === 'api') return groups.get('')?.has(first) === true;
  return first === '' || (groups.has(first) && (second === undefined || groups.get(first)?.has(second) === true));
}

function apiVersions(versions: readonly string[], serverAddress: string): object {
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }] };
}

function documentOf(made: object): Document {
  const object = new FreshObject(made);
  return { object, etag: `"${createHash('sha256').update(object.jsonLine()).digest('hex').toUpperCase()}"` };
}

function answer(request: ApiRequest, { object }: Document): ApiResponse {
  const { format } = negotiate(request, { transforms: false });
  return { code: 200, body: { kind: 'object', object }, format };
}

function answerAggregated(request: ApiRequest, { object, etag }: Document, mediaType: string): ApiResponse {
  const headers = { etag, vary: 'Accept', 'cache-control': 'public' };
  if (request.headers['if-none-match'] === etag) return { code: 304, headers, body: { kind: 'none' } };
  const bytes = mediaType === JSON_TYPE ? object.jsonLine() : object.protobuf();
  return { code: 200, headers, body: { kind: 'bytes', contentType: mediaType + AGGREGATED_SUFFIX, bytes } };
}

/** The media type, if what the client wants most of what is served is all groups at once. */
function wantsAggregated(accept: string): string | undefined {
  for (const { type, parameters } of parseAccept(accept)) {
    const mediaType = [JSON_TYPE, PROTOBUF_CONTENT_TYPE].find((served) => type === served || type === '*/*');
    if (mediaType === undefined) continue;
    if (!parameters.has('as')) return undefined;
    if (Object.entries(AGGREGATED).every(([key, value]) => parameters.get(key) === value)) return mediaType;
  }
  return undefined;
}
