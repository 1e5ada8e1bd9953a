// Serves discovery: /, /api, /apis and what is below them that is not a resource. With the ETag of a document a client learns that
// nothing has changed.

import { createHash } from 'node:crypto';
import type { APIGroupDiscovery } from '#api/groups/apidiscovery/v2/index.ts';
import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { trimEnd } from '#machinery/text/trim.ts';
import { negotiate } from '../endpoints/negotiation.ts';
import { parseAccept } from '#machinery/serving/accept.ts';
import { notFound } from '../status-routes.ts';
import { FreshObject } from '../registry/encoded-object.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CatalogSnapshot, GroupIndex, VersionIndex } from '../catalog/snapshot.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { apiGroup, apiGroupDiscovery, apiGroupDiscoveryList, apiResourceList } from './documents.ts';

export interface Discovery {
  /** Whether the path is one of discovery's. */
  handles(path: string): boolean;
  readonly handle: Handler;
}

export interface DiscoveryConfig {
  readonly catalog: Catalog;
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

export function createDiscovery({ catalog, otherPaths, externalAddress }: DiscoveryConfig): Discovery {
  const documents = new Documents(otherPaths);

  const handle: Handler = async (request) => {
    const { method, headers } = request;
    const snapshot = catalog.snapshot();
    const path = trimEnd(request.path, '/') || '/';
    if (path === '/') {
      // The document has no kind, so it is always JSON. All methods are served, as upstream.
      const { object } = documents.index(snapshot);
      return { code: 200, body: { kind: 'object', object }, format: { mediaType: JSON_TYPE, pretty: true } };
    }
    if (method !== 'GET' && method !== 'HEAD') throw apierrors.genericStatus(405);
    if (path === '/api' || path === '/apis') {
      const mediaType = wantsAggregated(headers['accept'] ?? '');
      if (mediaType !== undefined) return answerAggregated(request, documents.aggregated(snapshot, path), mediaType);
    }
    if (path === '/api') return answer(request, documentOf(apiVersions(snapshot, externalAddress())));
    const document = documents.at(snapshot, path);
    if (document !== undefined) return answer(request, document);
    // Below what is served a Status, elsewhere no more than there is.
    if (path.startsWith('/api/') || snapshot.group(path.split('/')[2] as string)?.servedWithType === true) {
      throw apierrors.genericStatus(404);
    }
    return notFound();
  };

  return {
    handles: (path) => path === '/' || /^\/api(\/[^/]+)?\/?$/.test(path) || /^\/apis(\/[^/]+){0,2}\/?$/.test(path),
    handle,
  };
}

/**
 * Makes documents at the first request and keeps them with what they describe: a group, a version of one, or a snapshot. After a change
 * those of the groups that have not changed are still there.
 */
class Documents {
  readonly #otherPaths: readonly string[];
  readonly #ofSnapshot = new WeakMap<CatalogSnapshot, Map<string, Document>>();
  readonly #ofGroup = new WeakMap<GroupIndex, Document>();
  readonly #ofVersion = new WeakMap<VersionIndex, Document>();
  /** Parts of the aggregated document. */
  readonly #inAggregated = new WeakMap<GroupIndex, APIGroupDiscovery>();

  constructor(otherPaths: readonly string[]) {
    this.#otherPaths = otherPaths;
  }

  /** The paths below which there is something. */
  index(snapshot: CatalogSnapshot): Document {
    return this.#kept(snapshot, '/', () => {
      const groups = snapshot.published.flatMap(({ name, published }) => {
        const root = name === '' ? '/api' : `/apis/${name}`;
        const versions = published.map(({ version }) => `${root}/${version}`);
        return name === '' ? versions : [root, ...versions];
      });
      return { paths: ['/api', '/apis', '/apis/', ...groups, ...this.#otherPaths].toSorted() };
    });
  }

  /** The groups at '/api' or '/apis', with everything in them. */
  aggregated(snapshot: CatalogSnapshot, path: '/api' | '/apis'): Document {
    return this.#kept(snapshot, `aggregated ${path}`, () => {
      const groups = snapshot.published.filter(({ name }) => (name === '') === (path === '/api'));
      return apiGroupDiscoveryList(groups.map((group) => keptIn(this.#inAggregated, group, () => apiGroupDiscovery(group))));
    });
  }

  /** The document at '/apis' or below '/api/' and '/apis/'. Returns undefined if there is none. */
  at(snapshot: CatalogSnapshot, path: string): Document | undefined {
    const [root, first, second] = path.split('/').slice(1);
    if (root === 'apis' && first === undefined) {
      return this.#kept(snapshot, path, () => {
        const groups = snapshot.published.filter(({ name }) => name !== '').map(apiGroup);
        return { kind: 'APIGroupList', apiVersion: 'v1', groups };
      });
    }
    const group = snapshot.group(root === 'api' ? '' : (first as string));
    if (group === undefined || group.published.length === 0) return undefined;
    if (root === 'apis' && second === undefined) {
      return keptIn(this.#ofGroup, group, () => documentOf({ kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group) }));
    }
    const version = group.publishedVersion((root === 'api' ? first : second) as string);
    return version && keptIn(this.#ofVersion, version, () => documentOf(apiResourceList(version)));
  }

  #kept(snapshot: CatalogSnapshot, key: string, make: () => object): Document {
    const documents = keptIn(this.#ofSnapshot, snapshot, () => new Map<string, Document>());
    let document = documents.get(key);
    if (document === undefined) {
      document = documentOf(make());
      documents.set(key, document);
    }
    return document;
  }
}

function keptIn<K extends object, V>(kept: WeakMap<K, V>, key: K, make: () => V): V {
  let value = kept.get(key);
  if (value === undefined) {
    value = make();
    kept.set(key, value);
  }
  return value;
}

function apiVersions(snapshot: CatalogSnapshot, serverAddress: string): object {
  const versions = (snapshot.group('')?.published ?? []).map(({ version }) => version);
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
