// OpenAPI v2: one document for all kinds, joined from parts that are built once. After a change of
// one definition, only the part of its group version is built again. Parts are kept compressed:
// uncompressed, those of thousands of definitions would take hundreds of megabytes.

import { createHash } from 'node:crypto';
import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import { type DeflatedPiece, deflatePiece, GzipPieces } from '#machinery/streams/gzip-pieces.ts';
import { nextTurn, runStepsInTurns } from '#machinery/turn.ts';
import type { Kind } from '../../catalog/kind.ts';
import type { CatalogSnapshot, VersionIndex } from '../../catalog/snapshot.ts';
import type { DocumentInfo } from '../documents.ts';
import type { SwaggerPart } from '../remote-documents.ts';
import type { CompressedDocument } from '../served-document.ts';
import type { V2Format } from './formats.ts';
import { type MergedAdditions, mergeParts } from './merge.ts';
import { ownDocument, type OwnDefinitions } from './own-document.ts';
import {
  customKindsOf,
  customPart,
  type DocumentPart,
  typedKindsOf,
  typedPart,
  type TypedPart,
  type TypedSource,
} from './parts.ts';
import { encodeSection, type Section } from './sections.ts';

export interface V2DocumentsConfig extends TypedSource {
  readonly info: DocumentInfo;
  readonly format: V2Format;
}

/**
 * The cached parts. The parts of custom kinds leave out the definitions of the typed part, so they
 * are only valid with it.
 */
interface PartCache {
  readonly kinds: readonly Kind[];
  readonly typed: Promise<TypedPart>;
  readonly custom: WeakMap<VersionIndex, DocumentPart | Promise<DocumentPart>>;
}

/** The number of group versions whose parts are looked up in one turn. */
const LOOKED_UP_PER_TURN = 500;

/** The documents in one format. */
export class V2Documents {
  readonly #config: V2DocumentsConfig;
  #cache: PartCache | undefined;
  readonly #documents = new WeakMap<
    CatalogSnapshot,
    WeakMap<readonly SwaggerPart[], Promise<CompressedDocument>>
  >();

  constructor(config: V2DocumentsConfig) {
    this.#config = config;
  }

  /** Returns the document of a snapshot, with the parts of other servers merged into it. */
  of(snapshot: CatalogSnapshot, remote: readonly SwaggerPart[]): Promise<CompressedDocument> {
    let documents = this.#documents.get(snapshot);
    if (documents === undefined) this.#documents.set(snapshot, (documents = new WeakMap()));
    let document = documents.get(remote);
    if (document === undefined) {
      document = this.#make(snapshot, remote);
      documents.set(remote, document);
    }
    return document;
  }

  async #make(
    snapshot: CatalogSnapshot,
    remote: readonly SwaggerPart[],
  ): Promise<CompressedDocument> {
    const { format } = this.#config;
    const cache = this.#cacheOf(snapshot);
    const typed = await cache.typed;
    const parts = new Map<VersionIndex | 'typed', DocumentPart>([['typed', typed]]);
    let count = 0;
    for (const { published } of snapshot.published) {
      for (const index of published) {
        if (++count % LOOKED_UP_PER_TURN === 0) await nextTurn();
        if (customKindsOf(index).length === 0) continue;
        const part = this.#customPart(cache, index, typed.names);
        parts.set(index, part instanceof Promise ? await part : part);
      }
    }
    if (remote.length === 0) return this.#join([...parts.values()]);
    const own = await runStepsInTurns(ownDocument(snapshot, this.#config));
    const additions = await runStepsInTurns(mergeParts(own, remote));
    await this.#replaceChanged(parts, own, additions);
    const isNew = ([name]: readonly [string, unknown]): boolean =>
      !typed.names.has(name) && own.customVersionOf(name) === undefined;
    const added = {
      paths: await runStepsInTurns(encodeSection(schemasOf(additions.paths), format.path, false)),
      definitions: await runStepsInTurns(
        encodeSection(schemasOf(additions.definitions).filter(isNew), format.definition, false),
      ),
      missing: {},
    };
    const { parameters } = additions;
    return this.#join(
      [...parts.values(), added],
      parameters.size === 0 ? undefined : Object.fromEntries(parameters),
    );
  }

  #cacheOf(snapshot: CatalogSnapshot): PartCache {
    const kinds = typedKindsOf(snapshot);
    if (this.#cache === undefined || !isSame(this.#cache.kinds, kinds)) {
      this.#cache = {
        kinds,
        typed: runStepsInTurns(typedPart(kinds, this.#config, this.#config.format)),
        custom: new WeakMap(),
      };
    }
    return this.#cache;
  }

  #customPart(
    { custom }: PartCache,
    index: VersionIndex,
    typedNames: ReadonlySet<string>,
  ): DocumentPart | Promise<DocumentPart> {
    const { scheme, format } = this.#config;
    let part = custom.get(index);
    if (part === undefined) {
      const encodedPart = nextTurn().then(() =>
        runStepsInTurns(customPart(index, scheme, format, typedNames)),
      );
      part = encodedPart;
      custom.set(index, part);
      // A promise costs memory for each of many group versions, so it is replaced by its value. An
      // error is kept.
      encodedPart.then(
        (value) => custom.set(index, value),
        () => undefined,
      );
    }
    return part;
  }

  /** Encodes the parts again in which a definition got kinds of other servers. */
  async #replaceChanged(
    parts: Map<VersionIndex | 'typed', DocumentPart>,
    own: OwnDefinitions,
    { definitions: changed }: MergedAdditions,
  ): Promise<void> {
    const { scheme, format } = this.#config;
    const typed = parts.get('typed') as TypedPart;
    if ([...changed.keys()].some((name) => typed.names.has(name))) {
      const schemas = Object.entries(own.typed).map(
        ([name, schema]) => [name, (changed.get(name) ?? schema) as OpenApiSchema] as const,
      );
      const definitions = await runStepsInTurns(encodeSection(schemas, format.definition, true));
      parts.set('typed', { ...typed, definitions });
    }
    for (const index of new Set([...changed.keys()].map((name) => own.customVersionOf(name)))) {
      if (index !== undefined)
        parts.set(
          index,
          await runStepsInTurns(customPart(index, scheme, format, typed.names, changed)),
        );
    }
  }

  async #join(
    parts: readonly DocumentPart[],
    parameters?: OpenApiSchema,
  ): Promise<CompressedDocument> {
    const { info, format } = this.#config;
    const missing = [...new Map(parts.flatMap((part) => Object.entries(part.missing)))];
    const rest =
      missing.length === 0
        ? []
        : [await runStepsInTurns(encodeSection(missing, format.definition, false))];
    const paths = joined(parts.map((part) => part.paths));
    const definitions = joined([...parts.map((part) => part.definitions), ...rest]);
    const frame = format.frame(
      { info, ...(parameters !== undefined && { parameters }) },
      { paths: paths.length, definitions: definitions.length },
    );
    const [before, between, behind] = (await Promise.all(frame.map(deflatePiece))) as [
      DeflatedPiece,
      DeflatedPiece,
      DeflatedPiece,
    ];
    const hash = createHash('sha256');
    for (const text of frame) hash.update(text);
    for (const digest of [...paths.digests, ...definitions.digests]) hash.update(digest);
    return {
      pieces: new GzipPieces([before, ...paths.pieces, between, ...definitions.pieces, behind]),
      hash: hash.digest('hex').toUpperCase(),
    };
  }
}

function schemasOf(values: ReadonlyMap<string, unknown>): [string, OpenApiSchema][] {
  return [...values].map(([name, value]) => [name, value as OpenApiSchema]);
}

function joined(sections: readonly Section[]): {
  readonly pieces: readonly DeflatedPiece[];
  readonly length: number;
  readonly digests: readonly Uint8Array[];
} {
  return {
    pieces: sections.flatMap(({ pieces }) => pieces),
    length: sections.reduce((sum, { length }) => sum + length, 0),
    digests: sections.map(({ digest }) => digest),
  };
}

function isSame(a: readonly Kind[], b: readonly Kind[]): boolean {
  return a.length === b.length && a.every((kind, index) => kind === b[index]);
}
