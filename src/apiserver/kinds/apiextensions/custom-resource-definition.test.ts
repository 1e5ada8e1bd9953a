// Definitions through the server: defaults, allowed updates, and the first step of a deletion.

import { expect, test, vi } from 'vitest';
import { encodeForStorage } from '#api/machinery/codec/index.ts';
import { send } from '#apiserver/testing/requests.ts';

import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { requestsOf } from '#apiserver/testing/workloads.ts';

const t = serverPerTest();

const definitions = () => requestsOf(t, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
const NAME = 'widgets.example.com';
const version = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object' } },
});
const spec = {
  group: 'example.com',
  scope: 'Namespaced',
  names: { plural: 'widgets', kind: 'Widget' },
  versions: [version('v1', true)],
};

test('the server fills in names, the conversion and the stored version', async () => {
  const created = await definitions().create({
    metadata: { name: NAME, generation: 7 },
    spec,
    status: { storedVersions: ['v7'] },
  });
  expect(created.code).toBe(201);
  expect(created.object.metadata.generation).toBe(1);
  expect(created.object.spec).toEqual({
    ...spec,
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    conversion: { strategy: 'None' },
  });
  expect(created.object.status).toEqual({
    conditions: null,
    acceptedNames: { plural: '', kind: '' },
    storedVersions: ['v1'],
  });
});

test('a conversion webhook without configuration counts as none', async () => {
  await definitions().create({ metadata: { name: NAME }, spec });
  for (const webhook of [{}, { conversionReviewVersions: [] }]) {
    const { object } = await definitions().patch(NAME, { spec: { conversion: { webhook } } });
    expect(object.spec).toMatchObject({ conversion: { strategy: 'None' } });
    expect(object.metadata.generation).toBe(1);
  }
});

test('a new storage version is recorded', async () => {
  await definitions().create({ metadata: { name: NAME }, spec });
  const versions = [version('v1', false), version('v2', true)];
  const changed = await definitions().patch(NAME, { spec: { versions } });
  expect(changed.object.metadata.generation).toBe(2);
  expect(changed.object.status).toMatchObject({ storedVersions: ['v1', 'v2'] });
});

test('the first request to delete a definition starts its deletion', async () => {
  await definitions().create({ metadata: { name: NAME, finalizers: ['example.com/mine'] }, spec });
  const { code, object } = await definitions().delete(NAME);
  expect(code).toBe(200);
  expect(object.metadata).toMatchObject({
    generation: 1,
    deletionTimestamp: expect.any(String) as string,
    finalizers: ['example.com/mine', 'customresourcecleanup.apiextensions.k8s.io'],
  });
  expect(object.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
  expect(object.status).toMatchObject({
    conditions: expect.arrayContaining([
      expect.objectContaining({
        type: 'Terminating',
        status: 'True',
        reason: 'InstanceDeletionPending',
      }),
    ]) as object,
  });
});

test('the table has the name and the time of creation', async () => {
  await definitions().create({ metadata: { name: NAME }, spec });
  expect(await definitions().table()).toEqual({
    columns: ['Name', 'Created At'],
    rows: [[NAME, expect.any(String)]],
  });
});

test('a definition that was stored as v1beta1 is served, and makes its kind available', async () => {
  const stored = {
    apiVersion: 'apiextensions.k8s.io/v1beta1',
    kind: 'CustomResourceDefinition',
    metadata: { name: NAME, uid: 'u', generation: 1 },
    spec: {
      group: 'example.com',
      version: 'v1',
      names: { plural: 'widgets', kind: 'Widget' },
      validation: { openAPIV3Schema: { properties: { a: { type: 'string' } } } },
      additionalPrinterColumns: [{ name: 'A', type: 'string', JSONPath: '.a' }],
      conversion: { strategy: 'None' },
    },
  };
  await t.storage.create(
    `/registry/apiextensions.k8s.io/customresourcedefinitions/${NAME}`,
    encodeForStorage(stored),
  );
  const { object } = await definitions().get(NAME);
  expect(object).toMatchObject({
    apiVersion: 'apiextensions.k8s.io/v1',
    spec: {
      scope: 'Namespaced',
      preserveUnknownFields: true,
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      conversion: { strategy: 'None' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: stored.spec.validation,
          additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.a' }],
        },
      ],
    },
    status: { storedVersions: ['v1'] },
  });
  // Other definitions are not disturbed.
  const other = { ...spec, names: { plural: 'gadgets', kind: 'Gadget' } };
  await definitions().create({ metadata: { name: 'gadgets.example.com' }, spec: other });
  for (const plural of ['widgets', 'gadgets'])
    await vi.waitFor(async () => {
      const { code } = await send(t.server, { path: `/apis/example.com/v1/${plural}` });
      expect(code).toBe(200);
    });
  // Fields that the schema does not have are kept, and those that it has are validated.
  const apply = (fields: object) =>
    send(t.server, {
      method: 'PATCH',
      path: '/apis/example.com/v1/namespaces/default/widgets/w?fieldManager=me&force=true',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify({
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        metadata: { name: 'w' },
        ...fields,
      }),
    });
  const applied = await apply({ a: 'text', spec: { replicas: 1 } });
  expect([applied.code, applied.json]).toMatchObject([201, { a: 'text', spec: { replicas: 1 } }]);
  expect((await apply({ a: 7 })).code).toBe(400);
});
