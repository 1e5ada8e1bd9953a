// The documents of OpenAPI v3: one for each group version, and those of discovery, the version and
// the issuer, each with a few operations.

import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import { LruCache } from '#machinery/collections/lru.ts';
import { runStepsInTurns, type Steps } from '#machinery/turn.ts';
import type { CatalogSnapshot, GroupIndex, VersionIndex } from '../catalog/snapshot.ts';
import { documentV3, type DocumentInfo } from './documents.ts';
import { jsonDocument, kept, sha256 } from './made.ts';
import { operationsOf, type Operation } from './operations.ts';
import type { V3Entry } from './remote-documents.ts';
import type { OpenApiDocument } from './served-document.ts';
import { discoveryOperations } from './server-operations.ts';

/**
 * Documents by snapshot and by the documents of other servers; both keys are compared by identity.
 */
type Merged<Others extends object> = WeakMap<
  CatalogSnapshot,
  WeakMap<Others, Promise<OpenApiDocument>>
>;

export interface V3DocumentsConfig {
  readonly scheme: Scheme;
  readonly info: DocumentInfo;
  /** The operations that belong to no kind, besides discovery. */
  readonly others: readonly Operation[];
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
export class V3Documents {
  readonly #scheme: Scheme;
  readonly #info: DocumentInfo;
  readonly #others: readonly Operation[];
  /** The documents of other paths than those of group versions, by path. */
  readonly #plain = new Map<string, Promise<OpenApiDocument>>();
  readonly #operations = new WeakMap<CatalogSnapshot, readonly Operation[]>();
  readonly #v3Index: Merged<ReadonlyMap<string, V3Entry>> = new WeakMap();
  readonly #hashes = new WeakMap<VersionIndex, string>();
  readonly #v3Entries = new WeakMap<GroupIndex, readonly string[]>();
  readonly #v3 = new WeakMap<VersionIndex, Promise<OpenApiDocument>>();
  readonly #v3OfCustomKinds = new LruCache<VersionIndex, Promise<OpenApiDocument>>({
    capacity: KEPT_DOCUMENTS,
  });

  constructor({ scheme, info, others }: V3DocumentsConfig) {
    this.#scheme = scheme;
    this.#info = info;
    this.#others = others;
  }

  /**
   * Returns the document at a path below /openapi/v3, such as 'apis/apps/v1' or 'version'; undefined
   * if there is none.
   */
  at(snapshot: CatalogSnapshot, path: string): Promise<OpenApiDocument> | undefined {
    const index = versionAt(snapshot, path);
    if (index !== undefined) return this.#v3Of(index);
    const operation = this.#plainOperations(snapshot).find((each) => each.path === `/${path}/`);
    return operation && this.#plainDocument(operation);
  }

  /** Returns the index of all documents, with the `others` of other servers. */
  async v3Index(
    snapshot: CatalogSnapshot,
    others: ReadonlyMap<string, V3Entry>,
  ): Promise<OpenApiDocument> {
    // Documents are built if their hashes are needed; those of custom kinds are not.
    const needed = snapshot.published
      .flatMap(({ published }) => published)
      .filter((index) => this.#hashOf(index) === undefined);
    for (const index of needed) this.#hashes.set(index, (await this.#v3Of(index)).hash);
    const plain = new Map<string, V3Entry>();
    for (const operation of this.#plainOperations(snapshot)) {
      const path = operation.path.slice(1, -1);
      plain.set(path, ownEntry(path, (await this.#plainDocument(operation)).hash));
    }
    const make = (): OpenApiDocument => {
      // This server's own paths take precedence over those of other servers.
      const isOwn = (path: string): boolean =>
        plain.has(path) || versionAt(snapshot, path) !== undefined;
      const foreign = [...others]
        .filter(([path]) => !isOwn(path))
        .map(([path, entry]) => entryOf(path, entry));
      const own = [
        ...[...plain].map(([path, entry]) => entryOf(path, entry)),
        ...snapshot.published.flatMap((group) => this.#v3EntriesOf(group)),
      ];
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
        return entryOf(path, ownEntry(path, this.#hashOf(index) ?? ''));
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

  /** Returns the operations that have a document each: those of no group version. */
  #plainOperations(snapshot: CatalogSnapshot): readonly Operation[] {
    let operations = this.#operations.get(snapshot);
    if (operations === undefined) {
      const groups = snapshot.published.filter(({ published }) =>
        published.some(({ hasTypedKind }) => hasTypedKind),
      );
      const named = new Map(groups.map(({ published: [first] }) => [first!.group, []]));
      operations = [...this.#others, ...discoveryOperations(named, this.#scheme)];
      this.#operations.set(snapshot, operations);
    }
    return operations;
  }

  #plainDocument(operation: Operation): Promise<OpenApiDocument> {
    const { path } = operation;
    let document = this.#plain.get(path);
    if (document === undefined) {
      const info = this.#info;
      function* make(): Steps<OpenApiDocument> {
        return yield* jsonDocument(yield* documentV3([operation], { info }));
      }
      document = runStepsInTurns(make());
      this.#plain.set(path, document);
    }
    return document;
  }

  #v3Of(index: VersionIndex): Promise<OpenApiDocument> {
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
    const operations = published.flatMap((kind) => operationsOf(kind, this.#scheme));
    if (!index.hasTypedKind) return documentV3(operations, {});
    // As upstream, only versions of typed kinds have their discovery described.
    const discovery = discoveryOperations(new Map([[group, [version]]]), this.#scheme).filter(
      ({ path }) => path === root,
    );
    const core = { group: '', version: 'v1' };
    return documentV3([...discovery, ...operations], {
      info: this.#info,
      groupVersions: group === '' ? [core] : [core, { group, version }],
    });
  }
}

function ownEntry(path: string, hash: string): V3Entry {
  return { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` };
}

function entryOf(path: string, entry: V3Entry): string {
  return `${JSON.stringify(path)}:${JSON.stringify(entry)}`;
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
