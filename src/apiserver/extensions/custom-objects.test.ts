// Custom objects through the server, from the definition to the last deletion.

import { expect, test } from 'vitest';

import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { encodeForStorage } from '#api/machinery/codec/index.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { type Widget, widgetType } from '#apiserver/testing/widgets.ts';

const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';

const t = serverPerTest();
const api = new Api(t);

const widget = (name: string, spec: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  spec,
});

test('a definition is served until it is deleted', async () => {
  expect((await api.get(WIDGETS)).code).toBe(404);
  await define(t.client, definitionOf());
  const created = await api.post(WIDGETS, widget('a', { size: 1 }));
  expect([created.code, created.json]).toMatchObject([
    201,
    { metadata: { generation: 1 }, spec: { size: 1 } },
  ]);
  expect((await api.get(`${WIDGETS}/a`)).json.spec).toEqual({ size: 1 });
  const changed = await api.patch(`${WIDGETS}/a`, { spec: { size: 2 } });
  expect(changed.json).toMatchObject({ metadata: { generation: 2 }, spec: { size: 2 } });
  expect((await api.delete(`${WIDGETS}/a`)).code).toBe(200);
  expect((await api.get(WIDGETS)).json.items).toEqual([]);
});

const SCHEMA = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { size: { type: 'integer' }, color: { type: 'string', default: 'red' } },
    },
  },
};
const schema = { openAPIV3Schema: SCHEMA } as never;
const definitions = () => t.client.resource(customResourceDefinitions);
const patchDefinition = (patch: object) =>
  definitions().patch('widgets.example.com', 'application/merge-patch+json', patch);

/** Resolves once the condition holds. */
async function eventually(condition: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 200; turn++) {
    if (await condition()) return;
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  throw new Error('it did not come about');
}

test('a stored object with malformed metadata is read, corrected and deleted', async () => {
  await define(t.client, definitionOf());
  const metadata = { name: 'a', namespace: 'default', uid: 'u', annotations: { a: 1 } };
  for (const name of ['a', 'b']) {
    const malformed = { ...widget(name), metadata: { ...metadata, name } };
    const key = `/registry/example.com/widgets/default/${name}`;
    await t.storage.create(key, encodeForStorage(malformed));
  }
  const { json } = await api.get(`${WIDGETS}/a`);
  expect(json.metadata).toMatchObject({ name: 'a', generation: 1 });
  expect(json.metadata.annotations).toBeUndefined();
  expect((await api.get(WIDGETS)).json.items).toHaveLength(2);
  const changed = await api.patch(`${WIDGETS}/a`, { metadata: { annotations: { a: 'text' } } });
  expect([changed.code, changed.json.metadata.annotations]).toEqual([200, { a: 'text' }]);
  expect((await api.delete(`${WIDGETS}/a`)).code).toBe(200);
  expect((await api.delete(`${WIDGETS}/b`)).code).toBe(200);
});

test('stored objects are read with the current schema’s defaults and fields', async () => {
  await define(t.client, definitionOf());
  await api.post(WIDGETS, widget('a', { size: 1, other: 2 }));
  const [version] = definitionOf([definitionVersion('v1', { schema })]).spec.versions;
  await patchDefinition({ spec: { versions: [version] } });
  await eventually(async () => (await api.get(`${WIDGETS}/a`)).json.spec?.['color'] === 'red');
  expect((await api.get(`${WIDGETS}/a`)).json.spec).toEqual({ size: 1, color: 'red' });
  expect((await api.get(WIDGETS)).json.items.map(({ spec }) => spec)).toEqual([
    { size: 1, color: 'red' },
  ]);
  // A write without other changes stores them.
  const changed = await api.patch(`${WIDGETS}/a`, {});
  expect(changed.json.metadata.generation).toBe(1);
});

test('watches continue while only metadata of the definition change, and end when its spec does', async () => {
  await define(t.client, definitionOf());
  const watch = await t.client.resource<Widget>(widgetType()).watch();
  const events: string[] = [];
  const ended = (async () => {
    for await (const { object } of watch) events.push(object.metadata.name);
  })();
  await patchDefinition({ metadata: { labels: { a: 'b' } } });
  await api.post(WIDGETS, widget('a'));
  await eventually(async () => events.length === 1);
  await patchDefinition({ spec: { names: { shortNames: ['wd'] } } });
  await ended;
  await api.post(WIDGETS, widget('b'));
  expect(events).toEqual(['a']);
});

test('a version that is no longer served disappears, and its objects stay', async () => {
  const versions = (served: boolean) => [
    definitionVersion('v1', { served }),
    definitionVersion('v2', { storage: false }),
  ];
  await define(t.client, definitionOf(versions(true)));
  await api.post(WIDGETS, widget('a', { size: 1 }));
  expect((await api.get('/apis/example.com')).json).toMatchObject({
    versions: [{ version: 'v2' }, { version: 'v1' }],
  });
  await patchDefinition({ spec: { versions: versions(false) } });
  await eventually(async () => (await api.get(WIDGETS)).code === 404);
  expect((await api.get('/apis/example.com')).json).toMatchObject({
    versions: [{ version: 'v2' }],
  });
  expect((await api.get('/openapi/v3/apis/example.com/v1')).code).toBe(404);
  expect((await api.get(`${WIDGETS.replace('v1', 'v2')}/a`)).json).toMatchObject({
    apiVersion: 'example.com/v2',
    spec: { size: 1 },
  });
});

test('nothing is created while the definition is being deleted; other requests are served', async () => {
  await define(t.client, definitionOf());
  const held = { ...widget('a'), metadata: { name: 'a', finalizers: ['example.com/mine'] } };
  await api.post(WIDGETS, held);
  await definitions().delete('widgets.example.com');
  await eventually(
    async () => (await api.get(`${WIDGETS}/a`)).json.metadata.deletionTimestamp !== undefined,
  );
  expect(outcome(await api.post(WIDGETS, widget('b')))).toBe(
    '403 Forbidden: widgets.example.com "b" is forbidden: create not allowed while custom ' +
      'resource definition is terminating',
  );
  const { resources } = (await api.get('/apis/example.com/v1')).json as unknown as {
    resources: { verbs: string[] }[];
  };
  expect(resources[0]?.verbs).toEqual(['delete', 'deletecollection', 'get', 'list', 'watch']);
  expect((await api.patch(`${WIDGETS}/a`, { metadata: { finalizers: null } })).code).toBe(200);
  // The remaining objects are checked again after a pause.
  await t.clock.advance('10s');
  await eventually(async () => (await api.get(WIDGETS)).code === 404);
});

test('definitions and objects exist after a restart', async () => {
  await define(t.client, definitionOf([definitionVersion('v1', { schema })]));
  await api.post(WIDGETS, widget('a', { size: 1 }));
  await t.server.stop();
  const again = await startTestServer({ storage: t.storage });
  expect((await new Api(again).get(`${WIDGETS}/a`)).json.spec).toEqual({
    color: 'red',
    size: 1,
  });
  await again.server.stop();
});

test('servers with one storage serve each other’s definitions', async () => {
  const other = await startTestServer({ storage: t.storage });
  const otherApi = new Api(other);
  await define(t.client, definitionOf());
  await eventually(async () => (await otherApi.get(WIDGETS)).code === 200);
  await api.post(WIDGETS, widget('a', { size: 1 }));
  await eventually(async () => (await otherApi.get(`${WIDGETS}/a`)).code === 200);
  const hashOf = async (of: Api): Promise<string | undefined> =>
    /apis\/example\.com\/v1\?hash=(\w+)/.exec((await of.get('/openapi/v3')).text)?.[1];
  expect(await hashOf(otherApi)).toBe(await hashOf(api));
  await other.server.stop();
});

test('deprecated versions warn', async () => {
  const versions = [
    definitionVersion('v1alpha1', { storage: false, deprecated: true }),
    definitionVersion('v1beta1', {
      storage: false,
      deprecated: true,
      deprecationWarning: 'use v1',
    }),
    definitionVersion('v1'),
  ];
  await define(t.client, definitionOf(versions));
  const warnings = async (version: string) =>
    (await api.get(WIDGETS.replace('v1', version))).warnings;
  expect(await warnings('v1alpha1')).toEqual([
    'example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget',
  ]);
  expect(await warnings('v1beta1')).toEqual(['use v1']);
  expect(await warnings('v1')).toEqual([]);
});

test('a definition for a built-in resource changes nothing', async () => {
  const definition = definitionOf([definitionVersion()], {
    group: 'networking.k8s.io',
    plural: 'ingresses',
    kind: 'Ingress',
  });
  const metadata = {
    ...definition.metadata,
    annotations: { 'api-approved.kubernetes.io': 'unapproved' },
  };
  await definitions().create({ ...definition, metadata });
  await eventually(async () => t.logger.errors.length > 0);
  expect(t.logger.errors[0]).toContain(
    'resource ingresses is installed twice in networking.k8s.io/v1',
  );
  expect((await api.get('/apis/networking.k8s.io/v1/ingresses')).json).toMatchObject({
    kind: 'IngressList',
    items: [],
  });
  t.logger.errors.length = 0;
});

test('OpenAPI has a hash for each version, which changes with the definition', async () => {
  await define(t.client, definitionOf([definitionVersion('v1', { schema })]));
  const linkOf = async (): Promise<string> => {
    const { paths } = (await api.get('/openapi/v3')).json as unknown as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    return paths['apis/example.com/v1']?.serverRelativeURL ?? '';
  };
  const before = await linkOf();
  const document = await api.get(before);
  expect([document.code, document.headers['etag']]).toEqual([200, `"${before.split('hash=')[1]}"`]);
  expect(document.text).toContain('com.example.v1.Widget');
  await patchDefinition({ spec: { versions: [definitionVersion('v1')] } });
  await eventually(async () => (await linkOf()) !== before);
  expect((await api.get(before)).code).toBe(301);
});

test('an object with very many errors gets some of them', async () => {
  const items = { type: 'array', items: { type: 'integer' } };
  const many = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { list: items } } },
  };
  await define(
    t.client,
    definitionOf([definitionVersion('v1', { schema: { openAPIV3Schema: many } })]),
  );
  const { code, json } = await api.post(
    WIDGETS,
    widget('a', { list: Array.from({ length: 40_000 }, () => 'x') }),
  );
  expect(code).toBe(422);
  expect(json.details?.causes?.length).toBeLessThanOrEqual(1000);
});

test('rules of custom objects count in the CEL metrics', async () => {
  const count = async (what: string): Promise<number> => {
    const { text } = await send(t.server, { path: '/metrics' });
    return Number(
      new RegExp(`^apiserver_cel_${what}_duration_seconds_count (\\d+)$`, 'm').exec(text)?.[1],
    );
  };
  const spec = {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    'x-kubernetes-validations': [{ rule: 'true' }],
  };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } as never };
  await define(t.client, definitionOf([definitionVersion('v1', { schema })]));
  const before = [await count('compilation'), await count('evaluation')] as const;
  for (const name of ['a', 'b']) expect((await api.post(WIDGETS, widget(name, {}))).code).toBe(201);
  // Evaluations are counted as upstream: one for each value on the path to a rule, here the object
  // and its spec.
  expect([await count('compilation'), await count('evaluation')]).toEqual([
    before[0] + 1,
    before[1] + 4,
  ]);
});

test('integers beyond 2^53 are kept', async () => {
  const numbers = { type: 'object', additionalProperties: { type: 'integer', format: 'int64' } };
  const tags = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'integer' } };
  const rule = { rule: '!has(self.numbers.a) || self.numbers.a > 0', message: 'must be positive' };
  const properties = {
    spec: { type: 'object', properties: { numbers, tags }, 'x-kubernetes-validations': [rule] },
  };
  const columns = [{ name: 'A', type: 'integer', jsonPath: '.spec.numbers.a' }];
  const version = {
    schema: { openAPIV3Schema: { type: 'object', properties } } as never,
    additionalPrinterColumns: columns,
  };
  await define(t.client, definitionOf([definitionVersion('v1', version)]));
  const write = (method: string, path: string, spec: string, type = 'application/json') =>
    send(t.server, {
      method,
      path,
      headers: { 'content-type': type },
      body: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":${spec}}`,
    });
  const MAX = '9223372036854775807';
  const created = await write('POST', WIDGETS, `{"numbers":{"a":${MAX}}}`);
  expect([created.code, created.text]).toEqual([
    201,
    expect.stringContaining(`"spec":{"numbers":{"a":${MAX}}}`),
  ]);
  const merged = await write(
    'PATCH',
    `${WIDGETS}/a`,
    '{"numbers":{"b":-9223372036854775808}}',
    'application/merge-patch+json',
  );
  expect(merged.text).toContain(`"spec":{"numbers":{"a":${MAX},"b":-9223372036854775808}}`);
  const applied = `${WIDGETS}/a?fieldManager=test&force=true`;
  const spec = `{"numbers":{"a":${MAX}},"tags":[9007199254740993,9007199254740995]}`;
  expect(await write('PATCH', applied, spec, 'application/apply-patch+yaml')).toMatchObject({
    code: 200,
  });
  const again = await write(
    'PATCH',
    applied,
    spec.replace('740995', '740997'),
    'application/apply-patch+yaml',
  );
  expect(again.text).toContain('"tags":[9007199254740993,9007199254740997]');
  const read = await send(t.server, { path: `${WIDGETS}/a` });
  expect(read.text).toContain(
    `{"a":${MAX},"b":-9223372036854775808},"tags":[9007199254740993,9007199254740997]}`,
  );
  const list = await send(t.server, {
    path: WIDGETS,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  expect(list.text).toContain(`"cells":["a",${MAX}]`);
  expect(
    (await write('PUT', `${WIDGETS}/a`, '{"numbers":{"a":-9223372036854775808}}')).text,
  ).toContain('must be specified');
  const refused = await write('POST', WIDGETS, '{"numbers":{"a":-9223372036854775808}}');
  expect([refused.code, refused.text]).toEqual([422, expect.stringContaining('must be positive')]);
  const yaml = (method: string, path: string, type: string, value: string) =>
    send(t.server, {
      method,
      path,
      headers: { 'content-type': type },
      body: `apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: written\nspec:\n  numbers: {a: ${value}}\n`,
    });
  expect((await yaml('POST', WIDGETS, 'application/yaml', MAX)).text).toContain(
    `"spec":{"numbers":{"a":${MAX}}}`,
  );
  const own = `${WIDGETS}/written?fieldManager=test&force=true`;
  const inYaml = await yaml('PATCH', own, 'application/apply-patch+yaml', '9007199254740993');
  expect(inYaml.text).toContain('"spec":{"numbers":{"a":9007199254740993}}');
  const version1 = JSON.parse(read.text) as { metadata: { resourceVersion: string } };
  expect(version1.metadata.resourceVersion).not.toBe('');
  const builtIn = await send(t.server, {
    method: 'POST',
    path: '/api/v1/namespaces/default/pods',
    headers: { 'content-type': 'application/json' },
    body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"priority":${MAX}}}`,
  });
  expect([builtIn.code, builtIn.text]).toEqual([400, expect.stringContaining('is out of range')]);
});

test('an applied null is rejected where the schema does not allow it; a created one is dropped', async () => {
  const inner = { type: 'object', properties: { a: { type: 'string' } } };
  const properties = {
    inner,
    nullable: { ...inner, nullable: true },
    text: { type: 'string' },
    color: { type: 'string', default: 'red' },
  };
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const version = definitionVersion('v1', { schema: { openAPIV3Schema } });
  await define(t.client, definitionOf([version]));
  const apply = async (spec: object): Promise<string> => {
    const path = `${WIDGETS}/a?fieldManager=test`;
    const body = JSON.stringify(widget('a', spec));
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    const { code, json } = await send(t.server, { method: 'PATCH', path, headers, body });
    return code < 300 ? JSON.stringify(json['spec']) : `${code} ${json['message']}`;
  };
  expect(await apply({ inner: { a: '1' } })).toBe('{"color":"red","inner":{"a":"1"}}');
  expect(await apply({ inner: null })).toContain(
    '422 Widget.example.com "a" is invalid: spec.inner',
  );
  expect(await apply({ inner: null })).toContain('must be of type object: "null"');
  expect(await apply({ text: null })).toContain('must be of type string: "null"');
  expect(await apply({ nullable: null, color: null })).toBe('{"color":"red","nullable":null}');
  const created = await api.post(WIDGETS, widget('b', { inner: null, text: null }));
  expect(created.json.spec).toEqual({ color: 'red' });
});

test('an update of the status adds the defaults of its version to the status only', async () => {
  const defaulted = { type: 'object', properties: { c: { type: 'string', default: 'C' } } };
  const versionOf = (name: string, storage: boolean, field: object) =>
    definitionVersion(name, {
      storage,
      subresources: { status: {} },
      schema: {
        openAPIV3Schema: { type: 'object', properties: { spec: field, status: field } },
      },
    });
  const plain = { type: 'object', properties: { c: { type: 'string' } } };
  await define(
    t.client,
    definitionOf([versionOf('v1', false, plain), versionOf('v2', true, plain)]),
  );
  const { json: created } = await api.post(WIDGETS, widget('a'));
  await api.put(`${WIDGETS}/a/status`, { ...created, status: {} });
  await patchDefinition({
    spec: { versions: [versionOf('v1', false, defaulted), versionOf('v2', true, plain)] },
  });
  await eventually(
    async () => (await api.post(`${WIDGETS}?dryRun=All`, widget('b'))).json.spec?.['c'] === 'C',
  );
  const { json } = await api.get(`${WIDGETS}/a`);
  expect([json.spec, json.status]).toEqual([{}, {}]);
  const updated = await api.put(`${WIDGETS}/a/status`, json);
  expect([updated.json.spec, updated.json.status]).toEqual([{}, { c: 'C' }]);
});
