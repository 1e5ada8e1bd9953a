// Compares the OpenAPI documents of two servers: version 2, the index of version 3, and every
// document in it. Descriptions are not compared, and neither is where a parameter is declared.

import { isPlainObject } from '#machinery/deep.ts';
import type { Remote } from './remote.ts';
import type { ReportLines } from './report.ts';

type Values = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];
/** Parameters that upstream describes, though their features are off. */
const NOT_HERE = ['shardSelector', 'ignoreStoreReadErrorWithClusterBreakingPotential'];

export async function compareOpenApi(
  ours: Remote,
  theirs: Remote,
  report: ReportLines,
): Promise<void> {
  const compare = async (path: string): Promise<void> => {
    const [mine, other] = [await documentAt(ours, path), await documentAt(theirs, path)];
    report(`openapi: GET ${path}`, [...differences(comparable(mine), comparable(other), '')]);
  };
  await compare('/openapi/v2');
  const [mine, other] = [await pathsOf(ours), await pathsOf(theirs)];
  report('openapi: GET /openapi/v3', [...differences(mine, other, '')]);
  for (const path of Object.keys(mine)) if (path in other) await compare(`/openapi/v3/${path}`);
}

async function documentAt(server: Remote, path: string): Promise<Values> {
  const { text } = await server.wire({ path, headers: { accept: 'application/json' } });
  return JSON.parse(text) as Values;
}

/** Returns the paths of the index of version 3, without the hashes. */
async function pathsOf(server: Remote): Promise<Values> {
  const { paths } = await documentAt(server, '/openapi/v3');
  return Object.fromEntries(Object.keys(paths as Values).map((path) => [path, 'there']));
}

function comparable(document: Values): unknown {
  const { paths, parameters, ...rest } = document;
  const items = Object.entries(paths as Values).map(([path, item]) => [
    path,
    pathItem(item as Values, (parameters ?? {}) as Values),
  ]);
  return { ...(plain(rest) as Values), paths: Object.fromEntries(items) as unknown };
}

/** Returns the operations of a path, each with all its parameters by place and name. */
function pathItem(item: Values, shared: Values): unknown {
  const operations = METHODS.flatMap((method) => {
    const operation = item[method] as Values | undefined;
    if (operation === undefined) return [];
    const parameters = [...list(operation['parameters']), ...list(item['parameters'])]
      .map((parameter) => resolved(parameter as Values, shared))
      .filter(({ name }) => !NOT_HERE.includes(name as string))
      .map((parameter) => [`${String(parameter['in'])} ${String(parameter['name'])}`, parameter]);
    return [
      [method, plain({ ...operation, parameters: Object.fromEntries(parameters) as unknown })],
    ];
  });
  return Object.fromEntries(operations);
}

function resolved(parameter: Values, shared: Values): Values {
  const name = (parameter['$ref'] as string | undefined)?.slice('#/parameters/'.length);
  return name === undefined ? parameter : (shared[name] as Values);
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isCbor = (text: unknown): boolean => typeof text === 'string' && text.includes('/cbor');

/** Removes descriptions, CBOR, and what wraps a reference that has a description. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isCbor(item)).map(plain);
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).filter(
    ([key, item]) => !(key === 'description' && typeof item === 'string') && !isCbor(key),
  );
  const [first] = entries;
  const isWrapper = entries.length === 1 && first?.[0] === 'allOf' && list(first[1]).length === 1;
  if (isWrapper) return plain(list(first[1])[0]);
  return Object.fromEntries(entries.map(([key, item]) => [key, plain(item)]));
}

function* differences(mine: unknown, other: unknown, at: string): Generator<string> {
  if (isPlainObject(mine) && isPlainObject(other)) {
    for (const key of new Set([...Object.keys(mine), ...Object.keys(other)]))
      yield* differences(mine[key], other[key], `${at} ${key}`);
    return;
  }
  const [a, b] = [mine, other].map((value) =>
    value === undefined ? 'nothing' : JSON.stringify(value),
  );
  if (a !== b) yield `${at.trim()}: ${a}, reference ${b}`;
}
