// Serves discovery: /, /api, /apis and the paths below them that are not resources. Documents have
// an ETag, so that clients can revalidate cached ones.

import { createHash } from 'node:crypto';
import type { APIGroupDiscovery } from '#api/groups/apidiscovery/v2/index.ts';
import { formatYamlLazily } from '#api/machinery/codec/format-yaml-lazily.ts';
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
import type { AggregatedGroups } from './aggregated-groups.ts';
import { apiGroupDiscovery, apiGroupDiscoveryList, apiResourceList } from './documents.ts';
import { listedGroup, listedGroups, mergedGroups, NO_AGGREGATION } from './merged.ts';

export interface Discovery {
  /** Reports whether the path belongs to discovery. */
  handles(path: string): boolean;
  readonly handle: Handler;
}

export interface DiscoveryConfig {
  readonly catalog: Catalog;
  /** Other paths of the server for the index, such as '/version'. */
  readonly otherPaths: readonly string[];
  /** Returns the server's external address, 'HOST:PORT'. */
  readonly externalAddress: () => string;
  /**
   * Returns the groups of other servers: the same value until they change. Default: there are no
   * other servers.
   */
  readonly aggregated?: () => AggregatedGroups;
}

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
/** The parameters of a media type that request aggregated discovery. */
const AGGREGATED = { g: 'apidiscovery.k8s.io', v: 'v2', as: 'APIGroupDiscoveryList' } as const;
const AGGREGATED_SUFFIX = Object.entries(AGGREGATED)
  .map(([key, value]) => `;${key}=${value}`)
  .join('');

interface Document {
  readonly object: FreshObject;
  readonly etag: string;
}

export function createDiscovery(config: DiscoveryConfig): Discovery {
  const { catalog, otherPaths, externalAddress, aggregated = () => NO_AGGREGATION } = config;
  const documents = new Documents(otherPaths);

  const handle: Handler = async (request) => {
    const { method, headers } = request;
    const snapshot = catalog.snapshot();
    const others = aggregated();
    const path = trimEnd(request.path, '/') || '/';
    if (path === '/') {
      // The document has no kind, so it is always JSON. All methods are served, as upstream.
      const { object } = documents.index(snapshot, others);
      return {
        code: 200,
        body: { kind: 'object', object },
        format: { mediaType: JSON_TYPE, pretty: true },
      };
    }
    if (method !== 'GET' && !(method === 'HEAD' && answersHead(snapshot, path)))
      throw apierrors.genericStatus(405);
    if (path === '/api' || path === '/apis') {
      const mediaType = wantsAggregated(headers['accept'] ?? '');
      if (mediaType !== undefined)
        return answerAggregated(request, documents.aggregated(snapshot, others, path), mediaType);
    }
    if (path === '/api')
      return documentResponse(request, documentOf(apiVersions(snapshot, externalAddress())));
    const document = documents.at(snapshot, others, path);
    if (document !== undefined) return documentResponse(request, document);
    // Below served paths the response is a Status, elsewhere plain text.
    if (path.startsWith('/api/') || snapshot.group(path.split('/')[2]!)?.servedWithType === true) {
      throw apierrors.genericStatus(404);
    }
    return notFound();
  };

  return {
    handles: (path) =>
      path === '/' || /^\/api(\/[^/]+)?\/?$/.test(path) || /^\/apis(\/[^/]+){0,2}\/?$/.test(path),
    handle,
  };
}

/**
 * Reports whether the document at the path may be requested by HEAD. As upstream, the core group and
 * versions of typed kinds have GET only.
 */
function answersHead(snapshot: CatalogSnapshot, path: string): boolean {
  const [root, group = '', version] = path.split('/').slice(1);
  if (root === 'api') return false;
  return version === undefined || snapshot.group(group)?.version(version)?.hasTypedKind !== true;
}

/**
 * Builds documents at the first request, and caches them under their source: a group, a version, or
 * a snapshot. After a change, the documents of unchanged groups are still cached.
 */
class Documents {
  readonly #otherPaths: readonly string[];
  readonly #ofSnapshot = new WeakMap<
    CatalogSnapshot,
    WeakMap<AggregatedGroups, Map<string, Document>>
  >();
  readonly #ofVersion = new WeakMap<VersionIndex, Document>();
  /** Parts of the aggregated document. */
  readonly #inAggregated = new WeakMap<GroupIndex, APIGroupDiscovery>();

  constructor(otherPaths: readonly string[]) {
    this.#otherPaths = otherPaths;
  }

  /** Returns the index: the paths of the server. */
  index(snapshot: CatalogSnapshot, others: AggregatedGroups): Document {
    return this.#kept(snapshot, others, '/', () => {
      const remote = others.remote.filter(({ group }) => group !== '');
      const remotePaths = remote.flatMap(({ group, version }) => [
        `/apis/${group}`,
        `/apis/${group}/${version}`,
      ]);
      const groups = snapshot.published.flatMap(({ name, published }) => {
        const root = name === '' ? '/api' : `/apis/${name}`;
        const versions = published.map(({ version }) => `${root}/${version}`);
        return name === '' ? versions : [root, ...versions];
      });
      const paths = new Set([
        '/api',
        '/apis',
        '/apis/',
        ...groups,
        ...remotePaths,
        ...this.#otherPaths,
      ]);
      return { paths: [...paths].toSorted() };
    });
  }

  /** Returns the aggregated document of '/api' or '/apis'. */
  aggregated(
    snapshot: CatalogSnapshot,
    others: AggregatedGroups,
    path: '/api' | '/apis',
  ): Document {
    return this.#kept(snapshot, others, `aggregated ${path}`, () => {
      const groups = snapshot.published.filter(({ name }) => (name === '') === (path === '/api'));
      const items = groups.map((group) =>
        keptIn(this.#inAggregated, group, () => apiGroupDiscovery(group)),
      );
      return apiGroupDiscoveryList(
        path === '/api' ? items : mergedGroups(items, withoutCore(others)),
      );
    });
  }

  /** Returns the document at '/apis' or below '/api/' and '/apis/'; undefined if there is none. */
  at(snapshot: CatalogSnapshot, others: AggregatedGroups, path: string): Document | undefined {
    const [root, first, second] = path.split('/').slice(1);
    if (root === 'apis' && first === undefined) {
      return this.#kept(snapshot, others, path, () => {
        return { kind: 'APIGroupList', apiVersion: 'v1', groups: listedGroups(snapshot, others) };
      });
    }
    if (root === 'apis' && second === undefined) return this.#group(snapshot, others, first!);
    const group = snapshot.group(root === 'api' ? '' : first!);
    if (group === undefined || group.published.length === 0) return undefined;
    const version = group.publishedVersion(root === 'api' ? first! : second!);
    return version && keptIn(this.#ofVersion, version, () => documentOf(apiResourceList(version)));
  }

  /** Returns the document at '/apis/GROUP'. It is small, so it is not cached. */
  #group(snapshot: CatalogSnapshot, others: AggregatedGroups, name: string): Document | undefined {
    const index = snapshot.group(name);
    // A group of this server is served even without an APIService.
    const group = listedGroup(index, name, others) ?? listedGroup(index, name, NO_AGGREGATION);
    return group && documentOf({ kind: 'APIGroup', apiVersion: 'v1', ...group });
  }

  #kept(
    snapshot: CatalogSnapshot,
    others: AggregatedGroups,
    key: string,
    make: () => object,
  ): Document {
    const ofSnapshot = keptIn(
      this.#ofSnapshot,
      snapshot,
      () => new WeakMap<AggregatedGroups, Map<string, Document>>(),
    );
    const documents = keptIn(ofSnapshot, others, () => new Map<string, Document>());
    let document = documents.get(key);
    if (document === undefined) {
      document = documentOf(make());
      documents.set(key, document);
    }
    return document;
  }
}

/** Returns the groups without the core group, whose document never has parts of other servers. */
function withoutCore(others: AggregatedGroups): AggregatedGroups {
  return { ...others, remote: others.remote.filter(({ group }) => group !== '') };
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
  return {
    kind: 'APIVersions',
    versions,
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  };
}

function documentOf(content: object): Document {
  const object = new FreshObject(content);
  return {
    object,
    etag: `"${createHash('sha256').update(object.jsonLine()).digest('hex').toUpperCase()}"`,
  };
}

function documentResponse(request: ApiRequest, { object }: Document): ApiResponse {
  const { format } = negotiate(request, { transforms: false });
  return { code: 200, body: { kind: 'object', object }, format };
}

async function answerAggregated(
  request: ApiRequest,
  { object, etag }: Document,
  mediaType: string,
): Promise<ApiResponse> {
  const headers = { etag, vary: 'Accept', 'cache-control': 'public' };
  if (request.headers['if-none-match'] === etag)
    return { code: 304, headers, body: { kind: 'none' } };
  const contentType = mediaType + AGGREGATED_SUFFIX;
  if (mediaType === YAML_TYPE) {
    const bytes = Buffer.from(await formatYamlLazily(object.object() as object), 'utf8');
    return { code: 200, headers, body: { kind: 'bytes', contentType, bytes } };
  }
  const bytes = mediaType === JSON_TYPE ? object.jsonLine() : object.protobuf();
  return { code: 200, headers, body: { kind: 'bytes', contentType, bytes } };
}

/**
 * Returns the media type of aggregated discovery if the client prefers it to the other forms;
 * otherwise undefined.
 */
function wantsAggregated(accept: string): string | undefined {
  for (const { type, parameters } of parseAccept(accept)) {
    const mediaType = [JSON_TYPE, PROTOBUF_CONTENT_TYPE, YAML_TYPE].find(
      (served) => type === served || type === '*/*',
    );
    if (mediaType === undefined) continue;
    if (!parameters.has('as')) return undefined;
    if (Object.entries(AGGREGATED).every(([key, value]) => parameters.get(key) === value))
      return mediaType;
  }
  return undefined;
}
