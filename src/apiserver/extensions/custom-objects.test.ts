// Custom objects through the server, from the definition to the last deletion.

import { afterEach, beforeEach, expect, test } from 'vitest';

import { Api } from '#apiserver/testing/api.ts';
import { define, definitionOf, definitionVersion } from '#apiserver/testing/custom-resources.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import type { TestServer } from '#apiserver/testing/server.ts';

const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';

let t: TestServer;
let api: Api;
beforeEach(async () => {
  t = await startTestServer();
  api = new Api(t.server);
});
afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const widget = (name: string, spec: object = {}) => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec });

test('a definition is served until it is gone', async () => {
  expect((await api.get(WIDGETS)).code).toBe(404);
  await define(t.client, definitionOf());
  const made = await api.post(WIDGETS, widget('a', { size: 1 }));
  expect([made.code, made.json]).toMatchObject([201, { metadata: { generation: 1 }, spec: { size: 1 } }]);
  expect((await api.get(`${WIDGETS}/a`)).json.spec).toEqual({ size: 1 });
  const changed = await api.patch(`${WIDGETS}/a`, { spec: { size: 2 } });
  expect(changed.json).toMatchObject({ metadata: { generation: 2 }, spec: { size: 2 } });
  expect((await api.delete(`${WIDGETS}/a`)).code).toBe(200);
  expect((await api.get(WIDGETS)).json.items).toEqual([]);
});
