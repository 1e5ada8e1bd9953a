import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { expect, test } from 'vitest';

import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { storageVersionMigrations } from '#api/groups/storagemigration/v1beta1/index.ts';
import { resourceOfKeys } from '#cluster/stores/encryption.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { encryptedBy } from '#storage/encryption/testing/encrypted.ts';
import type { Storage } from '#storage/interface.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { StorageVersionMigrator } from './index.ts';

const SERVED = { 'storagemigration.k8s.io/v1beta1': 'true' };
const inCluster = ({ client }: TestCluster) => client.resource(storageVersionMigrations);
const ask = (cluster: TestCluster, name: string, resource: string, group = '') =>
  inCluster(cluster).create({ metadata: { name }, spec: { resource: { group, resource } } });
const statusOf = async (cluster: TestCluster, name: string) =>
  (await inCluster(cluster).get(name)).status;
/** Returns the conditions as 'Type=Status Reason Message'. */
const said = async (cluster: TestCluster, name: string): Promise<readonly string[]> =>
  ((await statusOf(cluster, name)).conditions ?? []).map(({ type, status, reason, message }) =>
    `${type}=${status} ${reason} ${message}`.trimEnd(),
  );
const DONE = [
  'Running=False MigrationCompleted Migration completed',
  'Succeeded=True StorageVersionMigrationSucceeded',
];
const failed = (message: string) => [
  DONE[0],
  `Failed=True StorageVersionMigrationFailed ${message}`,
];

async function versions(
  cluster: TestCluster,
  type: ResourceType<KubeObject>,
): Promise<Readonly<Record<string, string>>> {
  const { items } = await cluster.client.resource(type).list();
  return Object.fromEntries(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
}

/** Returns a store whose encryption can be changed at run time, and a view of the stored bytes. */
function changeable() {
  let below: Storage | undefined;
  let current: Storage | undefined;
  const key = (name: string) => ({
    name,
    secret: Buffer.from(name.repeat(32).slice(0, 32)).toString('base64'),
  });
  return {
    wrapStorage(storage: Storage): Storage {
      below = current = storage;
      return new Proxy(storage, {
        get: (_, name) => {
          const value: unknown = Reflect.get(current as Storage, name);
          return typeof value === 'function' ? value.bind(current) : value;
        },
      });
    },
    /** Sets the keys; the first one encrypts. */
    encryptWith(...keys: readonly string[]): void {
      const providers = [{ aesgcm: { keys: keys.map(key) } }, { identity: {} }];
      const resource = { group: '', resource: 'secrets' };
      const resources = resourceOfKeys([resource]);
      current = encryptedBy(below as Storage, providers, resource, resources);
    },
    /** Returns the distinct first words of the stored values. */
    async forms(): Promise<readonly string[]> {
      const { items } = await (below as Storage).list('/registry/secrets/');
      const first = items.map(
        ({ value }) =>
          /^k8s:enc:\w+:v1:\w+:/.exec(Buffer.from(value).toString('latin1'))?.[0] ?? 'plain',
      );
      return [...new Set(first)].sort();
    },
  };
}

test('after a key change every object is rewritten with the new key, and only objects that need it', async () => {
  const store = changeable();
  const cluster = await startTestCluster({ runtimeConfig: SERVED, wrapStorage: store.wrapStorage });
  // The objects need several pages.
  await cluster.run((config) => new StorageVersionMigrator({ ...config, pageSize: 3 }));
  await cluster.addNamespace('other');
  for (const namespace of ['default', 'other']) {
    for (let n = 0; n < 4; n++) {
      const data = { key: Buffer.from(`${n}`).toString('base64') };
      await cluster.client
        .resource(secrets)
        .namespace(namespace)
        .create({ metadata: { name: `s${n}` }, data });
    }
  }
  const migrate = async (name: string): Promise<void> => {
    await ask(cluster, name, 'secrets');
    await cluster.clock.advance('10s');
    expect(await said(cluster, name)).toEqual(DONE);
  };
  expect(await store.forms()).toEqual(['plain']);

  store.encryptWith('one');
  expect(await store.forms()).toEqual(['plain']);
  await migrate('turn-on');
  expect(await store.forms()).toEqual(['k8s:enc:aesgcm:v1:one:']);

  store.encryptWith('two', 'one');
  await cluster.client
    .resource(secrets)
    .namespace('default')
    .create({ metadata: { name: 'new' } });
  expect(await store.forms()).toEqual(['k8s:enc:aesgcm:v1:one:', 'k8s:enc:aesgcm:v1:two:']);
  await migrate('rotate');
  expect(await store.forms()).toEqual(['k8s:enc:aesgcm:v1:two:']);

  // Values that are encrypted with the old key cannot be read any more.
  store.encryptWith('two');
  const { items } = await cluster.client.resource(secrets).list();
  expect(items).toHaveLength(9);
  expect(
    items.flatMap(({ metadata }) => metadata.managedFields?.map(({ manager }) => manager) ?? []),
  ).not.toContain('storage-version-migrator-controller');
  const before = await versions(cluster, secrets);
  await migrate('for-nothing');
  expect(await versions(cluster, secrets)).toEqual(before);
  await cluster.stop();
});

test('one migration of each resource at a time, in the order of creation', async () => {
  const cluster = await startTestCluster({ runtimeConfig: SERVED });
  for (const name of ['b', 'a']) {
    await ask(cluster, name, 'configmaps');
    await cluster.clock.advance('1s');
  }
  await ask(cluster, 'elsewhere', 'secrets');
  const begun: string[] = [];
  const watch = await inCluster(cluster).watch();
  const reading = (async () => {
    for await (const { object } of watch) {
      for (const { type, status } of object.status?.conditions ?? []) {
        const what = `${object.metadata.name} ${type} ${status}`;
        if (!begun.includes(what)) begun.push(what);
      }
    }
  })();
  await cluster.run((config) => new StorageVersionMigrator(config));
  await cluster.clock.advance('1m');
  watch.stop();
  await reading;
  expect(begun.indexOf('a Running True')).toBeGreaterThan(begun.indexOf('b Succeeded True'));
  expect(await said(cluster, 'elsewhere')).toEqual(DONE);
  // The revision at the start of the migration is never 0.
  expect((await statusOf(cluster, 'a')).resourceVersion).toMatch(/^[1-9]\d*$/);
  await cluster.stop();
});

test('a migration that is impossible fails, with the reason', async () => {
  const cluster = await startTestCluster({ runtimeConfig: SERVED });
  await cluster.run((config) => new StorageVersionMigrator(config));
  await ask(cluster, 'unknown', 'gadgets', 'example.com');
  await ask(cluster, 'asked-only', 'subjectaccessreviews', 'authorization.k8s.io');
  await cluster.clock.advance('10s');
  expect(await said(cluster, 'asked-only')).toEqual(
    failed(
      'resource "authorization.k8s.io/v1, Resource=subjectaccessreviews" does not support ' +
        'discovery operations: [update patch list]',
    ),
  );
  // The resource may be discovered soon.
  expect(await said(cluster, 'unknown')).toEqual([
    'Running=True MigrationRunning The migration is running',
  ]);
  await cluster.clock.advance('10m');
  expect(await said(cluster, 'unknown')).toEqual(failed('resource does not exist in discovery'));
  await cluster.stop();
});

test('a rejected write fails the migration, a temporary error is retried, a conflict counts as migrated', async () => {
  const cluster = await startTestCluster({ runtimeConfig: SERVED });
  const access = cluster.client.resource(configMaps).namespace('default');
  for (const name of ['a', 'b']) await access.create({ metadata: { name } });
  await cluster.run((config) => new StorageVersionMigrator(config));
  const { faults } = cluster;
  const fail = (err: () => Error, times = 1) =>
    faults.fail('PATCH', /configmaps\/a$/, err, { times });
  const resource = { group: '', resource: 'configmaps' };
  fail(() => apierrors.tooManyRequests('later', 1), 2);
  await ask(cluster, 'busy', 'configmaps');
  await cluster.clock.advance('1m');
  expect(await said(cluster, 'busy')).toEqual(DONE);
  expect(faults.requests.filter((each) => /PATCH .*configmaps\/a$/.test(each))).toHaveLength(3);

  fail(() => apierrors.conflict(resource, 'a', new Error('the object has been modified')));
  await ask(cluster, 'lost', 'configmaps');
  await cluster.clock.advance('1m');
  expect(await said(cluster, 'lost')).toEqual(DONE);

  fail(() => apierrors.forbidden(resource, 'a', 'no'));
  await ask(cluster, 'refused', 'configmaps');
  await cluster.clock.advance('1m');
  expect(await said(cluster, 'refused')).toEqual(
    failed('migration encountered unhandled error: configmaps "a" is forbidden: no'),
  );
  await cluster.stop();
});

test('an object that was deleted or replaced is a conflict, and is not created', async () => {
  const cluster = await startTestCluster();
  const access = cluster.client.resource(configMaps).namespace('default');
  const { uid, resourceVersion } = (await access.create({ metadata: { name: 'a' } })).metadata;
  const rewrite = async (name: string, metadata: object): Promise<boolean> => {
    const nothing = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    try {
      await access.patch(name, 'application/apply-patch+yaml', nothing, {
        fieldManager: 'migrator',
      });
      return false;
    } catch (error) {
      if (!apierrors.isConflict(error)) throw error;
      return true;
    }
  };
  expect(await rewrite('a', { uid, resourceVersion })).toBe(false);
  expect((await access.get('a')).metadata.resourceVersion).toBe(resourceVersion);
  expect(await rewrite('a', { uid: 'another', resourceVersion: '1' })).toBe(true);
  expect(await rewrite('a', { uid, resourceVersion: '1' })).toBe(true);
  expect(await rewrite('gone', { uid, resourceVersion })).toBe(true);
  await expect(access.get('gone')).rejects.toThrow('not found');
  await cluster.stop();
});

test('if migrations are not served, the controller discovers periodically and does nothing else', async () => {
  const cluster = await startTestCluster();
  await cluster.run((config) => new StorageVersionMigrator(config));
  await cluster.clock.advance('5m');
  expect(new Set(cluster.faults.requests)).toEqual(
    new Set(['GET /apis/storagemigration.k8s.io/v1beta1']),
  );
  expect(cluster.faults.requests).toHaveLength(6);
  await cluster.stop();
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    cluster: { runtimeConfig: SERVED },
    subject: (config) => new StorageVersionMigrator(config),
    steps: [
      async (cluster) => {
        await cluster.client
          .resource(deployments)
          .namespace('default')
          .create({
            metadata: { name: 'web' },
            spec: {
              replicas: 0,
              selector: { matchLabels: { a: 'b' } },
              template: {
                metadata: { labels: { a: 'b' } },
                spec: { containers: [{ name: 'c', image: 'i' }] },
              },
            },
          });
        await ask(cluster, 'first', 'deployments', 'apps');
        await ask(cluster, 'second', 'deployments', 'apps');
      },
    ],
    outcome: [storageVersionMigrations, deployments],
    rest: '1m',
  });
  // Per migration: Running, the revision, the one object, Succeeded, and not Running.
  expect(writes).toBe(10);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
