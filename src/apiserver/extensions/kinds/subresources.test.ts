// Status, scale, columns and selectable fields of custom objects, through a server.

import { beforeEach, expect, test } from 'vitest';

import type { Scale } from '#api/groups/autoscaling/v1/index.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const t = serverPerTest();
const api = new Api(t);
beforeEach(async () => {
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { replicas: { type: 'integer' }, color: { type: 'string' } },
        },
        status: {
          type: 'object',
          properties: { replicas: { type: 'integer' }, selector: { type: 'string' } },
        },
      },
    },
  };
  const version = definitionVersion('v1', {
    schema,
    subresources: {
      status: {},
      scale: {
        specReplicasPath: '.spec.replicas',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
    selectableFields: [{ jsonPath: '.spec.color' }],
    additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }],
  });
  await define(t.client, definitionOf([version]));
});

const create = (name: string, spec: object = {}, status?: object) =>
  api.post(WIDGETS, {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name },
    spec,
    ...(status && { status }),
  });
const scaleOf = async (name: string): Promise<Scale> =>
  (await api.get(`${WIDGETS}/${name}/scale`)).json as unknown as Scale;

test('the status endpoint changes only the status', async () => {
  expect((await create('a', { color: 'red' }, { replicas: 1 })).json.status).toBeUndefined();
  expect(
    (await api.patch(`${WIDGETS}/a`, { status: { replicas: 2 } })).json.status,
  ).toBeUndefined();
  const changed = await api.patch(`${WIDGETS}/a/status`, {
    spec: { color: 'blue' },
    metadata: { labels: { a: 'b' } },
    status: { replicas: 2 },
  });
  expect(changed.json).toMatchObject({
    spec: { color: 'red' },
    status: { replicas: 2 },
    metadata: { generation: 1 },
  });
  expect(changed.json.metadata.labels).toBeUndefined();
  expect(outcome(await api.patch(`${WIDGETS}/a/status`, { status: { replicas: 'x' } }))).toContain(
    'status.replicas: Invalid value',
  );
});

test('a scale reads and writes the fields that the definition names', async () => {
  await create('a', { replicas: 2 });
  await api.patch(`${WIDGETS}/a/status`, { status: { replicas: 1, selector: 'a=b' } });
  expect(await scaleOf('a')).toMatchObject({
    kind: 'Scale',
    spec: { replicas: 2 },
    status: { replicas: 1, selector: 'a=b' },
  });
  expect((await api.patch(`${WIDGETS}/a/scale`, { spec: { replicas: 5 } })).json).toMatchObject({
    spec: { replicas: 5 },
  });
  const { spec, metadata } = (await api.get(`${WIDGETS}/a`)).json;
  expect([spec, metadata.generation]).toEqual([{ replicas: 5 }, 2]);
  expect(metadata.managedFields?.find(({ subresource }) => subresource === 'scale')).toMatchObject({
    apiVersion: 'example.com/v1',
    fieldsV1: { 'f:spec': { 'f:replicas': {} } },
  });
});

test.each([
  { apiVersion: 'v1', kind: 'Scale' },
  { apiVersion: 'autoscaling/v1', kind: 'Widget' },
  { apiVersion: 'example.com/v1', kind: 'Widget' },
])('a body that is not a Scale is rejected in upstream’s words: %j', async (type) => {
  await create('a', { replicas: 2 });
  const body = { ...type, metadata: { name: 'a' }, spec: { replicas: 3 } };
  expect(outcome(await api.put(`${WIDGETS}/a/scale`, body))).toBe(
    '400 BadRequest: no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
  );
});

test('objects without a valid scale', async () => {
  await create('none');
  expect(outcome(await api.get(`${WIDGETS}/none/scale`))).toBe(
    '500 InternalError: Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
  );
  expect(
    outcome(await api.patch(`${WIDGETS}/none/scale`, { metadata: { labels: { a: 'b' } } })),
  ).toBe('400 BadRequest: the spec replicas field ".spec.replicas" cannot be empty');
  expect((await api.patch(`${WIDGETS}/none/scale`, { spec: { replicas: 1 } })).code).toBe(200);
  expect(outcome(await api.patch(`${WIDGETS}/none/scale`, { spec: { replicas: -1 } }))).toContain(
    '.spec.replicas: Invalid value: -1: should be a non-negative integer',
  );
});

test('lists and watches select by fields', async () => {
  await create('a', { color: 'red' });
  await create('b', { color: 'blue' });
  const names = async (selector: string): Promise<readonly string[]> =>
    (await api.get(`${WIDGETS}?fieldSelector=${selector}`)).json.items.map(
      ({ metadata }) => metadata.name,
    );
  expect(await names('spec.color=red')).toEqual(['a']);
  expect(await names('spec.color!=red')).toEqual(['b']);
  await api.patch(`${WIDGETS}/b`, { spec: { color: 'red' } });
  expect(await names('spec.color=red')).toEqual(['a', 'b']);
  expect(outcome(await api.get(`${WIDGETS}?fieldSelector=spec.size=1`))).toBe(
    '400 BadRequest: field label not supported: spec.size',
  );
});

test('tables have the columns of the definition', async () => {
  await create('a', { color: 'red' });
  const { json } = await send(t.server, { path: WIDGETS, headers: { accept: TABLE } });
  expect(json.columnDefinitions?.map(({ name }) => name)).toEqual(['Name', 'Color']);
  expect(json.rows.map(({ cells }) => cells)).toEqual([['a', 'red']]);
});

test('a status that the schema has by default is there from the start', async () => {
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { color: { type: 'string' } } },
        status: {
          type: 'object',
          default: { observedGeneration: -1 },
          properties: { observedGeneration: { type: 'integer' } },
        },
      },
    },
  };
  const version = definitionVersion('v1', { schema, subresources: { status: {} } });
  const definition = definitionOf([version]);
  await define(t.client, {
    ...definition,
    metadata: { ...definition.metadata, name: 'gadgets.example.com' },
    spec: { ...definition.spec, names: { plural: 'gadgets', kind: 'Gadget' } },
  });
  const path = '/apis/example.com/v1/namespaces/default/gadgets';
  const gadget = {
    apiVersion: 'example.com/v1',
    kind: 'Gadget',
    metadata: { name: 'a' },
    spec: { color: 'red' },
  };
  const posted = await api.post(path, { ...gadget, status: { observedGeneration: 5 } });
  expect(posted.json).toMatchObject({ status: { observedGeneration: -1 } });
  expect(JSON.stringify(posted.json.metadata.managedFields)).not.toContain('f:status');
  const { json } = await api.get(`${path}/a`);
  expect(json).toMatchObject({ spec: { color: 'red' }, status: { observedGeneration: -1 } });
});
