// The parts of an OpenAPI v2 document: one for all kinds with typed descriptors, and one for the
// custom kinds of each group version. The definitions that typed kinds share (ObjectMeta, for
// example) are only in the first part.

import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import type { WaitingSteps } from '#machinery/turn.ts';
import type { Kind } from '../../catalog/kind.ts';
import type { CatalogSnapshot, VersionIndex } from '../../catalog/snapshot.ts';
import { definitionsOf } from '../documents.ts';
import { operationsOf, type Operation } from '../operations.ts';
import { discoveryOperations } from '../server-operations.ts';
import type { V2Format } from './formats.ts';
import { pathItemsOf } from './render.ts';
import { encodeSection, type Section } from './sections.ts';

export interface DocumentPart {
  readonly paths: Section;
  readonly definitions: Section;
  /**
   * Typed definitions that the custom kinds of the part use, and that the typed part does not have.
   */
  readonly missing: Readonly<Record<string, OpenApiSchema>>;
}

export interface TypedPart extends DocumentPart {
  readonly names: ReadonlySet<string>;
}

const isTyped = ({ isCustom }: Kind): boolean => isCustom !== true;

export function typedKindsOf(snapshot: CatalogSnapshot): readonly Kind[] {
  return snapshot.publishedKinds().filter(isTyped);
}

export function customKindsOf({ published }: VersionIndex): readonly Kind[] {
  return published.filter(({ isCustom }) => isCustom === true);
}

/** The operations of the server that no custom kind changes. */
export interface TypedSource {
  readonly scheme: Scheme;
  /** The operations that belong to no kind, besides discovery. */
  readonly others: readonly Operation[];
}

/**
 * Returns the operations of typed kinds, those of discovery, and the others of the server. Upstream
 * describes discovery only for group versions of typed kinds.
 */
export function typedOperations(
  kinds: readonly Kind[],
  { scheme, others }: TypedSource,
): readonly Operation[] {
  const versions = new Map<string, Set<string>>();
  for (const { type } of kinds) {
    const ofGroup = versions.get(type.group) ?? new Set();
    versions.set(type.group, ofGroup.add(type.version));
  }
  return [
    ...others,
    ...discoveryOperations(versions, scheme),
    ...kinds.flatMap((kind) => operationsOf(kind, scheme)),
  ];
}

export function* typedPart(
  kinds: readonly Kind[],
  source: TypedSource,
  format: V2Format,
): WaitingSteps<TypedPart> {
  const operations = typedOperations(kinds, source);
  const paths = yield* encodeSection(
    Object.entries(yield* pathItemsOf(operations)),
    format.path,
    true,
  );
  const definitions = yield* definitionsOf(operations, 2);
  const section = yield* encodeSection(Object.entries(definitions), format.definition, true);
  return { paths, definitions: section, missing: {}, names: new Set(Object.keys(definitions)) };
}

/**
 * Returns the part of the custom kinds of a group version. `changed`: definitions that replace the
 * kinds' own. Definitions of typed kinds take precedence over those of custom kinds with the same
 * name, as upstream.
 */
export function* customPart(
  index: VersionIndex,
  scheme: Scheme,
  format: V2Format,
  typedNames: ReadonlySet<string>,
  changed: ReadonlyMap<string, unknown> = new Map(),
): WaitingSteps<DocumentPart> {
  const kinds = customKindsOf(index);
  const operations = kinds.flatMap((kind) => operationsOf(kind, scheme));
  const paths = yield* encodeSection(
    Object.entries(yield* pathItemsOf(operations)),
    format.path,
    false,
  );
  const own = new Set(
    kinds.flatMap(({ codec }) => [codec?.openApi.name, codec?.openApiList?.name]),
  );
  const all = Object.entries(yield* definitionsOf(operations, 2)).filter(
    ([name]) => !typedNames.has(name),
  );
  const definitions = all
    .filter(([name]) => own.has(name))
    .map(([name, schema]) => [name, (changed.get(name) ?? schema) as OpenApiSchema] as const);
  return {
    paths,
    definitions: yield* encodeSection(definitions, format.definition, false),
    missing: Object.fromEntries(all.filter(([name]) => !own.has(name))),
  };
}
