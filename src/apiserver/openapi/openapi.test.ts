// The OpenAPI documents: they are complete and consistent in all forms, and the same as
// Kubernetes'.

import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { Api } from '../testing/api.ts';
import { define, definitionOf } from '../testing/custom-resources.ts';
import { type RawResponse, send } from '../testing/requests.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';
import { readDocument } from '../testing/openapi-protobuf.ts';

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const PROTOBUF_ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly type?: string;
  readonly required?: boolean;
  readonly uniqueItems?: boolean;
  readonly schema?: object;
}
interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly schemes: readonly string[];
  readonly consumes?: readonly string[];
  readonly produces: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly schema?: object }>
  >;
  readonly 'x-kubernetes-action'?: string;
  readonly 'x-kubernetes-group-version-kind'?: object;
}
type PathItem = { readonly [method in (typeof METHODS)[number]]?: Operation } & {
  readonly parameters?: readonly Parameter[];
};
interface DocumentV2 {
  readonly swagger: string;
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly definitions: Readonly<Record<string, object>>;
  readonly parameters?: Readonly<Record<string, Parameter>>;
}

let t: TestServer;
let v2: DocumentV2;
beforeAll(async () => {
  t = await startTestServer();
  v2 = (await get('/openapi/v2')).json as unknown as DocumentV2;
});
afterAll(() => t.stop());

const get = (path: string, headers: Record<string, string> = {}): Promise<RawResponse> =>
  send(t.server, { path, headers });

interface FoundOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
}

/** Returns all operations with resolved parameters. */
function operationsOf(document: DocumentV2): FoundOperation[] {
  const resolved = (parameter: Parameter): Parameter =>
    parameter.$ref === undefined
      ? parameter
      : document.parameters![parameter.$ref.slice('#/parameters/'.length)]!;
  return Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const parameters = [...(operation.parameters ?? []), ...(item.parameters ?? [])].map(
        resolved,
      );
      return [{ path, method, operation, parameters }];
    }),
  );
}

function references(document: unknown, prefix: string): Set<string> {
  const names = new Set<string>();
  JSON.stringify(document, (key, value: unknown) => {
    // A field may also be named $ref.
    if (key === '$ref' && typeof value === 'string') names.add(value.slice(prefix.length));
    return value;
  });
  return names;
}

describe('version 2', () => {
  test('has a definition for every reference, and a reference to every definition', () => {
    const { definitions, ...rest } = v2;
    const reached = references(rest, '#/definitions/');
    for (const name of reached)
      for (const next of references(definitions[name], '#/definitions/')) reached.add(next);
    // Operations with patches refer to this definition by name only.
    expect([...reached].toSorted()).toEqual(Object.keys(definitions).toSorted());
  });

  test('has unique operation IDs', () => {
    const ids = operationsOf(v2).map(({ operation }) => operation.operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) < index)).toEqual([]);
  });

  test('has each parameter of a path, and each parameter once', () => {
    for (const { path, method, parameters } of operationsOf(v2)) {
      const inPath = parameters
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name);
      expect({ path, method, inPath: inPath.toSorted() }).toEqual({
        path,
        method,
        inPath: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!).toSorted(),
      });
      const keys = parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect({
        path,
        method,
        twice: keys.filter((key, index) => keys.indexOf(key) < index),
      }).toEqual({
        path,
        method,
        twice: [],
      });
    }
  });

  /** Returns the tag of a group: rbacAuthorization for 'rbac.authorization.k8s.io'. */
  const tagOf = (group: string) =>
    group.replace('.k8s.io', '').replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase());

  test('has every verb of discovery', async () => {
    const api = new Api(t);
    const actions = new Map<string, Set<string>>();
    for (const { path, operation } of operationsOf(v2)) {
      const resource = path
        .replace(/^\/(api|apis\/[^/]+)\/[^/]+\/(namespaces\/\{namespace\}\/)?/, '')
        .replace('/{name}', '');
      const key = `${operation.tags[0]} ${resource}`;
      actions.set(key, (actions.get(key) ?? new Set()).add(operation['x-kubernetes-action'] ?? ''));
    }
    const { groups } = (await api.get('/apis')).json as unknown as {
      groups: { name: string; preferredVersion: { groupVersion: string } }[];
    };
    const verbs: Readonly<Record<string, string>> = {
      create: 'post',
      update: 'put',
      watch: 'list',
    };
    let checked = 0;
    for (const { name, root } of [
      { name: 'core', root: '/api/v1' },
      ...groups.map((group) => ({
        name: tagOf(group.name),
        root: `/apis/${group.preferredVersion.groupVersion}`,
      })),
    ]) {
      const { resources } = (await api.get(root)).json as unknown as {
        resources: { name: string; kind: string; verbs: string[] }[];
      };
      for (const resource of resources) {
        const described = actions.get(`${name}_v1 ${resource.name}`) ?? new Set();
        if (described.has('connect')) continue;
        for (const verb of resource.verbs) {
          expect({
            resource: resource.name,
            described: [...described],
            has: described.has(verbs[verb] ?? verb),
          }).toMatchObject({
            has: true,
          });
          checked++;
        }
      }
    }
    expect(checked).toBeGreaterThan(100);
  });

  test('is the same in protobuf', async () => {
    const answer = await get('/openapi/v2', { accept: PROTOBUF });
    expect(answer.headers['content-type']).toBe(PROTOBUF_ANSWERED);
    expect(readDocument(answer.bytes)).toEqual(v2);
  });

  test.each<[accept: string, expected: string | number]>([
    ['', 'application/json'],
    ['application/json', 'application/json'],
    ['*/*', 'application/json'],
    [PROTOBUF, PROTOBUF_ANSWERED],
    [PROTOBUF_ANSWERED, PROTOBUF_ANSWERED],
    [`${PROTOBUF}, application/json;q=0.5`, PROTOBUF_ANSWERED],
    ['text/html', 406],
  ])('for requests that accept %j', async (accept, expected) => {
    const answer = await get('/openapi/v2', accept === '' ? {} : { accept });
    expect(answer.code === 200 ? answer.headers['content-type'] : answer.code).toBe(expected);
  });

  test.each([['application/json'], [PROTOBUF]])(
    'is sent compressed if the client accepts that: %s',
    async (accept) => {
      const plain = await get('/openapi/v2', { accept });
      const answer = await get('/openapi/v2', { accept, 'accept-encoding': 'gzip' });
      expect(answer.headers).toMatchObject({
        'content-encoding': 'gzip',
        'content-length': String(answer.bytes.length),
        vary: 'Accept, Accept-Encoding',
      });
      expect(answer.headers['etag']).toBe(plain.headers['etag']);
      expect(gunzipSync(answer.bytes).equals(plain.bytes)).toBe(true);
      expect(plain.headers).toMatchObject({ 'content-length': String(plain.bytes.length) });
      const head = await send(t.server, {
        method: 'HEAD',
        path: '/openapi/v2',
        headers: { accept, 'accept-encoding': 'gzip' },
      });
      expect([head.code, head.bytes.length, head.headers['content-length']]).toEqual([
        200,
        0,
        String(answer.bytes.length),
      ]);
    },
  );

  test('is passed as a value to clients in the process', async () => {
    const value = await t.client.transport.request({ method: 'GET', path: '/openapi/v2' });
    expect(value).toEqual(v2);
  });

  test('is not sent again to a client that has it', async () => {
    for (const accept of ['application/json', PROTOBUF]) {
      const { headers } = await get('/openapi/v2', { accept });
      const again = await get('/openapi/v2', {
        accept,
        'if-none-match': headers['etag'] as string,
      });
      expect([again.code, again.bytes.length]).toEqual([304, 0]);
      expect((await get('/openapi/v2', { accept, 'if-none-match': '*' })).code).toBe(304);
    }
  });
});

describe('version 3', () => {
  const index = async (): Promise<
    Readonly<Record<string, { readonly serverRelativeURL: string }>>
  > =>
    (
      (await get('/openapi/v3')).json as unknown as {
        paths: Record<string, { serverRelativeURL: string }>;
      }
    ).paths;

  test('has a document for each group and version', async () => {
    expect(Object.keys(await index())).toEqual(
      expect.arrayContaining(['api/v1', 'apis/apps/v1', 'apis/coordination.k8s.io/v1']),
    );
  });

  test('has a document for each other path', async () => {
    expect(Object.keys(await index())).toEqual(
      expect.arrayContaining(['api', 'apis', 'apis/apps', 'version']),
    );
    expect((await get('/openapi/v3/version')).json).toMatchObject({
      paths: {
        '/version/': {
          get: {
            operationId: 'getCodeVersion',
            responses: {
              200: {
                content: {
                  'application/json': {
                    schema: { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.version.Info' },
                  },
                },
              },
            },
          },
        },
      },
    });
  });

  test('has documents of the issuer of tokens, if there is one', async () => {
    const paths = ['.well-known/openid-configuration', 'openid/v1/jwks'];
    expect(Object.keys(await index())).not.toEqual(expect.arrayContaining(paths));
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const other = await startTestServer({ serviceAccounts: { signingKey } });
    for (const path of paths) {
      const { json } = await send(other.server, { path: `/openapi/v3/${path}`, headers: {} });
      expect(Object.keys((json as unknown as { paths: object }).paths)).toEqual([`/${path}/`]);
    }
    await other.stop();
  });

  test('has documents of custom kinds in upstream’s form', async () => {
    const other = await startTestServer();
    await define(other.client, definitionOf());
    const { json } = await send(other.server, { path: '/openapi/v3/apis/example.com/v1' });
    const document = json as unknown as {
      info: object;
      paths: Record<string, Record<string, Operation>>;
      components: object;
    };
    expect(document.info).toEqual({ title: 'Kubernetes CRD Swagger', version: 'v0.1.0' });
    expect(document.components).not.toHaveProperty('securitySchemes');
    const namesOf = (path: string, method: string): string[] =>
      (document.paths[path]?.[method]?.parameters ?? []).map(({ name }) => name);
    const collection = '/apis/example.com/v1/namespaces/{namespace}/widgets';
    expect(namesOf(`${collection}/{name}`, 'get')).toContain('resourceVersion');
    expect(namesOf(collection, 'delete').toSorted()).toEqual(namesOf(collection, 'get').toSorted());
    await other.stop();
  });

  test('together they have the operations of version 2', async () => {
    const ids = new Set<string>();
    for (const { serverRelativeURL } of Object.values(await index())) {
      const { code, json } = await get(serverRelativeURL);
      expect(code).toBe(200);
      const document = json as unknown as {
        openapi: string;
        paths: Record<string, Record<string, Operation>>;
        components: { schemas: Record<string, object> };
      };
      expect(document.openapi).toBe('3.0.0');
      const { components, ...rest } = document;
      const reached = references(rest, '#/components/schemas/');
      for (const name of reached) {
        for (const next of references(components.schemas[name], '#/components/schemas/'))
          reached.add(next);
      }
      expect(Object.keys(components.schemas).toSorted()).toEqual([...reached].toSorted());
      for (const item of Object.values(document.paths)) {
        for (const operation of Object.values(item)) ids.add(operation.operationId);
      }
    }
    const expected = operationsOf(v2).map(({ operation }) => operation.operationId);
    expect([...ids].toSorted()).toEqual(expected.toSorted());
  });

  test('may be cached when requested by hash', async () => {
    const { serverRelativeURL } = (await index())['apis/apps/v1'] as { serverRelativeURL: string };
    expect((await get(serverRelativeURL)).headers['cache-control']).toBe('public, immutable');
    expect((await get('/openapi/v3/apis/apps/v1')).headers['cache-control']).toBe(
      'no-cache, private',
    );
    const old = await get('/openapi/v3/apis/apps/v1?hash=OLD');
    expect([old.code, old.headers['location']]).toEqual([301, serverRelativeURL]);
  });

  test('of unknown paths', async () => {
    for (const path of ['apis/nope/v1', '', 'apis/apps/v1/'])
      expect((await get(`/openapi/v3/${path}`)).code).toBe(404);
    expect(await get('/openapi/v2/')).toMatchObject({ code: 404, text: '404 page not found\n' });
    expect((await send(t.server, { method: 'POST', path: '/openapi/v3', body: {} })).code).toBe(
      405,
    );
  });
});

const reference = fileURLToPath(
  new URL('../../../../shared/reference/openapi-v2.json', import.meta.url),
);
/** Parameters of features that are disabled in Kubernetes, too, by default. */
const NOT_HERE = ['shardSelector', 'ignoreStoreReadErrorWithClusterBreakingPotential'];
const withoutCbor = (types: readonly string[] = []): string[] =>
  types.filter((type) => !type.includes('cbor'));

describe.skipIf(!existsSync(reference))(
  'the published document (skipped where ../shared/reference is not at hand)',
  () => {
    /** Removes descriptions, which are not upstream's. */
    const comparable = ({ operation, parameters }: FoundOperation): unknown => ({
      operationId: operation.operationId,
      tags: operation.tags,
      schemes: operation.schemes,
      consumes: withoutCbor(operation.consumes),
      produces: withoutCbor(operation.produces),
      action: operation['x-kubernetes-action'],
      kind: operation['x-kubernetes-group-version-kind'],
      responses: operation.responses,
      parameters: parameters
        .filter(({ name }) => !NOT_HERE.includes(name))
        .map(({ name, in: place, type, required, uniqueItems, schema }) => ({
          name,
          place,
          type,
          required,
          uniqueItems,
          schema,
        }))
        .toSorted((a, b) => (`${a.place} ${a.name}` < `${b.place} ${b.name}` ? -1 : 1)),
    });

    test('has the same operations', () => {
      const published = new Map(
        operationsOf(JSON.parse(readFileSync(reference, 'utf8')) as DocumentV2).map((operation) => [
          `${operation.method} ${operation.path}`,
          operation,
        ]),
      );
      const ours = operationsOf(v2);
      for (const own of ours) {
        const key = `${own.method} ${own.path}`;
        const upstream = published.get(key);
        expect(upstream, key).toBeDefined();
        expect({ key, operation: comparable(own) }).toEqual({
          key,
          operation: comparable(upstream!),
        });
      }
      expect(ours.length).toBeGreaterThan(180);
    });
  },
);
