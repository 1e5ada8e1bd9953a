// The kinds of resource.k8s.io in the beta versions, through the server.

import { expect, test } from 'vitest';
import { startTestServer } from '#apiserver/testing/server.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { send } from '#apiserver/testing/requests.ts';
import { requestsOf } from '#apiserver/testing/workloads.ts';

const t = serverPerTest({
  runtimeConfig: { 'resource.k8s.io/v1beta1': 'true', 'resource.k8s.io/v1beta2': 'true' },
});

const metadata = { name: 'it' };
const of = (version: string, path: string) =>
  requestsOf(t, `/apis/resource.k8s.io/${version}/${path}`);
const claims = (version: string) => of(version, 'namespaces/default/resourceclaims');

test('they are served only where they are turned on', async () => {
  const plain = await startTestServer();
  for (const version of ['v1beta1', 'v1beta2']) {
    const path = `/apis/resource.k8s.io/${version}/deviceclasses`;
    expect((await send(plain.server, { path })).code).toBe(404);
    expect((await send(t.server, { path })).code).toBe(200);
  }
  await plain.stop();
});

test('a claim has the same requests in all versions, and is warned of', async () => {
  const selectors = [{ cel: { expression: 'true' } }];
  const created = await claims('v1beta1').create({
    metadata,
    spec: {
      devices: {
        requests: [
          { name: 'one', deviceClassName: 'c', selectors, tolerations: [{ key: 'a' }] },
          { name: 'any', firstAvailable: [{ name: 'x', deviceClassName: 'd' }] },
        ],
      },
    },
  });
  expect([created.code, created.warnings]).toEqual([
    201,
    ['resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+'],
  ]);
  const exact = {
    selectors,
    allocationMode: 'ExactCount',
    count: 1,
    tolerations: [{ key: 'a', operator: 'Equal' }],
  };
  const firstAvailable = [
    { name: 'x', deviceClassName: 'd', allocationMode: 'ExactCount', count: 1 },
  ];
  expect(created.object.spec).toEqual({
    devices: {
      requests: [
        { name: 'one', deviceClassName: 'c', ...exact },
        { name: 'any', deviceClassName: '', firstAvailable },
      ],
    },
  });
  for (const version of ['v1', 'v1beta2']) {
    const { object } = await claims(version).get('it');
    expect(object).toMatchObject({
      apiVersion: `resource.k8s.io/${version}`,
      spec: {
        devices: {
          requests: [
            { name: 'one', exactly: { deviceClassName: 'c', ...exact } },
            { name: 'any', firstAvailable },
          ],
        },
      },
    });
  }
  expect((await claims('v1beta1').table()).rows).toEqual([['it', 'pending', expect.any(String)]]);
});

test('the rules of v1 apply, and status is a subresource', async () => {
  const both = {
    name: 'r',
    deviceClassName: 'c',
    firstAvailable: [{ name: 'x', deviceClassName: 'd' }],
  };
  const refused = await claims('v1beta1').create({
    metadata,
    spec: { devices: { requests: [both] } },
  });
  expect([refused.code, refused.causes]).toEqual([422, ['spec.devices.requests[0]']]);
  const admin = { name: 'r', deviceClassName: 'c', adminAccess: true };
  const devices = { requests: [admin] };
  expect((await claims('v1beta1').create({ metadata, spec: { devices } })).message).toContain(
    'admin access to devices requires the `resource.kubernetes.io/admin-access: true` label',
  );
  const requests = [{ name: 'r', deviceClassName: 'c' }];
  await claims('v1beta1').create({ metadata, spec: { devices: { requests } } });
  const result = { request: 'r', driver: 'd', pool: 'p', device: 'x' };
  const status = { allocation: { devices: { results: [result] } } };
  const written = await claims('v1beta1').patch('it/status', { status });
  expect([written.code, written.object.status]).toEqual([200, status]);
  expect((await claims('v1').get('it')).object.status).toEqual(status);
  expect(
    (await claims('v1beta2').patch('it', { spec: { devices: { requests: [] } } })).causes,
  ).toEqual(['spec']);
});

test('slices have their devices in `basic`, and are found by their node', async () => {
  const slices = of('v1beta1', 'resourceslices');
  const taints = [{ key: 'a', effect: 'NoSchedule' }];
  const created = await slices.create({
    metadata,
    spec: {
      driver: 'd',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      nodeName: 'n',
      devices: [{ name: 'x', basic: { attributes: { a: { int: 1 } }, taints } }],
    },
  });
  expect(created.object.spec).toMatchObject({
    devices: [{ name: 'x', basic: { taints: [{ timeAdded: expect.any(String) }] } }],
  });
  expect((await of('v1', 'resourceslices').get('it')).object.spec).toMatchObject({
    nodeName: 'n',
    devices: [{ name: 'x', attributes: { a: { int: 1 } } }],
  });
  expect(await slices.list('fieldSelector=spec.nodeName%3Dn')).toEqual(['it']);
  expect(await slices.list('fieldSelector=spec.nodeName%3Dm')).toEqual([]);
  expect(
    (await slices.patch('it', { spec: { pool: { generation: 2 } } })).object.metadata.generation,
  ).toBe(2);
});

test('managers own fields by the paths of their version', async () => {
  const templates = of('v1beta1', 'namespaces/default/resourceclaimtemplates');
  const requests = [{ name: 'r', deviceClassName: 'c' }];
  const template = {
    apiVersion: 'resource.k8s.io/v1beta1',
    kind: 'ResourceClaimTemplate',
    metadata,
    spec: { spec: { devices: { requests } } },
  };
  expect((await templates.apply('it', template)).code).toBe(201);
  const read = await of('v1', 'namespaces/default/resourceclaimtemplates').get('it');
  expect(read.object).toMatchObject({
    spec: { spec: { devices: { requests: [{ exactly: { deviceClassName: 'c' } }] } } },
    metadata: { managedFields: [{ apiVersion: 'resource.k8s.io/v1beta1', manager: 'test' }] },
  });
});
