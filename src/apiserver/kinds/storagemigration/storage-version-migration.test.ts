// Storage version migrations through the API.

import { expect, test } from 'vitest';

import { storageVersionMigrations } from '#api/groups/storagemigration/v1beta1/index.ts';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations';
const MERGE = { 'content-type': 'application/merge-patch+json' };

const t = serverPerTest({ runtimeConfig: { 'api/beta': 'true' } });

const create = (resource: object) =>
  t.client.resource(storageVersionMigrations).create({
    metadata: { name: 'm' },
    spec: { resource },
    // A client cannot set the status at creation.
    status: { resourceVersion: '7' },
  });
const patch = (path: string, body: object) =>
  send(t.server, { method: 'PATCH', path: `${PATH}/m${path}`, headers: MERGE, body });
const condition = (type: string, status = 'True') => ({
  type,
  status,
  reason: 'Because',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

test.each([
  [
    { group: '', resource: '' },
    'spec.resource.resource: Required value: resource is required to be set',
  ],
  [
    { group: '', resource: 'Pods' },
    'spec.resource.resource: Invalid value: "Pods": a DNS-1035 label must consist of',
  ],
  [
    { group: 'UP', resource: 'pods' },
    'spec.resource.group: Invalid value: "UP": a lowercase RFC 1123 subdomain must consist of',
  ],
])('%j is rejected', async (resource, message) => {
  await expect(create(resource)).rejects.toThrow(message);
});

test('the resource is immutable', async () => {
  expect((await create({ group: 'apps', resource: 'deployments' })).status).toEqual({});
  const { code, json } = await patch('', { spec: { resource: { resource: 'daemonsets' } } });
  expect(code).toBe(422);
  expect(json.message).toContain('field is immutable');
  const unversioned = {
    metadata: { name: 'm' },
    spec: { resource: { group: 'apps', resource: 'deployments' } },
  };
  const update = await send(t.server, { method: 'PUT', path: `${PATH}/m`, body: unversioned });
  expect(update.json.message).toContain(
    'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  );
});

test('the status has valid transitions only', async () => {
  await create({ group: '', resource: 'secrets' });
  const say = async (status: object): Promise<string> => {
    const { code, json } = await patch('/status', {
      metadata: { labels: { a: 'b' } },
      spec: { resource: { resource: 'x' } },
      status,
    });
    return code === 200 ? '' : (json.message ?? '');
  };
  expect(await say({ resourceVersion: '0' })).toContain(
    'status.resourceVersion: Invalid value: "0": resource version is not well formed: 0',
  );
  expect(await say({ resourceVersion: '12', conditions: [condition('Running')] })).toBe('');
  expect(await say({ resourceVersion: '13' })).toContain(
    'status.resourceVersion: Invalid value: "13": field is immutable',
  );
  expect(await say({ conditions: [{ ...condition('Running'), reason: '' }] })).toContain(
    'status.conditions[0].reason: Required value',
  );
  expect(await say({ conditions: [condition('Succeeded'), condition('Failed')] })).toContain(
    'Both success and failed conditions cannot be true at the same time',
  );
  expect(await say({ conditions: [condition('Failed')] })).toBe('');
  expect(await say({ conditions: [condition('Failed', 'False')] })).toContain(
    'Failed condition cannot be set to false once it is true',
  );
  const { metadata, spec } = await t.client.resource(storageVersionMigrations).get('m');
  expect(metadata.labels).toBeUndefined();
  expect(spec.resource.resource).toBe('secrets');
});

test('the table shows the progress', async () => {
  await create({ group: 'apps', resource: 'deployments' });
  const row = async () => {
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    return (await send(t.server, { path: PATH, headers })).json.rows[0]?.cells;
  };
  expect(await row()).toEqual(['m', 'deployments.apps', 'Unknown']);
  await patch('/status', {
    status: { conditions: [condition('Running', 'False'), condition('Succeeded')] },
  });
  expect(await row()).toEqual(['m', 'deployments.apps', 'Succeeded']);
});
