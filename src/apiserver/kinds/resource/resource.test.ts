// Resource claims, slices and device classes through the server, and the API services of every
// cluster.

import { expect, test } from 'vitest';

import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { type ResourceClaim, resourceClaims } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { can } from '#apiserver/authorization/policy/words.ts';
import type { UserInfo } from '#apiserver/request.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { requestsOf } from '#apiserver/testing/workloads.ts';

type Status = Immutable<ResourceClaim>['status'];

const t = serverPerTest();
const GROUP = '/apis/resource.k8s.io/v1';
const inDefault = (resource: string) => requestsOf(t, `${GROUP}/namespaces/default/${resource}`);
const metadata = { name: 'it' };

test('claims: defaults, immutability, status, columns', async () => {
  const claims = inDefault('resourceclaims');
  const requests = [{ name: 'r', exactly: { deviceClassName: 'c', tolerations: [{ key: 'a' }] } }];
  const created = await claims.create({
    metadata,
    spec: { devices: { requests } },
    status: { reservedFor: [] },
  });
  expect(created.object.spec).toEqual({
    devices: {
      requests: [
        {
          name: 'r',
          exactly: {
            deviceClassName: 'c',
            allocationMode: 'ExactCount',
            count: 1,
            tolerations: [{ key: 'a', operator: 'Equal' }],
          },
        },
      ],
    },
  });
  expect(created.object.status).toEqual({});
  expect((await claims.table()).rows).toEqual([['it', 'pending', expect.any(String)]]);
  expect((await claims.patch('it', { spec: { devices: { requests: [] } } })).causes).toEqual([
    'spec',
  ]);
  const result = { request: 'r', driver: 'd', pool: 'p', device: 'x' };
  const device = { driver: 'd', pool: 'p', device: 'x', conditions: null };
  const reservedFor = [{ resource: 'pods', name: 'a', uid: '1' }];
  const status = { allocation: { devices: { results: [result] } }, reservedFor, devices: [device] };
  const written = await claims.patch('it/status', { metadata: { labels: { a: 'b' } }, status });
  expect([written.code, written.object.metadata.labels, written.object.status]).toEqual([
    200,
    undefined,
    status,
  ]);
  expect((await claims.table()).rows).toEqual([['it', 'allocated,reserved', expect.any(String)]]);
  // The status of a device is removed with its allocation.
  const freed = await claims.patch('it/status', {
    status: { allocation: null, reservedFor: null },
  });
  expect(freed.object.status).toEqual({});
});

test('admin access requires a label on the namespace', async () => {
  const spec = {
    devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c', adminAccess: true } }] },
  };
  const refused = await inDefault('resourceclaims').create({ metadata, spec });
  expect([refused.code, refused.message]).toEqual([
    422,
    expect.stringContaining(
      'admin access to devices requires the `resource.kubernetes.io/admin-access: true` label ' +
        'on the containing namespace',
    ),
  ]);
  expect(refused.causes).toEqual(['spec.devices.requests[0].adminAccess']);
  const template = await inDefault('resourceclaimtemplates').create({ metadata, spec: { spec } });
  expect([template.code, template.causes]).toEqual([422, refused.causes]);
  // The response also has all other errors.
  const config = [{ opaque: { driver: 'd', parameters: [] } }];
  const twice = await inDefault('resourceclaims').create({
    metadata,
    spec: { devices: { ...spec.devices, config } },
  });
  expect(twice.causes).toEqual([
    'spec.devices.requests[0].adminAccess',
    'spec.devices.config[0].opaque.parameters',
  ]);
  const labels = { 'resource.kubernetes.io/admin-access': 'true' };
  await requestsOf(t, '/api/v1/namespaces').patch('default', { metadata: { labels } });
  expect((await inDefault('resourceclaims').create({ metadata, spec })).code).toBe(201);
  expect(
    (await inDefault('resourceclaimtemplates').create({ metadata, spec: { spec } })).code,
  ).toBe(201);
});

test('slices: times of taints, selectors, generation', async () => {
  const slices = requestsOf(t, `${GROUP}/resourceslices`);
  const taints = [{ key: 'a', effect: 'NoSchedule' }];
  const devices = [{ name: 'x', taints, attributes: { a: { int: 1 } } }];
  const spec = {
    driver: 'd',
    pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
    nodeName: 'n',
    devices,
  };
  const created = await slices.create({ metadata, spec });
  expect(created.warnings).toEqual([]);
  const shouting = { metadata: { name: 'other' }, spec: { ...spec, driver: 'D' } };
  expect((await slices.create(shouting)).warnings).toEqual([
    'spec.driver: driver names should be lowercase; "D" contains uppercase characters',
  ]);
  await slices.delete('other');
  expect(created.object.spec).toMatchObject({
    devices: [{ taints: [{ timeAdded: expect.any(String) }] }],
  });
  expect(created.object.metadata.generation).toBe(1);
  expect(await slices.list('fieldSelector=spec.nodeName%3Dn,spec.driver%3Dd')).toEqual(['it']);
  expect(await slices.list('fieldSelector=spec.nodeName%3Dm')).toEqual([]);
  expect(
    (await slices.patch('it', { spec: { pool: { generation: 2 } } })).object.metadata.generation,
  ).toBe(2);
  expect((await slices.patch('it', { spec: { driver: 'e' } })).causes).toEqual(['spec.driver']);
  expect(await slices.table()).toEqual({
    columns: ['Name', 'Node', 'Driver', 'Pool', 'Age'],
    rows: [['it', 'n', 'd', 'p', expect.any(String)]],
  });
  const classes = requestsOf(t, `${GROUP}/deviceclasses`);
  expect((await classes.create({ metadata, spec: {} })).object.metadata.generation).toBe(1);
  expect((await classes.patch('it', { spec: { config: [{}] } })).causes).toEqual([
    'spec.config[0].opaque',
  ]);
});

test('API services', async () => {
  const services = requestsOf(t, '/apis/apiregistration.k8s.io/v1/apiservices');
  const { columns, rows } = await services.table();
  expect(columns).toEqual(['Name', 'Service', 'Available', 'Age']);
  expect(rows.map((cells) => cells.slice(0, 3))).toContainEqual(['v1.apps', 'Local', 'True']);
  expect((await services.get('v1.')).object.spec).toEqual({
    version: 'v1',
    groupPriorityMinimum: 18_000,
    versionPriority: 1,
  });
  const spec = {
    group: 'example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 100,
  };
  const service = { name: 's', namespace: 'default' };
  expect((await services.create({ metadata, spec })).causes).toEqual(['metadata.name']);
  const bad = {
    ...spec,
    groupPriorityMinimum: 20_001,
    versionPriority: 0,
    service: {},
    insecureSkipTLSVerify: true,
    caBundle: 'YQ==',
  };
  expect(
    (await services.create({ metadata: { name: 'v1.example.com' }, spec: bad })).causes,
  ).toEqual([
    'spec.groupPriorityMinimum',
    'spec.versionPriority',
    'spec.service.namespace',
    'spec.service.name',
    'spec.insecureSkipTLSVerify',
  ]);
  const created = await services.create({
    metadata: { name: 'v1.example.com' },
    spec: { ...spec, service },
  });
  expect(created.object.spec).toEqual({ ...spec, service: { ...service, port: 443 } });
  expect(created.object.status).toEqual({});
  const conditions = [{ type: 'Available', status: 'False', reason: 'MissingEndpoints' }];
  expect((await services.patch('v1.example.com/status', { status: { conditions } })).code).toBe(
    200,
  );
  // Waits for the server's own check.
  await t.clock.settle();
  const shown = (await services.table()).rows.find(([name]) => name === 'v1.example.com');
  expect(shown?.slice(1, 3)).toEqual(['default/s', 'False (ServiceNotFound)']);
});

test('who may change which part of the status of a claim', async () => {
  const claims = inDefault('resourceclaims');
  const requests = [{ name: 'r', exactly: { deviceClassName: 'c' } }];
  await claims.create({ metadata, spec: { devices: { requests } } });
  const rule = (verbs: string, resource: string, ...names: string[]) => ({
    ...can(verbs, 'resource.k8s.io', resource),
    ...(names.length > 0 && { resourceNames: names }),
  });
  const grant = async (name: string, ...rules: ReturnType<typeof rule>[]): Promise<void> => {
    await t.client.resource(clusterRoles).create({ metadata: { name }, rules });
    await t.client.resource(clusterRoleBindings).create({
      metadata: { name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    });
  };
  const read = rule('get update', 'resourceclaims resourceclaims/status');
  const driver = 'system:serviceaccount:default:driver';
  await grant('plain', read);
  await grant('binder', read, rule('update', 'resourceclaims/binding'));
  await grant(driver, read, rule('associated-node:update', 'resourceclaims/driver', 'd'));
  await grant('anywhere', read, rule('arbitrary-node:update', 'resourceclaims/driver', 'd'));

  const write = async (user: UserInfo, change: (status: Status) => object): Promise<string> => {
    const client = t.clientOf(user).resource(resourceClaims).namespace('default');
    const claim = await client.get('it');
    try {
      await client.updateStatus({ ...claim, status: change(claim.status) as Status });
      return 'allowed';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const allocation = {
    devices: { results: [{ request: 'r', driver: 'd', pool: 'p', device: 'x' }] },
    nodeSelector: {
      nodeSelectorTerms: [
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
      ],
    },
  };
  const named = (name: string, node?: string): UserInfo => ({
    name,
    groups: ['system:authenticated'],
    ...(node !== undefined && { extra: { 'authentication.kubernetes.io/node-name': [node] } }),
  });
  expect(await write(named('plain'), () => ({ allocation }))).toBe(
    'ResourceClaim.resource.k8s.io "it" is invalid: status.allocation: Forbidden: changing ' +
      'status.allocation or status.reservedFor requires resource="resourceclaims/binding", ' +
      'verb="update" permission: resourceclaims.resource.k8s.io is forbidden: User "plain" cannot ' +
      'update resource "resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope',
  );
  expect(await write(named('binder'), () => ({ allocation }))).toBe('allowed');
  let count = 0;
  const report = (status: Status): object => ({
    ...status,
    devices: [{ driver: 'd', pool: 'p', device: 'x', data: { count: ++count } }],
  });
  expect(await write(named('binder'), report)).toContain(
    'verb="[arbitrary-node:update]" permission: resourceclaims.resource.k8s.io "d" is forbidden: ' +
      'User "binder" cannot arbitrary-node:update resource "resourceclaims/driver"',
  );
  expect(await write(named(driver, 'n2'), report)).toContain('cannot arbitrary-node:update');
  expect(await write(named(driver), report)).toContain('cannot arbitrary-node:update');
  expect(await write(named(driver, 'n1'), report)).toBe('allowed');
  expect(await write(named('anywhere'), report)).toBe('allowed');
  // A report that goes is a change, too; what stays as it is needs no permission.
  expect(await write(named('plain'), (status) => ({ ...status, devices: undefined }))).toContain(
    'Forbidden',
  );
  expect(await write(named('plain'), (status) => status)).toBe('allowed');
});
