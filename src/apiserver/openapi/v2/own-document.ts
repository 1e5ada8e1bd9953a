// Looks up definitions in this server's own document by name, for merging documents of other
// servers.

import { OpenApiDefinitions, type OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import type { Steps } from '#machinery/turn.ts';
import type { CatalogSnapshot, VersionIndex } from '../../catalog/snapshot.ts';
import { definitionsOf } from '../documents.ts';
import { operationsOf } from '../operations.ts';
import type { OwnDocument } from './merge.ts';
import { customKindsOf, typedKindsOf, typedOperations, type TypedSource } from './parts.ts';

export interface OwnDefinitions extends OwnDocument {
  readonly typed: Readonly<Record<string, OpenApiSchema>>;
  /** Returns the group version with the custom kinds of a definition. */
  customVersionOf(definition: string): VersionIndex | undefined;
}

export function* ownDocument(
  snapshot: CatalogSnapshot,
  source: TypedSource,
): Steps<OwnDefinitions> {
  const operations = typedOperations(typedKindsOf(snapshot), source);
  const typed = yield* definitionsOf(operations, 2);
  const typedPaths = new Set(operations.map(({ path }) => path));
  return new Own(snapshot, source.scheme, typed, typedPaths);
}

class Own implements OwnDefinitions {
  readonly #snapshot: CatalogSnapshot;
  readonly #scheme: Scheme;
  readonly typed: Readonly<Record<string, OpenApiSchema>>;
  readonly #typedPaths: ReadonlySet<string>;
  readonly #customPaths = new Map<VersionIndex, ReadonlySet<string>>();
  readonly #custom = new Map<string, unknown>();

  constructor(
    snapshot: CatalogSnapshot,
    scheme: Scheme,
    typed: Readonly<Record<string, OpenApiSchema>>,
    typedPaths: ReadonlySet<string>,
  ) {
    this.#snapshot = snapshot;
    this.#scheme = scheme;
    this.typed = typed;
    this.#typedPaths = typedPaths;
  }

  hasPath(path: string): boolean {
    if (this.#typedPaths.has(path)) return true;
    const [, root, group = '', version = ''] = path.split('/', 4);
    const index =
      root === 'apis' ? this.#snapshot.group(group)?.publishedVersion(version) : undefined;
    return index !== undefined && this.#customPathsOf(index).has(path);
  }

  #customPathsOf(index: VersionIndex): ReadonlySet<string> {
    let paths = this.#customPaths.get(index);
    if (paths === undefined) {
      paths = new Set(
        customKindsOf(index).flatMap((kind) =>
          operationsOf(kind, this.#scheme).map(({ path }) => path),
        ),
      );
      this.#customPaths.set(index, paths);
    }
    return paths;
  }

  definition(name: string): unknown {
    if (Object.hasOwn(this.typed, name)) return this.typed[name];
    if (!this.#custom.has(name)) this.#custom.set(name, this.#customDefinition(name));
    return this.#custom.get(name);
  }

  #customDefinition(name: string): unknown {
    const index = this.customVersionOf(name);
    if (index === undefined) return undefined;
    const definitions = new OpenApiDefinitions(2);
    for (const { codec } of customKindsOf(index)) {
      if (codec?.openApi.name === name) codec.openApi.define(definitions);
      if (codec?.openApiList?.name === name) codec.openApiList.define(definitions);
    }
    return definitions.schemas()[name];
  }

  /**
   * Returns the version by the definition's name: 'com.example.v1.Widget' belongs to
   * example.com/v1.
   */
  customVersionOf(definition: string): VersionIndex | undefined {
    const parts = definition.split('.');
    const group = parts.slice(0, -2).toReversed().join('.');
    const index = this.#snapshot.group(group)?.publishedVersion(parts.at(-2) ?? '');
    const isOfOne =
      index !== undefined &&
      customKindsOf(index).some(({ codec }) => namesOf(codec).includes(definition));
    return isOfOne ? index : undefined;
  }
}

function namesOf(
  codec:
    | {
        readonly openApi: { readonly name: string };
        readonly openApiList?: { readonly name: string };
      }
    | undefined,
): string[] {
  return codec === undefined
    ? []
    : [codec.openApi.name, ...(codec.openApiList === undefined ? [] : [codec.openApiList.name])];
}
