// Serves OpenAPI: /openapi/v2 (JSON, and the protobuf form that older kubectls ask for) and /openapi/v3 with a document per
// group and version. A document is made when it is first requested, and kept as bytes.

import { createHash } from 'node:crypto';
import type { Scheme } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { trimEnd } from '#machinery/text/trim.ts';
import { MAX_ACCEPT_LENGTH } from '#machinery/serving/accept.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/kind.ts';
import type { CatalogSnapshot, GroupIndex, VersionIndex } from '../catalog/snapshot.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { documentV2, documentV3, type DocumentInfo } from './documents.ts';
import { discoveryOperations, operationsOf, type Operation } from './operations.ts';
import { mergeV2 } from './merge-v2.ts';
import { documentV2Protobuf } from './protobuf.ts';
import { NO_REMOTE_DOCUMENTS, type RemoteDocuments, type SwaggerPart, type V3Entry } from './remote-documents.ts';

export interface OpenApi {
  readonly handles: (path: string) => boolean;
  readonly handle: Handler;
}

export interface OpenApiConfig {
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  /** The version of the API: v1.36.3. */
  readonly version: string;
  /** The documents of other API servers. Default: there are none. */
  readonly remote?: RemoteDocuments;
}

const JSON_TYPE = 'application/json';
/** As clients ask for it. */
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
/** As it is answered: the '@' of the other spelling is not allowed in a media type, and clients that parse the answer refuse it. */
const PROTOBUF_TYPE_ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

interface Made {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

interface Found {
  readonly document: Made;
  readonly contentType: string;
}

/** Documents of a snapshot together with what other servers have, by identity. */
type Merged<Others extends object> = WeakMap<CatalogSnapshot, WeakMap<Others, Made>>;

export function createOpenApi({ catalog, scheme, version, remote = NO_REMOTE_DOCUMENTS }: OpenApiConfig): OpenApi {
  const documents = new Documents(scheme, { title: 'Kubernetes', version });

  /** Undefined: nothing is there. */
  const find = async (path: string, accept: string): Promise<Found | undefined> => {
    const snapshot = catalog.snapshot();
    if (path === '/openapi/v2') {
      const ranges = accept.length > MAX_ACCEPT_LENGTH ? [] : accept.split(',');
      const wanted = ranges.map((range) => (range.split(';')[0] as string).trim());
      const protobuf = wanted.find((type) => type === PROTOBUF_TYPE || type === PROTOBUF_TYPE_ANSWERED);
      const plain = accept === '' || wanted.some((type) => type === JSON_TYPE || type === 'application/*' || type === '*/*');
      if (protobuf === undefined && !plain) throw apierrors.notAcceptable([JSON_TYPE, PROTOBUF_TYPE]);
      const parts = await remote.v2Parts();
      return protobuf === undefined
        ? { document: documents.v2(snapshot, parts), contentType: JSON_TYPE }
        : { document: documents.v2Protobuf(snapshot, parts), contentType: PROTOBUF_TYPE_ANSWERED };
    }
    if (path === '/openapi/v3') {
      return { document: documents.v3Index(snapshot, await remote.v3Index()), contentType: JSON_TYPE };
    }
    const index = versionAt(snapshot, path.slice('/openapi/v3/'.length));
    return index && { document: documents.v3(index), contentType: JSON_TYPE };
  };

  const answer = async (request: ApiRequest): Promise<ApiResponse> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw apierrors.methodNotSupported({ group: '', resource: 'openapi' }, request.method.toLowerCase());
    }
    const path = trimEnd(request.path, '/');
    const found = await find(path, request.headers['accept'] ?? '');
    if (found === undefined) {
      const forwarded = remote.forwardV3(request, path.slice('/openapi/v3/'.length));
      if (forwarded !== undefined) return forwarded;
      throw apierrors.genericServerResponse({ code: 404, verb: 'get', serverMessage: '', isUnexpectedResponse: false });
    }
    const { bytes, hash } = found.document;
    const etag = `"${hash}"`;
    const headers: Record<string, string> = { etag, vary: 'Accept' };
    const asked = request.query.get('hash') ?? '';
    if (asked !== '' && path.startsWith('/openapi/v3/')) {
      if (asked !== hash) return { code: 301, headers: { location: `${path}?hash=${hash}` }, body: { kind: 'none' } };
      // A client that asks by hash may keep the answer for good.
      headers['cache-control'] = 'public, immutable';
    }
    if (request.headers['if-none-match'] === etag) return { code: 304, headers, body: { kind: 'none' } };
    return { code: 200, headers, body: { kind: 'bytes', contentType: found.contentType, bytes } };
  };

  return {
    handles: (path) => /^\/openapi\/v[23](\/|$)/.test(path),
    handle: answer,
  };
}

/** The path below /openapi/v3: 'api/v1', 'apis/apps/v1'. */
const pathOf = ({ group, version }: VersionIndex): string => (group === '' ? `api/${version}` : `apis/${group}/${version}`);

function versionAt(snapshot: CatalogSnapshot, path: string): VersionIndex | undefined {
  const parts = path.split('/');
  const [group, version] = parts[0] === 'api' ? ['', parts[1]] : [parts[1], parts[2]];
  const index = snapshot.group(group ?? '')?.publishedVersion(version ?? '');
  return index !== undefined && pathOf(index) === path ? index : undefined;
}

/** Documents of custom kinds that are kept: there may be thousands, and most are asked for once. */
const KEPT_DOCUMENTS = 64;

/**
 * Makes documents at the first request and keeps them with what they describe: a version of a group (v3), or a snapshot of the catalog
 * (v2, and the index of v3). After a change, only the v3 documents of group versions that have changed are made again.
 *
 * The index of v3 needs the hash of every document. A document whose kinds have fingerprints is not made for that.
 */
class Documents {
  readonly #scheme: Scheme;
  readonly #info: DocumentInfo;
  readonly #v2: Merged<readonly SwaggerPart[]> = new WeakMap();
  readonly #v2Protobuf: Merged<readonly SwaggerPart[]> = new WeakMap();
  readonly #v3Index: Merged<ReadonlyMap<string, V3Entry>> = new WeakMap();
  readonly #v3IndexParts = new WeakMap<GroupIndex, string>();
  readonly #v3 = new WeakMap<VersionIndex, Made>();
  readonly #v3OfCustomKinds = new LruCache<VersionIndex, Made>({ capacity: KEPT_DOCUMENTS });

  constructor(scheme: Scheme, info: DocumentInfo) {
    this.#scheme = scheme;
    this.#info = info;
  }

  v2(snapshot: CatalogSnapshot, parts: readonly SwaggerPart[]): Made {
    return kept(ofSnapshot(this.#v2, snapshot), parts, () => jsonOf(mergeV2(this.#documentV2(snapshot), parts)));
  }

  v2Protobuf(snapshot: CatalogSnapshot, parts: readonly SwaggerPart[]): Made {
    const make = (): Uint8Array => documentV2Protobuf(mergeV2(this.#documentV2(snapshot), parts));
    return kept(ofSnapshot(this.#v2Protobuf, snapshot), parts, make);
  }

  v3Index(snapshot: CatalogSnapshot, others: ReadonlyMap<string, V3Entry>): Made {
    return kept(ofSnapshot(this.#v3Index, snapshot), others, () => {
      // In the order of the paths: 'api/v1' is before 'apis/…', and '/' is before what names are made of.
      const parts = snapshot.published.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((group) => this.#v3IndexPart(group));
      const own = `{${parts.join(',')}}`;
      if (others.size === 0) return Buffer.from(`{"paths":${own}}`, 'utf8');
      // What this server serves is described by itself alone.
      const entries = new Map([...others, ...Object.entries(JSON.parse(own) as Record<string, V3Entry>)]);
      return jsonOf({ paths: Object.fromEntries([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1))) });
    });
  }

  /** The entries of a group's versions, as JSON. */
  #v3IndexPart(group: GroupIndex): string {
    let part = this.#v3IndexParts.get(group);
    if (part === undefined) {
      const entries = group.published.map((index) => {
        const path = pathOf(index);
        const hash = fingerprintHash(index, this.#info) ?? this.v3(index).hash;
        return `${JSON.stringify(path)}:${JSON.stringify({ serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` })}`;
      });
      part = entries.toSorted().join(',');
      this.#v3IndexParts.set(group, part);
    }
    return part;
  }

  v3(index: VersionIndex): Made {
    const hash = fingerprintHash(index, this.#info);
    if (hash === undefined) return kept(this.#v3, index, () => this.#documentV3(index));
    let document = this.#v3OfCustomKinds.get(index);
    if (document === undefined) {
      document = { bytes: this.#documentV3(index), hash };
      this.#v3OfCustomKinds.set(index, document);
    }
    return document;
  }

  #documentV3(index: VersionIndex): Uint8Array {
    const { group, version, published } = index;
    const root = `/${pathOf(index)}/`;
    const discovery = discoveryOperations(new Map([[group, [version]]]), this.#scheme).filter(({ path }) => path === root);
    return jsonOf(documentV3([...discovery, ...this.#operationsOf(published)], this.#info));
  }

  #documentV2(snapshot: CatalogSnapshot): ReturnType<typeof documentV2> {
    const versions = new Map(snapshot.published.map(({ name, published }) => [name, published.map(({ version }) => version)]));
    const operations = this.#operationsOf(snapshot.publishedKinds());
    return documentV2([...discoveryOperations(versions, this.#scheme), ...operations], this.#info);
  }

  #operationsOf(kinds: readonly Kind[]): Operation[] {
    return kinds.flatMap((kind) => operationsOf(kind, this.#scheme));
  }
}

function ofSnapshot<Others extends object>(documents: Merged<Others>, snapshot: CatalogSnapshot): WeakMap<Others, Made> {
  let found = documents.get(snapshot);
  if (found === undefined) {
    found = new WeakMap();
    documents.set(snapshot, found);
  }
  return found;
}

/** Returns the hash of a document, made of the fingerprints of its kinds. Undefined: a kind has none. */
function fingerprintHash({ group, version, published }: VersionIndex, info: DocumentInfo): string | undefined {
  const fingerprints = published.map(({ fingerprint, type }) => fingerprint && [type.resource, fingerprint]);
  if (fingerprints.includes(undefined)) return undefined;
  return sha256(JSON.stringify([info.version, group, version, fingerprints]));
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex').toUpperCase();
}

function kept<K extends object>(documents: WeakMap<K, Made>, key: K, make: () => Uint8Array): Made {
  let document = documents.get(key);
  if (document === undefined) {
    const bytes = make();
    document = { bytes, hash: sha256(bytes) };
    documents.set(key, document);
  }
  return document;
}

const jsonOf = (object: unknown): Uint8Array => Buffer.from(JSON.stringify(object), 'utf8');
