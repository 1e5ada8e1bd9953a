import { describe, expect, test } from 'vitest';

import { storageVersionMigrations } from '#api/groups/storagemigration/v1beta1/index.ts';
import { clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { type RuntimeConfig, servedUnder } from './runtime-config.ts';
import { send } from './testing/requests.ts';
import { startTestServer } from './testing/server.ts';

const of = (group: string, version: string, resource: string) => ({
  type: { group, version, resource },
});
const RESOURCES = [
  of('', 'v1', 'pods'),
  of('', 'v1', 'events'),
  of('apps', 'v1', 'deployments'),
  of('apps', 'v1beta1', 'deployments'),
  of('storagemigration.k8s.io', 'v1beta1', 'storageversionmigrations'),
];
const served = (config: RuntimeConfig): string =>
  servedUnder(RESOURCES, config)
    .map(({ type: { group, version, resource } }) => `${group}/${version}/${resource}`)
    .join(' ');

const CORE = '/v1/pods /v1/events';
const STABLE = `${CORE} apps/v1/deployments`;
const MIGRATIONS = 'storagemigration.k8s.io/v1beta1/storageversionmigrations';
const BETA = `apps/v1beta1/deployments ${MIGRATIONS}`;

test.each<[RuntimeConfig, string]>([
  [{}, STABLE],
  [{ 'storagemigration.k8s.io/v1beta1': 'true' }, `${STABLE} ${MIGRATIONS}`],
  [{ 'storagemigration.k8s.io/v1beta1': '' }, `${STABLE} ${MIGRATIONS}`],
  [{ 'storagemigration.k8s.io/v1beta1/storageversionmigrations': 'T' }, `${STABLE} ${MIGRATIONS}`],
  [{ 'api/all': 'true' }, `${STABLE} ${BETA}`],
  [{ 'api/beta': 'true' }, `${STABLE} ${BETA}`],
  [{ 'api/beta': 'true', 'apps/v1beta1': 'false' }, `${STABLE} ${MIGRATIONS}`],
  [{ 'api/ga': 'false', 'api/beta': 'true' }, BETA],
  [{ 'api/all': 'false', '/v1': 'true' }, CORE],
  [{ 'api/all': 'false', 'api/v1': '' }, CORE],
  [{ 'api/all': 'false', 'api/ga': 'true' }, STABLE],
  [{ '/v1/events': 'false' }, '/v1/pods apps/v1/deployments'],
  [{ 'apps/v1': 'false', 'apps/v1/deployments': 'true' }, STABLE],
  [{ 'apps/v1': '0' }, CORE],
  [{ 'apps/v2alpha1': 'false' }, STABLE],
])('%j', (config, expected) => {
  expect(served(config)).toBe(expected);
});

test.each<[RuntimeConfig, string]>([
  [{ 'api/all': 'false' }, 'invalid runtime-config with only api/all=false'],
  [{ 'api/beta': 'yes' }, 'invalid value api/beta=yes'],
  [{ 'api/all': '' }, 'invalid value api/all='],
  [{ 'api/alpha': 'true' }, 'api/alpha=true: this server has no such versions'],
  [{ v1: 'true' }, 'runtime-config invalid key v1'],
  [{ 'a/b/c/d': 'true' }, 'runtime-config invalid key a/b/c/d'],
  [{ 'nonsense/v1': 'false' }, 'unknown api groups nonsense/v1'],
  [
    { 'apps/v2': 'true' },
    'apps/v2=true: group version apps/v2 that has not been registered: this server does not have it',
  ],
  [
    { 'apps/v1/nothing': 'true' },
    'apps/v1/nothing=true: this server has no resource nothing in apps/v1',
  ],
  [
    { 'apps/v1/Deployments': 'true' },
    'invalid key apps/v1/Deployments: group/version/resource and resource is always lowercase ' +
      'plural, not "Deployments"',
  ],
  [
    { 'apps/v1': 'on' },
    'invalid value of apps/v1: on, err: strconv.ParseBool: parsing "on": invalid syntax',
  ],
])('%j is rejected', (config, message) => {
  expect(() => served(config)).toThrow(message);
});

describe('a server', () => {
  const PATH = '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations';
  const ROLE = 'system:controller:storage-version-migrator-controller';

  test('serves migrations and has the role for them only if they are enabled', async () => {
    const t = await startTestServer();
    expect((await send(t.server, { path: PATH })).code).toBe(404);
    expect((await send(t.server, { path: '/apis' })).text).not.toContain('storagemigration');
    await expect(t.client.resource(clusterRoles).get(ROLE)).rejects.toThrow('not found');
    await t.stop();

    const withStorageMigration = await startTestServer({
      runtimeConfig: { 'storagemigration.k8s.io/v1beta1': 'true' },
    });
    expect((await send(withStorageMigration.server, { path: PATH })).code).toBe(200);
    expect((await send(withStorageMigration.server, { path: '/apis' })).text).toContain(
      'storagemigration.k8s.io/v1beta1',
    );
    expect(
      (
        await send(withStorageMigration.server, {
          path: '/openapi/v3/apis/storagemigration.k8s.io/v1beta1',
        })
      ).code,
    ).toBe(200);
    const { spec } = (
      await send(withStorageMigration.server, {
        path: '/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.storagemigration.k8s.io',
      })
    ).json;
    expect(spec).toMatchObject({ groupPriorityMinimum: 15_800, versionPriority: 9 });
    await withStorageMigration.client.resource(storageVersionMigrations).list();
    expect((await withStorageMigration.client.resource(clusterRoles).get(ROLE)).rules).toHaveLength(
      4,
    );
    const storage = withStorageMigration.storage;
    await withStorageMigration.server.stop();
    // Its discovery document and OpenAPI paths are gone, too.
    const again = await startTestServer({ storage });
    const services = (
      await send(again.server, { path: '/apis/apiregistration.k8s.io/v1/apiservices' })
    ).json.items;
    expect(services.map(({ metadata }) => metadata.name)).not.toContain(
      'v1beta1.storagemigration.k8s.io',
    );
    expect(services.map(({ metadata }) => metadata.name)).toContain('v1.apps');
    await again.stop();
  });

  test('does not serve a disabled API', async () => {
    const off = [
      'scheduling.k8s.io/v1',
      'flowcontrol.apiserver.k8s.io/v1',
      'apiregistration.k8s.io/v1',
      'rbac.authorization.k8s.io/v1',
    ];
    const t = await startTestServer({
      runtimeConfig: Object.fromEntries(off.map((key) => [key, 'false'])),
    });
    for (const path of [
      'scheduling.k8s.io/v1/priorityclasses',
      'rbac.authorization.k8s.io/v1/clusterroles',
    ]) {
      expect((await send(t.server, { path: `/apis/${path}` })).code).toBe(404);
    }
    expect((await send(t.server, { path: '/api/v1/namespaces' })).json.items).toHaveLength(4);
    await t.stop();
    expect(t.logger.errors).toEqual([]);
  });
});
