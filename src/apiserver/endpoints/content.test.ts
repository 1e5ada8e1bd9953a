import { beforeEach, describe, expect, test } from 'vitest';

import { allSchemas } from '#api/all-schemas.ts';
import { encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import { handle, type RawRequest, send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

const t = serverPerTest();

const post = (body: RawRequest['body'], type = 'application/json', path = PATH) =>
  send(t.server, { method: 'POST', path, headers: { 'content-type': type }, body });

describe('bodies', () => {
  test('may be YAML', async () => {
    const { code, json } = await post(
      'metadata:\n  name: a\ndata:\n  k: "yes"\n',
      'application/yaml; charset=utf-8',
    );
    expect(code).toBe(201);
    expect(json.data).toEqual({ k: 'yes' });
  });

  test('may be protobuf', async () => {
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
      data: { k: 'v' },
    };
    const { code, json } = await post(
      encodeProtobuf(allSchemas.message('core/v1.ConfigMap'), object),
      'application/vnd.kubernetes.protobuf',
    );
    expect(code).toBe(201);
    expect(json.data).toEqual({ k: 'v' });
    expect((await post('nonsense', 'application/vnd.kubernetes.protobuf')).code).toBe(400);
  });

  test.each([
    [
      'no JSON',
      '{"metadata":',
      'application/json',
      "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error",
    ],
    [
      'nothing',
      '',
      'application/json',
      'the object provided is unrecognized (must be of type ConfigMap)',
    ],
    [
      'a list',
      '[]',
      'application/json',
      'the object provided is unrecognized (must be of type ConfigMap)',
    ],
    [
      'a text',
      '"x"',
      'application/json',
      'the object provided is unrecognized (must be of type ConfigMap)',
    ],
    [
      'no YAML',
      'a: b: c',
      'application/yaml',
      'the object provided is unrecognized (must be of type ConfigMap)',
    ],
    [
      'deep nesting',
      `{"metadata":${'['.repeat(100_000)}`,
      'application/json',
      'the object provided is unrecognized',
    ],
    [
      'a kind that is no text',
      '{"kind":1}',
      'application/json',
      'cannot unmarshal number into Go struct field .kind of type string',
    ],
    [
      'another kind',
      '{"kind":"Pod","apiVersion":"v1"}',
      'application/json',
      'Pod in version "v1" cannot be handled as a ConfigMap',
    ],
    [
      'another version',
      '{"kind":"ConfigMap","apiVersion":"v2"}',
      'application/json',
      'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is ' +
        'registered for version "v2" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'a kind that does not exist',
      '{"kind":"Lamp","apiVersion":"v1"}',
      'application/json',
      'Lamp in version "v1" cannot be handled as a ConfigMap: no kind "Lamp" is registered for ' +
        'version "v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'a list',
      '[]',
      'application/json',
      "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value",
    ],
    [
      'a wrong type',
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":5}}',
      'application/json',
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field',
    ],
  ])('rejects %s', async (_what, body, type, message) => {
    const { code, json } = await post(body, type);
    expect(code).toBe(400);
    expect(json.reason).toBe('BadRequest');
    expect(json.message).toContain(message);
  });

  test('with an unsupported type is rejected', async () => {
    const { code, json } = await post('<a/>', 'application/xml');
    expect(code).toBe(415);
    expect(json).toMatchObject({
      reason: 'UnsupportedMediaType',
      message:
        'the body of the request was in an unknown format - accepted media types include: ' +
        'application/json, application/yaml, application/vnd.kubernetes.protobuf',
    });
  });

  test('integers that would lose precision are rejected', async () => {
    const body =
      '{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],' +
      '"activeDeadlineSeconds":9007199254740993}}';
    expect((await post(body, 'application/json', PODS)).code).toBe(400);
  });
});

describe('fieldValidation', () => {
  const body = '{"metadata":{"name":"a","colour":"red"},"data":{"k":"v","k":"w"},"dta":{}}';
  const problems = [
    'unknown field "metadata.colour"',
    'unknown field "dta"',
    'duplicate field "data.k"',
  ];

  test('warns by default', async () => {
    const { code, warnings, headers } = await post(body);
    expect(code).toBe(201);
    expect([...warnings].sort()).toEqual([...problems].sort());
    expect(headers['warning']).toContain('299 - "unknown field \\"dta\\""');
  });

  test('Strict rejects the object', async () => {
    const { code, json } = await post(body, 'application/json', `${PATH}?fieldValidation=Strict`);
    expect(code).toBe(400);
    expect(json.message).toMatch(
      /^ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: /,
    );
    for (const problem of problems) expect(json.message).toContain(problem);
  });

  test('Ignore reports nothing', async () => {
    const { code, warnings } = await post(
      body,
      'application/json',
      `${PATH}?fieldValidation=Ignore`,
    );
    expect(code).toBe(201);
    expect(warnings).toEqual([]);
  });

  test('applies to patches, too', async () => {
    await post({ metadata: { name: 'a' } });
    const request = {
      method: 'PATCH',
      path: `${PATH}/a?fieldValidation=Strict`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { dta: {} },
    };
    const { code, json } = await send(t.server, request);
    expect(code).toBe(422);
    expect(json.message).toContain('strict decoding error: unknown field "dta"');
    expect(json.details?.causes).toMatchObject([{ field: 'patch' }]);
    const warned = await send(t.server, { ...request, path: `${PATH}/a` });
    expect(warned).toMatchObject({ code: 200, warnings: ['unknown field "dta"'] });
  });

  test('has no other values', async () => {
    const { code, json } = await post(body, 'application/json', `${PATH}?fieldValidation=Maybe`);
    expect(code).toBe(422);
    expect(json.message).toContain('fieldValidation: Unsupported value: "Maybe"');
  });
});

describe('responses', () => {
  beforeEach(async () => {
    await post({ metadata: { name: 'a', labels: { l: 'x' } }, data: { k: 'v', n: 'w' } });
  });
  const get = (
    accept: string | undefined,
    path = `${PATH}/a`,
    headers: Record<string, string> = {},
  ) => send(t.server, { path, headers: { ...headers, ...(accept !== undefined && { accept }) } });

  test.each([
    undefined,
    '*/*',
    'application/json',
    'text/html,application/json',
    'application/*;q=0.5, */*;q=0.1',
  ])('are JSON for %s', async (accept) => {
    const { code, headers, json } = await get(accept);
    expect(code).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toBe('no-cache, private');
    expect(json.data).toEqual({ k: 'v', n: 'w' });
  });

  test('may be YAML', async () => {
    const { headers, text } = await get('application/yaml');
    expect(headers['content-type']).toBe('application/yaml');
    expect(text).toContain('data:\n  k: v\n');
    expect((await get('application/yaml', PATH)).text).toContain('kind: ConfigMapList');
  });

  test('may be indented', async () => {
    for (const { text } of [
      await get(undefined, `${PATH}/a?pretty=true`),
      await get(undefined, `${PATH}/a`, { 'user-agent': 'curl/8.0' }),
    ]) {
      expect(text).toContain('{\n  "kind": "ConfigMap",');
    }
    expect(
      (await get(undefined, `${PATH}/a?pretty=false`, { 'user-agent': 'curl/8.0' })).text,
    ).not.toContain('\n ');
  });

  test.each([
    ['text/html', 'Available representations: application/json'],
    ['application/xml, text/*', 'Available representations: application/json'],
    [
      'application/json;as=Table;v=v9;g=meta.k8s.io',
      'only the following media types are accepted: application/json',
    ],
  ])('are rejected for %s', async (accept, message) => {
    const { code, json } = await get(accept);
    expect(code).toBe(406);
    expect(json).toMatchObject({
      reason: 'NotAcceptable',
      message: expect.stringContaining(message),
    });
  });

  test('that the client does not accept are not produced', async () => {
    const { code } = await send(t.server, {
      method: 'POST',
      path: PATH,
      headers: { accept: 'text/html' },
      body: { metadata: { name: 'b' } },
    });
    expect(code).toBe(406);
    expect((await send(t.server, { path: `${PATH}/b` })).code).toBe(404);
  });

  const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

  test('may be tables', async () => {
    const { json } = await get(TABLE, PATH);
    expect(json).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(json.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Data', 'Age']);
    expect(json.rows).toMatchObject([
      {
        cells: ['a', 2, '0s'],
        object: {
          kind: 'PartialObjectMetadata',
          apiVersion: 'meta.k8s.io/v1',
          metadata: { name: 'a' },
        },
      },
    ]);
    const single = (await get(TABLE)).json;
    expect(single.rows).toHaveLength(1);
    expect((await get(TABLE, `${PATH}?includeObject=Object`)).json.rows[0]?.object).toMatchObject({
      kind: 'ConfigMap',
      data: { k: 'v' },
    });
    expect((await get(TABLE, `${PATH}?includeObject=None`)).json.rows[0]?.object).toBeNull();
    expect((await get(TABLE, `${PATH}?includeObject=Some`)).code).toBe(400);
    const missing = await get(TABLE, `${PATH}/none`);
    expect(missing.json).toMatchObject({ kind: 'Status', code: 404 });
  });

  test('of tables may have the identifying metadata only, for clients that ask for it', async () => {
    const { json } = await get(TABLE.replace(',', ';metadata=identity,'), PATH);
    expect(json.kind).toBe('Table');
    const [row] = json.rows as readonly { readonly object: { readonly metadata: object } }[];
    expect(Object.keys(row?.object ?? {})).toEqual(['metadata']);
    expect(Object.keys(row?.object.metadata ?? {}).toSorted()).toEqual([
      'creationTimestamp',
      'labels',
      'name',
      'namespace',
      'resourceVersion',
      'uid',
    ]);
    const other = (await get(TABLE.replace(',', ';metadata=some,'), PATH)).json;
    expect(other.rows).toMatchObject([{ object: { kind: 'PartialObjectMetadata' } }]);
  });

  test('of kinds that can only be created are never tables', async () => {
    const answer = await send(t.server, {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      body: {
        kind: 'SelfSubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        spec: { nonResourceAttributes: { path: '/', verb: 'get' } },
      },
    });
    expect(answer.code).toBe(406);
  });

  test('may be metadata only', async () => {
    const one = await get('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io');
    expect(one.json).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a' } });
    expect(one.json.data).toBeUndefined();
    const all = await get('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io', PATH);
    expect(all.json).toMatchObject({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      items: [{ metadata: { name: 'a' } }],
    });
  });

  test('of watches may be tables, whose columns are sent once', async () => {
    const { body } = await handle(t.server, {
      path: `${PATH}?watch=1`,
      headers: { accept: TABLE },
    });
    if (body.kind !== 'watch') throw new Error('no watch');
    await post({ metadata: { name: 'b' } });
    const tables: unknown[] = [];
    for await (const event of body.events) {
      tables.push(event.object.object());
      if (tables.length === 2) break;
    }
    expect(tables).toMatchObject([
      {
        kind: 'Table',
        columnDefinitions: [{ name: 'Name' }, {}, {}],
        rows: [{ cells: ['a', 2, '0s'] }],
      },
      { kind: 'Table', columnDefinitions: null, rows: [{ cells: ['b', 0, '0s'] }] },
    ]);
  });

  test('a bookmark in a table is a row of an object without content', async () => {
    const query =
      'watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
    const { body } = await handle(t.server, {
      path: `${PATH}?${query}`,
      headers: { accept: TABLE },
    });
    if (body.kind !== 'watch') throw new Error('no watch');
    for await (const { type, object } of body.events) {
      if (type !== 'BOOKMARK') continue;
      expect(object.object()).toMatchObject({ rows: [{ cells: ['', 0, '<unknown>'] }] });
      break;
    }
  });

  test('of the status may be tables, with the columns of the kind', async () => {
    const { json } = await get(TABLE, '/api/v1/namespaces/default/status');
    expect(json.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Status', 'Age']);
    expect(json.rows[0]?.cells.slice(0, 2)).toEqual(['default', 'Active']);
  });

  test('that are long are compressed if the client accepts it', async () => {
    const { gunzipSync } = await import('node:zlib');
    await post({ metadata: { name: 'long' }, data: { text: 'x'.repeat(300_000) } });
    for (const path of [`${PATH}/long`, PATH]) {
      const { headers, bytes } = await get(undefined, path, { 'accept-encoding': 'br, gzip' });
      expect(headers['content-encoding']).toBe('gzip');
      expect(bytes.length).toBeLessThan(30_000);
      expect(gunzipSync(bytes).toString()).toContain('x'.repeat(300_000));
      expect(
        (await get(undefined, path, { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'],
      ).toBeUndefined();
    }
    expect(
      (await get(undefined, `${PATH}/a`, { 'accept-encoding': 'gzip' })).headers[
        'content-encoding'
      ],
    ).toBeUndefined();
  });
});

describe('paths', () => {
  test.each([
    '/api/v1/foos',
    '/apis/apps/v9/deployments',
    '/api/v1/configmaps/a',
    '/api/v1/namespaces/default/configmaps/a/status',
    '/api/v1/namespaces/default/pods/p/status/more',
  ])('%s is not found', async (path) => {
    const { code, json } = await send(t.server, { path });
    expect(code).toBe(404);
    expect(json).toMatchObject({
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    });
  });

  test.each(['/apis/none/v1/foos', '/nowhere'])('%s is nowhere', async (path) => {
    const { code, text } = await send(t.server, { path });
    expect(code).toBe(404);
    expect(text).toBe('404 page not found\n');
  });

  test.each([
    ['POST', `${PATH}/a`],
    ['PUT', PATH],
    ['PATCH', PATH],
    ['OPTIONS', PATH],
    ['POST', '/api/v1/configmaps'],
    ['DELETE', '/api/v1/configmaps'],
    ['GET', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'],
    ['DELETE', `${PODS}/p/status`],
  ])('%s %s is not served', async (method, path) => {
    const { code, json } = await send(t.server, { method, path, body: {} });
    expect(code).toBe(405);
    expect(json.reason).toBe('MethodNotAllowed');
  });

  test.each([PATH, `${PATH}/none`, `${PODS}/p/status`, `${PODS}/p/log`])(
    'HEAD %s is not served',
    async (path) => {
      const { code, bytes } = await send(t.server, { method: 'HEAD', path });
      expect([code, bytes.length]).toEqual([405, 0]);
    },
  );

  test('an invalid percent-encoding is a bad request', async () => {
    expect((await send(t.server, { path: '/api/v1/namespaces/%zz/configmaps' })).code).toBe(400);
  });

  test('names are decoded, and cannot lead to other paths', async () => {
    await post({ metadata: { name: 'a' } });
    expect((await send(t.server, { path: '/api/v1/namespaces/default/configmaps/%61' })).code).toBe(
      200,
    );
    expect(
      (await send(t.server, { path: '/api/v1/namespaces/x/configmaps/..%2Fdefault%2Fa' })).code,
    ).toBe(404);
    expect(
      (await send(t.server, { path: '/api/v1/namespaces/default%2F..%2Fdefault/configmaps/a' }))
        .code,
    ).toBe(404);
  });
});
