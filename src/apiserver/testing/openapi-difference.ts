// Compares two OpenAPI v2 documents. The result has lines for paths, verbs, operations, and
// definitions with types, formats, required lists and x-kubernetes keys. Descriptions are not
// compared, and neither are enums, which a published document leaves out.

import { deepEqual, isPlainObject } from '#machinery/deep.ts';

type Values = Readonly<Record<string, unknown>>;

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Values>>;
  readonly definitions: Readonly<Record<string, object>>;
  readonly parameters?: Values;
}

/** Parameters of features that are disabled in Kubernetes, too, by default. */
const PARAMETERS_NOT_HERE = ['shardSelector', 'ignoreStoreReadErrorWithClusterBreakingPotential'];
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];
const DEFINITIONS = '#/definitions/';

/**
 * Returns the group version of a path: 'apps/v1' for '/apis/apps/v1/…', 'v1' for '/api/v1/…';
 * undefined for other paths.
 */
export function groupVersionOf(path: string): string | undefined {
  const [, root, first, second] = path.split('/');
  if (root === 'api' && (first ?? '') !== '') return first;
  return root === 'apis' && (second ?? '') !== '' ? `${first}/${second}` : undefined;
}

export interface OpenApiDifference {
  /** Versions that `published` has and `ours` does not have at all. */
  readonly missingVersions: readonly string[];
  /** All other differences, sorted, as '<group version>: …'. */
  readonly lines: readonly string[];
}

/** Compares the groups and versions that `ours` has. */
export function openApiDifference(
  ours: OpenApiDocument,
  published: OpenApiDocument,
): OpenApiDifference {
  const versions = new Set(Object.keys(ours.paths).flatMap((path) => groupVersionOf(path) ?? []));
  const missing = new Set(
    Object.keys(published.paths).flatMap((path) => groupVersionOf(path) ?? []),
  );
  for (const version of versions) missing.delete(version);
  const lines: string[] = [];
  const isServed = (path: string): boolean => versions.has(groupVersionOf(path) ?? '');
  const paths = new Set(
    [...Object.keys(ours.paths), ...Object.keys(published.paths)].filter(isServed),
  );
  for (const path of paths) {
    const report = (text: string): number => lines.push(`${groupVersionOf(path)}: ${text}`);
    const [mine, theirs] = [ours.paths[path], published.paths[path]];
    if (mine === undefined || theirs === undefined) {
      report(`${mine === undefined ? 'no' : 'more than published:'} ${path}`);
      continue;
    }
    for (const method of METHODS) {
      const [a, b] = [operation(ours, mine, method), operation(published, theirs, method)];
      if (a === undefined && b === undefined) continue;
      if (a === undefined || b === undefined)
        report(`${a === undefined ? 'no' : 'more than published:'} ${method} ${path}`);
      else for (const line of different(a, b, '')) report(`${method} ${path}${line}`);
    }
  }
  const expected = reachable(published, isServed);
  const served = reachable(ours, isServed);
  for (const name of new Set([...served, ...expected])) {
    const [mine, theirs] = [ours.definitions[name], published.definitions[name]];
    if (!served.has(name) || mine === undefined) lines.push(`definitions: no ${name}`);
    else if (!expected.has(name) || theirs === undefined)
      lines.push(`definitions: more than published: ${name}`);
    else
      for (const line of different(definition(mine, versions), definition(theirs, versions), ''))
        lines.push(`definitions: ${name}${line}`);
  }
  return { missingVersions: [...missing].toSorted(), lines: lines.toSorted() };
}

function operation(document: OpenApiDocument, item: Values, method: string): Values | undefined {
  const operationObject = item[method];
  if (!isPlainObject(operationObject)) return undefined;
  const parameters = [...list(operationObject['parameters']), ...list(item['parameters'])]
    .map((parameter) => resolved(document, parameter))
    .filter(({ name }) => !PARAMETERS_NOT_HERE.includes(String(name)))
    .map((parameter) => [
      `${String(parameter['in'])} ${String(parameter['name'])}`,
      withoutDescriptions(parameter),
    ]);
  return {
    ...(withoutDescriptions(operationObject) as Values),
    parameters: Object.fromEntries(parameters),
    responses: operationObject['responses'],
    consumes: withoutCbor(operationObject['consumes']),
    produces: withoutCbor(operationObject['produces']),
  };
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const withoutCbor = (types: unknown): readonly unknown[] =>
  list(types).filter((type) => !String(type).includes('cbor'));

function resolved(document: OpenApiDocument, parameter: unknown): Values {
  const { $ref } = parameter as { readonly $ref?: string };
  const definitions =
    $ref === undefined ? parameter : document.parameters?.[$ref.slice('#/parameters/'.length)];
  return isPlainObject(definitions) ? definitions : {};
}

/**
 * Returns a definition for comparison. Some types are shared by all groups and list them; only the
 * groups in both documents count.
 */
function definition(schema: object, versions: ReadonlySet<string>): unknown {
  const clean = withoutDescriptions(schema) as Record<string, unknown>;
  const kinds = clean['x-kubernetes-group-version-kind'];
  if (!Array.isArray(kinds)) return clean;
  const isHere = (kind: unknown): boolean => {
    const { group, version } = kind as { readonly group: string; readonly version: string };
    return versions.has(group === '' ? version : `${group}/${version}`);
  };
  const here = kinds
    .filter(isHere)
    .map((kind) => JSON.stringify(kind))
    .toSorted();
  return { ...clean, 'x-kubernetes-group-version-kind': here };
}

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      (key === 'description' && typeof item === 'string') || (key === 'enum' && Array.isArray(item))
        ? []
        : [[key, withoutDescriptions(item)]],
    ),
  );
}

function* different(a: unknown, b: unknown, at: string): Generator<string> {
  if (deepEqual(a, b)) return;
  if (isPlainObject(a) && isPlainObject(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)]))
      yield* different(a[key], b[key], `${at} ${key}`);
  } else yield `${at}: ${JSON.stringify(a)} instead of ${JSON.stringify(b)}`;
}

/** Returns the names of the definitions that the paths refer to, directly or indirectly. */
function reachable(document: OpenApiDocument, isServed: (path: string) => boolean): Set<string> {
  const names = new Set<string>();
  const collect = (value: unknown): void => {
    JSON.stringify(value, (key, item: unknown) => {
      if (key === '$ref' && String(item).startsWith(DEFINITIONS))
        names.add(String(item).slice(DEFINITIONS.length));
      return item;
    });
  };
  for (const [path, item] of Object.entries(document.paths)) if (isServed(path)) collect(item);
  for (const parameter of Object.values(document.parameters ?? {})) collect(parameter);
  for (const name of names) collect(document.definitions[name]);
  return names;
}
