// Definitions in a group that the server has itself: their kinds exist in other versions only.

import { expect, test } from 'vitest';

import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import { Api, outcome } from '../testing/api.ts';
import { define, definitionOf, definitionVersion } from '../testing/custom-resources.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const t = serverPerTest();
const api = new Api(t);

async function defineIn(group: string): Promise<void> {
  const versions = [definitionVersion('v1'), definitionVersion('vother', { storage: false })];
  const definition = definitionOf(versions, { group, scope: 'Cluster' });
  await define(t.client, {
    ...definition,
    metadata: {
      ...definition.metadata,
      annotations: { 'api-approved.kubernetes.io': 'unapproved, test-only' },
    },
  });
}

const resourcesOf = async (path: string): Promise<string[]> =>
  ((await api.get(path)).json as unknown as { resources: { name: string }[] }).resources.map(
    ({ name }) => name,
  );

test.each(['networking.k8s.io', 'apiextensions.k8s.io'])(
  'a version of %s that the server has shows only its own kinds',
  async (group) => {
    await defineIn(group);
    expect(await resourcesOf(`/apis/${group}/v1`)).not.toContain('widgets');
    expect(outcome(await api.get(`/apis/${group}/v1/widgets`))).toMatch(/^404 /);
    expect(
      outcome(await api.post(`/apis/${group}/v1/widgets`, { metadata: { name: 'a' } })),
    ).toMatch(/^404 /);
  },
);

test('other versions of the group are served, and share the objects', async () => {
  const group = 'networking.k8s.io';
  await defineIn(group);
  const path = `/apis/${group}/vother`;
  expect(await resourcesOf(path)).toEqual(['widgets']);
  const widget = { apiVersion: `${group}/vother`, kind: 'Widget', metadata: { name: 'a' } };
  expect(outcome(await api.post(`${path}/widgets`, widget))).toBe('201');
  expect((await api.get(`${path}/widgets/a`)).json).toMatchObject(widget);
  const { versions } = (await api.get(`/apis/${group}`)).json as unknown as {
    versions: { version: string }[];
  };
  // Versions of definitions have the higher priority.
  expect(versions.map(({ version }) => version)).toEqual(['vother', 'v1']);
  // The objects end with the definition, though they are stored in the version that is not served.
  await t.client.resource(customResourceDefinitions).delete(`widgets.${group}`);
  await t.clock.advance('1m');
  expect((await t.storage.list(`/registry/${group}/widgets/`)).items).toEqual([]);
});
