// Merges OpenAPI v2 documents like upstream (k8s.io/kube-openapi, pkg/aggregator). Existing paths
// stay. A definition or parameter that differs from an existing one of the same name gets the name
// NAME_v2, NAME_v3 …

import { deepEqual } from '#machinery/deep.ts';
import type { Steps } from '#machinery/turn.ts';
import type { SwaggerPart } from '../remote-documents.ts';

const KINDS = 'x-kubernetes-group-version-kind';
const DEFINITIONS = '#/definitions/';
const PARAMETERS = '#/parameters/';

type Values = Record<string, unknown>;

/**
 * The number of definitions or paths that are processed in one step. Each is small, since the size
 * of one is bounded.
 */
const ENTRIES_PER_STEP = 50;

/** The target document, as far as merging needs it. */
export interface OwnDocument {
  hasPath(path: string): boolean;
  /** Returns the definition of this name; undefined if there is none. */
  definition(name: string): unknown;
}

/** The additions to a document. */
export interface MergedAdditions {
  readonly paths: ReadonlyMap<string, unknown>;
  /** New definitions, and changed ones of the target document, which have more kinds. */
  readonly definitions: ReadonlyMap<string, unknown>;
  readonly parameters: ReadonlyMap<string, unknown>;
}

/**
 * Returns the part whose paths begin with the prefix, without the definitions that only other paths
 * use.
 */
export function* partOf(document: unknown, pathPrefix: string): Steps<SwaggerPart> {
  const { paths, definitions, parameters } = record(document);
  const kept = Object.entries(record(paths)).filter(([path]) => path.startsWith(pathPrefix));
  const part = {
    paths: record(paths),
    definitions: record(definitions),
    parameters: record(parameters),
  };
  return yield* withPaths(part, new Map(kept));
}

function* withPaths(part: SwaggerPart, paths: ReadonlyMap<string, unknown>): Steps<SwaggerPart> {
  const before = yield* usedDefinitions(Object.values(part.paths), part.definitions);
  const used = yield* usedDefinitions([...paths.values()], part.definitions);
  const definitions = Object.entries(part.definitions).filter(
    ([name]) => used.has(name) || !before.has(name),
  );
  return {
    ...part,
    paths: Object.fromEntries(paths),
    definitions: Object.fromEntries(definitions),
  };
}

/** Returns the names of the definitions that the values refer to, directly or indirectly. */
function* usedDefinitions(
  values: unknown[],
  definitions: Readonly<Values>,
): Steps<ReadonlySet<string>> {
  const used = new Set<string>();
  const pending = [...values];
  for (let count = 1; pending.length > 0; count++) {
    if (count % ENTRIES_PER_STEP === 0) yield;
    forEachReference(pending.pop(), (reference) => {
      if (!reference.startsWith(DEFINITIONS)) return;
      const name = reference.slice(DEFINITIONS.length);
      if (used.has(name)) return;
      used.add(name);
      if (Object.hasOwn(definitions, name)) pending.push(definitions[name]);
    });
  }
  return used;
}

/** Returns the additions from the parts, in order. */
export function* mergeParts(
  own: OwnDocument,
  parts: readonly SwaggerPart[],
): Steps<MergedAdditions> {
  const target = new Target(own);
  for (const part of parts) yield* target.merge(part);
  return target;
}

/** The target document with the additions so far. */
class Target implements MergedAdditions {
  readonly #own: OwnDocument;
  readonly paths = new Map<string, unknown>();
  readonly definitions = new Map<string, unknown>();
  readonly parameters = new Map<string, unknown>();

  constructor(own: OwnDocument) {
    this.#own = own;
  }

  *merge(part: SwaggerPart): Steps<void> {
    const added = new Map(
      Object.entries(part.paths).filter(
        ([path]) => !this.paths.has(path) && !this.#own.hasPath(path),
      ),
    );
    if (added.size === 0) return;
    const source =
      added.size === Object.keys(part.paths).length ? part : yield* withPaths(part, added);
    const definitionOf = (name: string): unknown =>
      this.definitions.get(name) ?? this.#own.definition(name);
    const definitionNames = yield* renames(definitionOf, source.definitions, equalButKinds);
    const parameterNames = yield* renames(
      (name) => this.parameters.get(name),
      source.parameters,
      deepEqual,
    );
    const rename = (reference: string): string =>
      renamed(reference, DEFINITIONS, definitionNames) ??
      renamed(reference, PARAMETERS, parameterNames) ??
      reference;
    const rewritten = <T>(value: T): T =>
      definitionNames.size + parameterNames.size === 0
        ? value
        : (withReferences(value, rename) as T);
    let count = 0;
    for (const [name, definition] of Object.entries(source.definitions)) {
      if (++count % ENTRIES_PER_STEP === 0) yield;
      const key = definitionNames.get(name) ?? name;
      const present = definitionOf(key);
      const merged =
        present === undefined ? rewritten(definition) : withKindsOf(present, definition);
      if (merged !== present) this.definitions.set(key, merged);
    }
    for (const [name, parameter] of Object.entries(source.parameters)) {
      const key = parameterNames.get(name) ?? name;
      if (!this.parameters.has(key)) this.parameters.set(key, rewritten(parameter));
    }
    for (const [path, item] of added) {
      if (++count % ENTRIES_PER_STEP === 0) yield;
      this.paths.set(path, rewritten(item));
    }
  }
}

/** Returns new names for values that differ from an existing one of the same name. */
function* renames(
  present: (name: string) => unknown,
  source: Readonly<Values>,
  equal: (a: unknown, b: unknown) => boolean,
): Steps<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const newNames = new Set<string>();
  let count = 0;
  for (const [name, value] of Object.entries(source)) {
    if (++count % ENTRIES_PER_STEP === 0) yield;
    const there = present(name);
    if (there === undefined || equal(there, value)) continue;
    for (let n = 2; ; n++) {
      const candidate = `${name}_v${n}`;
      const existing = present(candidate);
      // The same value has been renamed before.
      const reused = existing !== undefined && equal(existing, value);
      if (
        !reused &&
        (existing !== undefined || newNames.has(candidate) || Object.hasOwn(source, candidate))
      )
        continue;
      names.set(name, candidate);
      newNames.add(candidate);
      break;
    }
  }
  return names;
}

function renamed(
  reference: string,
  prefix: string,
  names: ReadonlyMap<string, string>,
): string | undefined {
  if (!reference.startsWith(prefix)) return undefined;
  const name = names.get(reference.slice(prefix.length));
  return name === undefined ? undefined : prefix + name;
}

/**
 * Reports whether two definitions are equal apart from their kinds. Descriptions do not count: this
 * server's are not upstream's, although the types are the same.
 */
function equalButKinds(a: unknown, b: unknown): boolean {
  const { [KINDS]: _ofA, ...restA } = record(a);
  const { [KINDS]: _ofB, ...restB } = record(b);
  return deepEqual(withoutDescriptions(restA), withoutDescriptions(restB));
}

function withoutDescriptions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) => key !== 'description' || typeof value !== 'string',
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutDescriptions(value)]));
}

/** Returns the definition with the kinds of the other one added in order. */
function withKindsOf(definition: unknown, other: unknown): unknown {
  const [own, added] = [kindsOf(definition), kindsOf(other)];
  const keyOf = (kind: unknown): string => {
    const { group, version, kind: name } = record(kind);
    return `${String(group)}/${String(version)}.${String(name)}`;
  };
  const present = new Set(own.map(keyOf));
  const missing = added.filter((kind) => !present.has(keyOf(kind)));
  if (missing.length === 0) return definition;
  const all = [...own, ...missing].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return { ...record(definition), [KINDS]: all };
}

function kindsOf(definition: unknown): readonly unknown[] {
  const kinds = record(definition)[KINDS];
  return Array.isArray(kinds) ? kinds : [];
}

function forEachReference(value: unknown, call: (reference: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === '$ref' && typeof child === 'string') call(child);
    else forEachReference(child, call);
  }
}

function withReferences(value: unknown, rename: (reference: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, rename));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, child]) => [
    key,
    key === '$ref' && typeof child === 'string' ? rename(child) : withReferences(child, rename),
  ]);
  return Object.fromEntries(entries);
}

function record(value: unknown): Readonly<Values> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Values)
    : {};
}
