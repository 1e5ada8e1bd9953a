// OpenAPI v2 built from parts: which parts are built again after a change, both formats, and merged
// documents of other servers.

import { gunzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { newDefaultScheme } from '#api/default-scheme.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { Catalog } from '../../catalog/catalog.ts';
import type { Kind } from '../../catalog/kind.ts';
import { readDocument } from '../../testing/openapi-protobuf.ts';
import { widgetType } from '../../testing/widgets.ts';
import type { SwaggerPart } from '../remote-documents.ts';
import type { CompressedDocument } from '../served-document.ts';
import { V2Documents } from './documents.ts';
import { JSON_FORMAT, PROTOBUF_FORMAT } from './formats.ts';

interface Document {
  readonly paths: Readonly<Record<string, object>>;
  readonly definitions: Readonly<Record<string, object>>;
  readonly parameters?: object;
}

const scheme = newDefaultScheme();
const info = { title: 'Kubernetes', version: 'v1.36.3' };
const NONE: readonly SwaggerPart[] = [];

/** The number of times that the definitions of each kind were built. */
let defined: Map<string, number>;
let catalog: Catalog;
let json: V2Documents;
let binary: V2Documents;

beforeEach(() => {
  defined = new Map();
  catalog = new Catalog();
  json = new V2Documents({ scheme, info, others: [], format: JSON_FORMAT });
  binary = new V2Documents({ scheme, info, others: [], format: PROTOBUF_FORMAT });
});

const typed = (resource: string, kind: string): Kind => ({
  type: { ...widgetType('v1', '', resource), kind },
  rest: { get: () => Promise.reject(new Error('not called')) },
});

/** Returns a read-only custom kind, whose schema has a field with the given name. */
function custom(group: string, field = 'size'): Kind {
  const name = `${group.split('.').toReversed().join('.')}.v1.Widget`;
  const codec = {
    kind: { group, version: 'v1', kind: 'Widget' },
    openApi: {
      name,
      define: (definitions) => {
        defined.set(group, (defined.get(group) ?? 0) + 1);
        const properties = {
          [field]: { type: 'string', maxLength: 5, pattern: '^a' },
          count: { type: 'integer', minimum: -1.5 },
        };
        definitions.add(name, () => ({
          type: 'object',
          properties,
          'x-kubernetes-group-version-kind': [{ group }],
        }));
      },
    },
  } as Partial<ObjectCodec> as ObjectCodec;
  return { ...typed('widgets', 'Widget'), type: widgetType('v1', group), codec, isCustom: true };
}

const textOf = ({ pieces }: CompressedDocument): Buffer =>
  gunzipSync(Buffer.concat([...pieces.gzip()]));
const documentWith = async (remote = NONE): Promise<Document> =>
  JSON.parse(textOf(await json.of(catalog.snapshot(), remote)).toString('utf8')) as Document;
const inProtobuf = async (remote = NONE): Promise<Document> =>
  readDocument(textOf(await binary.of(catalog.snapshot(), remote))) as Document;

test('after a change, only the part of its group version is built again', async () => {
  catalog.install([typed('configmaps', 'ConfigMap'), typed('secrets', 'Secret')]);
  catalog.install([custom('a.example.com')]);
  const installed = catalog.install([custom('b.example.com')]);
  const before = await json.of(catalog.snapshot(), NONE);
  expect(await json.of(catalog.snapshot(), NONE)).toBe(before);
  expect(Object.fromEntries(defined)).toEqual({ 'a.example.com': 1, 'b.example.com': 1 });

  installed.replace([custom('b.example.com', 'color')]);
  const after = await json.of(catalog.snapshot(), NONE);
  expect(Object.fromEntries(defined)).toEqual({ 'a.example.com': 1, 'b.example.com': 2 });
  expect(after.hash).not.toBe(before.hash);
  expect(JSON.stringify((await documentWith()).definitions['com.example.b.v1.Widget'])).toContain(
    'color',
  );

  installed.uninstall();
  const { paths, definitions } = await documentWith();
  expect(Object.keys(paths).filter((path) => path.includes('example.com'))).toEqual([
    '/apis/a.example.com/v1/namespaces/{namespace}/widgets/{name}',
  ]);
  expect(Object.keys(definitions).filter((name) => name.startsWith('com.example'))).toEqual([
    'com.example.a.v1.Widget',
  ]);
  expect(defined.get('a.example.com')).toBe(1);
});

test('both formats have the same content, with and without custom kinds', async () => {
  catalog.install([typed('configmaps', 'ConfigMap')]);
  expect(await inProtobuf()).toEqual(await documentWith());
  catalog.install([custom('a.example.com')]);
  catalog.install([custom('b.example.com')]);
  expect(await inProtobuf()).toEqual(await documentWith());
});

test('definitions that only custom kinds use are present once', async () => {
  const scale = {
    name: 'scale',
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    rest: typed('', '').rest,
  };
  for (const group of ['a.example.com', 'b.example.com'])
    catalog.install([{ ...custom(group), subresources: [scale] }]);
  const text = textOf(await json.of(catalog.snapshot(), NONE)).toString('utf8');
  expect(text.split('"io.k8s.api.autoscaling.v1.ScaleSpec":')).toHaveLength(2);
  expect(await inProtobuf()).toEqual(JSON.parse(text));
});

const KINDS = 'x-kubernetes-group-version-kind';
const remotePart = (definitions: Readonly<Record<string, object>>): SwaggerPart => {
  const schema = { $ref: `#/definitions/${Object.keys(definitions)[0]}` };
  const get = {
    parameters: [{ $ref: '#/parameters/p' }],
    responses: { 200: { description: 'OK', schema } },
  };
  return {
    paths: { '/apis/r.example.com/v1/things': { get, parameters: [{ $ref: '#/parameters/p' }] } },
    definitions,
    parameters: { p: { in: 'query', name: 'pretty', type: 'string', uniqueItems: true } },
  };
};

test('documents of other servers are in both formats', async () => {
  catalog.install([typed('configmaps', 'ConfigMap'), custom('a.example.com')]);
  const own = await documentWith();
  const remote = [
    remotePart({
      'com.example.r.v1.Thing': {
        type: 'object',
        allOf: [{ type: 'object', additionalProperties: false }],
      },
    }),
  ];
  const merged = await documentWith(remote);
  expect(merged).toEqual({
    ...own,
    paths: { ...own.paths, ...remote[0]?.paths },
    definitions: { ...own.definitions, ...remote[0]?.definitions },
    parameters: remote[0]?.parameters,
  });
  expect(await inProtobuf(remote)).toEqual(merged);
});

test.each([['io.k8s.api.core.v1.ConfigMap'], ['com.example.a.v1.Widget']])(
  'an own definition that others have, too, gets their kinds, or theirs another name: %s',
  async (name) => {
    catalog.install([
      typed('configmaps', 'ConfigMap'),
      custom('a.example.com'),
      custom('b.example.com'),
    ]);
    const own = await documentWith();
    const kinds = (own.definitions[name] as Record<string, readonly object[]>)[KINDS] ?? [];
    const same = [
      remotePart({
        [name]: { ...own.definitions[name], [KINDS]: [{ group: 'zzz', version: 'v1', kind: 'Z' }] },
      }),
    ];
    const merged = await documentWith(same);
    expect(merged.definitions).toEqual({
      ...own.definitions,
      [name]: {
        ...own.definitions[name],
        [KINDS]: [...kinds, { group: 'zzz', version: 'v1', kind: 'Z' }],
      },
    });
    expect(await inProtobuf(same)).toEqual(merged);

    const other = [remotePart({ [name]: { type: 'string' } })];
    expect((await documentWith(other)).definitions).toEqual({
      ...own.definitions,
      [`${name}_v2`]: { type: 'string' },
    });
    // Without them, the document is unchanged.
    expect(await documentWith()).toEqual(own);
  },
);

test('an own path stays unchanged', async () => {
  catalog.install([typed('configmaps', 'ConfigMap'), custom('a.example.com')]);
  const own = await documentWith();
  const [path, typedPath] = [
    '/apis/a.example.com/v1/namespaces/{namespace}/widgets/{name}',
    '/api/v1/',
  ];
  expect(Object.keys(own.paths)).toEqual(expect.arrayContaining([path, typedPath]));
  const remote = [
    { paths: { [path]: {}, [typedPath]: {} }, definitions: { X: {} }, parameters: {} },
  ];
  expect(await documentWith(remote)).toEqual(own);
});
