import { afterAll, beforeAll, expect, test } from 'vitest';

import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import type { TestServer } from '#apiserver/testing/server.ts';

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

let t: TestServer;
beforeAll(async () => (t = await startTestServer()));
afterAll(() => t.stop());

test('the list is there and empty', async () => {
  const { code, json } = await send(t.server, { path: PATH });
  expect(code).toBe(200);
  expect(json).toEqual({
    kind: 'CustomResourceDefinitionList',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { resourceVersion: expect.stringMatching(/^\d+$/) as string },
    items: [],
  });
});

test('none can be created, and the answer says why', async () => {
  const names = { plural: 'widgets', kind: 'Widget' };
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions: [{ name: 'v1', served: true, storage: true }] },
  };
  const { json } = await send(t.server, { method: 'POST', path: PATH, headers: { 'content-type': 'application/json' }, body });
  expect(json).toMatchObject({
    kind: 'Status',
    code: 405,
    reason: 'MethodNotAllowed',
    message:
      'create is not supported on resources of kind "customresourcedefinitions.apiextensions.k8s.io": ' +
      'this server does not support custom resources yet',
  });
});

test.each([
  ['GET', `${PATH}/widgets.example.com`, 404],
  ['DELETE', `${PATH}/widgets.example.com`, 405],
  ['GET', `${PATH}?watch=1`, 405],
  ['GET', '/apis/apiextensions.k8s.io/v1', 404],
  ['GET', '/apis/apiextensions.k8s.io', 404],
])('%s %s: %d', async (method, path, code) => {
  expect((await send(t.server, { method, path })).code).toBe(code);
});

test('neither discovery nor OpenAPI mentions them', async () => {
  expect((await send(t.server, { path: '/apis' })).text).not.toContain('apiextensions');
  expect((await send(t.server, { path: '/openapi/v2' })).text).not.toContain('customresourcedefinitions');
});
