// Merges OpenAPI v2 documents as upstream does (k8s.io/kube-openapi, pkg/aggregator): paths that are there already stay, and a definition
// or parameter that differs from one of the same name gets the name NAME_v2, NAME_v3 …

import { deepEqual } from '#machinery/deep.ts';
import type { OpenApiSchema } from '#api/machinery/openapi/index.ts';
import type { SwaggerPart } from './remote-documents.ts';

const KINDS = 'x-kubernetes-group-version-kind';
const DEFINITIONS = '#/definitions/';
const PARAMETERS = '#/parameters/';

type Values = Record<string, unknown>;

/** Returns the part whose paths begin with the prefix, without the definitions that only other paths use. */
export function partOf(document: unknown, pathPrefix: string): SwaggerPart {
  const { paths, definitions, parameters } = record(document);
  const kept = Object.entries(record(paths)).filter(([path]) => path.startsWith(pathPrefix));
  return withPaths({ paths: record(paths), definitions: record(definitions), parameters: record(parameters) }, new Map(kept));
}

function withPaths(part: SwaggerPart, paths: ReadonlyMap<string, unknown>): SwaggerPart {
  const before = usedDefinitions(part.paths, part.definitions);
  const used = usedDefinitions(Object.fromEntries(paths), part.definitions);
  const definitions = Object.entries(part.definitions).filter(([name]) => used.has(name) || !before.has(name));
  return { ...part, paths: Object.fromEntries(paths), definitions: Object.fromEntries(definitions) };
}

/** Returns the names of the definitions that are reached from the paths. */
function usedDefinitions(paths: unknown, definitions: Readonly<Values>): ReadonlySet<string> {
  const used = new Set<string>();
  const pending: unknown[] = [paths];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    forEachReference(value, (reference) => {
      if (!reference.startsWith(DEFINITIONS)) return;
      const name = reference.slice(DEFINITIONS.length);
      if (used.has(name)) return;
      used.add(name);
      if (Object.hasOwn(definitions, name)) pending.push(definitions[name]);
    });
  }
  return used;
}

/** Merges the parts into a copy of the document. */
export function mergeV2(document: OpenApiSchema, parts: readonly SwaggerPart[]): OpenApiSchema {
  const paths = { ...record(document['paths']) };
  const definitions = { ...record(document['definitions']) };
  const parameters = { ...record(document['parameters']) };
  for (const part of parts) mergePart({ paths, definitions, parameters }, part);
  return { ...document, paths, definitions, ...(Object.keys(parameters).length > 0 && { parameters }) };
}

function mergePart(target: { paths: Values; definitions: Values; parameters: Values }, part: SwaggerPart): void {
  const fresh = new Map(Object.entries(part.paths).filter(([path]) => !Object.hasOwn(target.paths, path)));
  if (fresh.size === 0) return;
  const source = fresh.size === Object.keys(part.paths).length ? part : withPaths(part, fresh);
  const definitionNames = renames(target.definitions, source.definitions, equalButKinds);
  const parameterNames = renames(target.parameters, source.parameters, deepEqual);
  const rename = (reference: string): string =>
    renamed(reference, DEFINITIONS, definitionNames) ?? renamed(reference, PARAMETERS, parameterNames) ?? reference;
  const rewritten = <T>(value: T): T =>
    definitionNames.size + parameterNames.size === 0 ? value : (withReferences(value, rename) as T);
  for (const [name, definition] of Object.entries(source.definitions)) {
    const key = definitionNames.get(name) ?? name;
    const present = target.definitions[key];
    target.definitions[key] = present === undefined ? rewritten(definition) : withKindsOf(present, definition);
  }
  for (const [name, parameter] of Object.entries(source.parameters)) {
    target.parameters[parameterNames.get(name) ?? name] ??= rewritten(parameter);
  }
  for (const [path, item] of fresh) target.paths[path] = rewritten(item);
}

/** Returns the new names of values that differ from one of the same name. */
function renames(
  target: Readonly<Values>,
  source: Readonly<Values>,
  equal: (a: unknown, b: unknown) => boolean,
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(Object.keys(target));
  for (const [name, value] of Object.entries(source)) {
    if (!Object.hasOwn(target, name) || equal(target[name], value)) continue;
    for (let n = 2; ; n++) {
      const candidate = `${name}_v${n}`;
      // The same value has been renamed before.
      const reused = Object.hasOwn(target, candidate) && equal(target[candidate], value);
      if (!reused && (taken.has(candidate) || Object.hasOwn(source, candidate))) continue;
      names.set(name, candidate);
      taken.add(candidate);
      break;
    }
  }
  return names;
}

function renamed(reference: string, prefix: string, names: ReadonlyMap<string, string>): string | undefined {
  if (!reference.startsWith(prefix)) return undefined;
  const name = names.get(reference.slice(prefix.length));
  return name === undefined ? undefined : prefix + name;
}

/** Descriptions do not count: this server's own documents have other texts than upstream's, and the types are the same. */
function equalButKinds(a: unknown, b: unknown): boolean {
  const { [KINDS]: _ofA, ...restA } = record(a);
  const { [KINDS]: _ofB, ...restB } = record(b);
  return deepEqual(withoutDescriptions(restA), withoutDescriptions(restB));
}

function withoutDescriptions(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutDescriptions);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key, value]) => key !== 'description' || typeof value !== 'string');
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutDescriptions(value)]));
}

/** Returns the definition, with the kinds of the other one added in order. */
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

function forEachReference(value: unknown, found: (reference: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    if (key === '$ref' && typeof child === 'string') found(child);
    else forEachReference(child, found);
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
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};
}
