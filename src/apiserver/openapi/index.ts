// Serves OpenAPI: /openapi/v2 (as JSON, and as protobuf for older kubectls; see v2/), and
// /openapi/v3 with a document for each group and version. A document is built when it is first
// requested, and kept as bytes.

import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { runStepsInTurns, type Steps } from '#machinery/turn.ts';
import { MAX_ACCEPT_LENGTH } from '#machinery/serving/accept.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/kind.ts';
import type { CatalogSnapshot, GroupIndex, VersionIndex } from '../catalog/snapshot.ts';
import { notFound } from '../status-routes.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { documentV3, type DocumentInfo } from './documents.ts';
import { discoveryOperations, operationsOf, type Operation } from './operations.ts';
import { jsonDocument, kept, sha256 } from './made.ts';
import {
  type CompressedDocument,
  type OpenApiDocument,
  servedDocument,
} from './served-document.ts';
import { NO_REMOTE_DOCUMENTS, type RemoteDocuments, type V3Entry } from './remote-documents.ts';
import { V2Documents } from './v2/documents.ts';
import { JSON_FORMAT, PROTOBUF_FORMAT } from './v2/formats.ts';

export interface OpenApi {
  readonly handles: (path: string) => boolean;
  readonly handle: Handler;
}

export interface OpenApiConfig {
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  /** The version of the API, such as v1.36.3. */
  readonly version: string;
  /** The documents of other API servers. Default: there are none. */
  readonly remote?: RemoteDocuments;
}

const JSON_TYPE = 'application/json';
/** The media type that clients request. */
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
/**
 * The media type of the response. The '@' in the other one is not allowed in a media type, and
 * clients that parse the response reject it.
 */
const PROTOBUF_TYPE_ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

interface FoundDocument {
  readonly document: OpenApiDocument | CompressedDocument;
  readonly contentType: string;
}

/**
 * Documents by snapshot and by the documents of other servers; both keys are compared by identity.
 */
type Merged<Others extends object> = WeakMap<
  CatalogSnapshot,
  WeakMap<Others, Promise<OpenApiDocument>>
>;

export function createOpenApi({
  catalog,
  scheme,
  version,
  remote = NO_REMOTE_DOCUMENTS,
}: OpenApiConfig): OpenApi {
  const info: DocumentInfo = { title: 'Kubernetes', version };
  const documents = new V3Documents(scheme, info);
  const json = new V2Documents({ scheme, info, format: JSON_FORMAT });
  const binary = new V2Documents({ scheme, info, format: PROTOBUF_FORMAT });

  /** Returns the document for a request; undefined if the path is unknown. */
  const find = async (path: string, accept: string): Promise<FoundDocument | undefined> => {
    const snapshot = catalog.snapshot();
    if (path === '/openapi/v2') {
      const ranges = accept.length > MAX_ACCEPT_LENGTH ? [] : accept.split(',');
      const wanted = ranges.map((range) => range.split(';')[0]!.trim());
      const protobuf = wanted.find(
        (type) => type === PROTOBUF_TYPE || type === PROTOBUF_TYPE_ANSWERED,
      );
      const plain =
        accept === '' ||
        wanted.some((type) => type === JSON_TYPE || type === 'application/*' || type === '*/*');
      if (protobuf === undefined && !plain)
        throw apierrors.notAcceptable([JSON_TYPE, PROTOBUF_TYPE]);
      const parts = await remote.v2Parts();
      return protobuf === undefined
        ? { document: await json.of(snapshot, parts), contentType: JSON_TYPE }
        : { document: await binary.of(snapshot, parts), contentType: PROTOBUF_TYPE_ANSWERED };
    }
    if (path === '/openapi/v3') {
      return {
        document: await documents.v3Index(snapshot, await remote.v3Index()),
        contentType: JSON_TYPE,
      };
    }
    const index = versionAt(snapshot, path.slice('/openapi/v3/'.length));
    return index && { document: await documents.v3(index), contentType: JSON_TYPE };
  };

  const respond = async (request: ApiRequest): Promise<ApiResponse> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw apierrors.methodNotSupported(
        { group: '', resource: 'openapi' },
        request.method.toLowerCase(),
      );
    }
    const { path } = request;
    const document = await find(path, request.headers['accept'] ?? '');
    if (document === undefined) {
      const forwarded = remote.forwardV3(request, path.slice('/openapi/v3/'.length));
      if (forwarded !== undefined) return forwarded;
      return path === '/openapi/v2/' ? notFound() : { code: 404, body: { kind: 'none' } };
    }
    return servedDocument(
      request,
      path.startsWith('/openapi/v3/') ? path : undefined,
      document.document,
      document.contentType,
    );
  };

  return {
    handles: (path) => /^\/openapi\/v[23](\/|$)/.test(path),
    handle: respond,
  };
}

/** Returns the path below /openapi/v3, such as 'api/v1' or 'apis/apps/v1'. */
const pathOf = ({ group, version }: VersionIndex): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

function versionAt(snapshot: CatalogSnapshot, path: string): VersionIndex | undefined {
  const parts = path.split('/');
  const [group, version] = parts[0] === 'api' ? ['', parts[1]] : [parts[1], parts[2]];
  const index = snapshot.group(group ?? '')?.publishedVersion(version ?? '');
  return index !== undefined && pathOf(index) === path ? index : undefined;
}

/**
 * The number of custom kinds' documents that are kept. There may be thousands, and most are
 * requested once.
 */
const KEPT_DOCUMENTS = 64;

/**
 * The documents of OpenAPI v3. They are built at the first request, and cached under their source:
 * a version of a group or, for the index, a snapshot of the catalog. After a change, only the
 * documents of changed group versions are built again.
 *
 * The index needs the hash of every document. If all kinds of a document have fingerprints, the
 * hash is known without building it.
 */
class V3Documents {
  readonly #scheme: Scheme;
  readonly #info: DocumentInfo;
  readonly #v3Index: Merged<ReadonlyMap<string, V3Entry>> = new WeakMap();
  readonly #hashes = new WeakMap<VersionIndex, string>();
  readonly #v3Entries = new WeakMap<GroupIndex, readonly string[]>();
  readonly #v3 = new WeakMap<VersionIndex, Promise<OpenApiDocument>>();
  readonly #v3OfCustomKinds = new LruCache<VersionIndex, Promise<OpenApiDocument>>({
    capacity: KEPT_DOCUMENTS,
  });

  constructor(scheme: Scheme, info: DocumentInfo) {
    this.#scheme = scheme;
    this.#info = info;
  }

  async v3Index(
    snapshot: CatalogSnapshot,
    others: ReadonlyMap<string, V3Entry>,
  ): Promise<OpenApiDocument> {
    // Documents are built if their hashes are needed; those of custom kinds are not.
    const needed = snapshot.published
      .flatMap(({ published }) => published)
      .filter((index) => this.#hashOf(index) === undefined);
    for (const index of needed) this.#hashes.set(index, (await this.v3(index)).hash);
    const make = (): OpenApiDocument => {
      // This server's own paths take precedence over those of other servers.
      const isOwn = (path: string): boolean => versionAt(snapshot, path) !== undefined;
      const foreign = [...others]
        .filter(([path]) => !isOwn(path))
        .map(([path, entry]) => entryOf(path, entry));
      const own = snapshot.published.flatMap((group) => this.#v3EntriesOf(group));
      const bytes = Buffer.from(`{"paths":{${[...own, ...foreign].toSorted().join(',')}}}`, 'utf8');
      return { bytes, hash: sha256(bytes) };
    };
    return kept(ofSnapshot(this.#v3Index, snapshot), others, () => Promise.resolve(make()));
  }

  /** Returns the entries of a group's versions as JSON. Their hashes must be known. */
  #v3EntriesOf(group: GroupIndex): readonly string[] {
    let entries = this.#v3Entries.get(group);
    if (entries === undefined) {
      entries = group.published.map((index) => {
        const path = pathOf(index);
        return entryOf(path, {
          serverRelativeURL: `/openapi/v3/${path}?hash=${this.#hashOf(index) ?? ''}`,
        });
      });
      this.#v3Entries.set(group, entries);
    }
    return entries;
  }

  /** Returns the hash of a v3 document, if it is known without building the document. */
  #hashOf(index: VersionIndex): string | undefined {
    let hash = this.#hashes.get(index);
    if (hash === undefined) {
      hash = fingerprintHash(index, this.#info);
      if (hash !== undefined) this.#hashes.set(index, hash);
    }
    return hash;
  }

  v3(index: VersionIndex): Promise<OpenApiDocument> {
    const hash = fingerprintHash(index, this.#info);
    const documentV3 = (): Steps<OpenApiSchema> => this.#documentV3(index);
    const documents = hash === undefined ? this.#v3 : this.#v3OfCustomKinds;
    function* make(): Steps<OpenApiDocument> {
      const document = yield* jsonDocument(yield* documentV3());
      return hash === undefined ? document : { ...document, hash };
    }
    return kept(documents, index, () => runStepsInTurns(make()));
  }

  #documentV3(index: VersionIndex): Steps<OpenApiSchema> {
    const { group, version, published } = index;
    const root = `/${pathOf(index)}/`;
    const versions = hasTypedKind(index)
      ? new Map([[group, [version]]])
      : new Map<string, string[]>();
    const discovery = discoveryOperations(versions, this.#scheme).filter(
      ({ path }) => path === root,
    );
    return documentV3([...discovery, ...this.#operationsOf(published)], this.#info);
  }

  #operationsOf(kinds: readonly Kind[]): Operation[] {
    return kinds.flatMap((kind) => operationsOf(kind, this.#scheme));
  }
}

function entryOf(path: string, entry: V3Entry): string {
  return `${JSON.stringify(path)}:${JSON.stringify(entry)}`;
}

/**
 * Reports whether a version has a kind that is not custom. Upstream describes the discovery
 * endpoints only of such versions.
 */
function hasTypedKind({ published }: VersionIndex): boolean {
  return published.some(({ isCustom }) => isCustom !== true);
}

/**
 * Returns the hash of a document, computed from the fingerprints of its kinds. Undefined: a kind
 * has none.
 */
function fingerprintHash(
  { group, version, published }: VersionIndex,
  info: DocumentInfo,
): string | undefined {
  const fingerprints = published.map(
    ({ fingerprint, type }) => fingerprint && [type.resource, fingerprint],
  );
  if (fingerprints.includes(undefined)) return undefined;
  return sha256(JSON.stringify([info.version, group, version, fingerprints]));
}

function ofSnapshot<Others extends object>(
  documents: Merged<Others>,
  snapshot: CatalogSnapshot,
): WeakMap<Others, Promise<OpenApiDocument>> {
  let byRemote = documents.get(snapshot);
  if (byRemote === undefined) {
    byRemote = new WeakMap();
    documents.set(snapshot, byRemote);
  }
  return byRemote;
}
