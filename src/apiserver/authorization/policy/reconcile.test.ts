import { expect, test } from 'vitest';

import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
} from '#api/groups/rbac/v1/index.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { keepBootstrapPolicy } from './reconcile.ts';
import { AUTO_UPDATE_ANNOTATION, can } from './words.ts';

const t = serverPerTest();

const MERGE = 'application/merge-patch+json';
const revision = async () =>
  Number((await t.client.resource(clusterRoles).list({ limit: 1 })).metadata.resourceVersion);

test('they exist, have the label, and are written once', async () => {
  const view = await t.client.resource(clusterRoles).get('view');
  expect(view).toMatchObject({
    metadata: {
      labels: {
        'kubernetes.io/bootstrapping': 'rbac-defaults',
        'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
      },
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
    },
    aggregationRule: {
      clusterRoleSelectors: [
        { matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      ],
    },
  });
  expect(
    await t.client.resource(clusterRoleBindings).get('system:controller:job-controller'),
  ).toMatchObject({
    roleRef: { kind: 'ClusterRole', name: 'system:controller:job-controller' },
    subjects: [{ kind: 'ServiceAccount', name: 'job-controller', namespace: 'kube-system' }],
  });
  const names = async (resource: typeof roles | typeof roleBindings) =>
    (await t.client.resource(resource as typeof roles).list()).items.map(
      ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
    );
  expect(await names(roles)).toEqual([
    'kube-node-lease/system:coxswain:address-announcer',
    'kube-public/system:controller:bootstrap-signer',
    'kube-system/extension-apiserver-authentication-reader',
    'kube-system/system::leader-locking-kube-controller-manager',
    'kube-system/system::leader-locking-kube-scheduler',
    'kube-system/system:controller:bootstrap-signer',
    'kube-system/system:controller:cloud-provider',
    'kube-system/system:controller:token-cleaner',
  ]);
  expect(await names(roleBindings)).toContain(
    'kube-system/system::extension-apiserver-authentication-reader',
  );
  const before = await revision();
  await keepBootstrapPolicy(t.client, t.server.catalog.snapshot());
  expect(await revision()).toBe(before);
});

test('a binding that was a part of another has its subjects', async () => {
  const bindings = t.client.resource(clusterRoleBindings);
  const { subjects = [] } = await bindings.get('system:public-info-viewer');
  const authenticated = subjects.filter(({ name }) => name === 'system:authenticated');
  expect(authenticated.length).toBeLessThan(subjects.length);
  const restarted = async (annotations: object) => {
    await bindings.patch('system:discovery', MERGE, {
      metadata: { annotations },
      subjects: authenticated,
    });
    await bindings.delete('system:public-info-viewer');
    await keepBootstrapPolicy(t.client, t.server.catalog.snapshot());
    return bindings.get('system:public-info-viewer');
  };
  const own = await restarted({ [AUTO_UPDATE_ANNOTATION]: 'false', own: 'yes' });
  expect(own.subjects).toEqual(authenticated);
  expect(own.metadata.annotations).toMatchObject({ own: 'yes' });
  expect(own.roleRef.name).toBe('system:public-info-viewer');
  const updated = await restarted({ [AUTO_UPDATE_ANNOTATION]: 'true' });
  expect(updated.subjects).toHaveLength(subjects.length);
});

test('missing parts are added, additions of users stay', async () => {
  const all = t.client.resource(clusterRoles);
  await all.patch('system:controller:ttl-controller', MERGE, {
    metadata: { labels: { 'kubernetes.io/bootstrapping': null, own: 'yes' } },
    rules: [can('get', '', 'secrets'), can('list update', '', 'nodes')],
  });
  await all.delete('system:heapster');
  const bindings = t.client.resource(clusterRoleBindings);
  const extra = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'joe' };
  await bindings.patch('system:node-proxier', MERGE, { subjects: [extra] });
  await keepBootstrapPolicy(t.client, t.server.catalog.snapshot());
  const mended = await all.get('system:controller:ttl-controller');
  expect(mended.metadata.labels).toEqual({
    'kubernetes.io/bootstrapping': 'rbac-defaults',
    own: 'yes',
  });
  expect(mended.rules?.slice(0, 3)).toEqual([
    can('get', '', 'secrets'),
    can('list update', '', 'nodes'),
    can('patch', '', 'nodes'),
  ]);
  expect((await all.get('system:heapster')).metadata.name).toBe('system:heapster');
  expect((await bindings.get('system:node-proxier')).subjects).toEqual([
    extra,
    { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-proxy' },
  ]);
  const before = await revision();
  await keepBootstrapPolicy(t.client, t.server.catalog.snapshot());
  expect(await revision()).toBe(before);
});

test('a binding to another role is replaced', async () => {
  const bindings = t.client.resource(clusterRoleBindings);
  const { metadata, subjects } = await bindings.get('system:discovery');
  await bindings.delete('system:discovery');
  await bindings.create({
    metadata: { name: metadata.name, annotations: { [AUTO_UPDATE_ANNOTATION]: 'true' } },
    subjects,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  });
  await keepBootstrapPolicy(t.client, t.server.catalog.snapshot());
  expect((await bindings.get('system:discovery')).roleRef.name).toBe('system:discovery');
});

test('the annotation turns reconciliation off', async () => {
  const all = t.client.resource(clusterRoles);
  await all.patch('system:basic-user', MERGE, {
    metadata: { annotations: { [AUTO_UPDATE_ANNOTATION]: 'false' } },
    rules: [],
  });
  await keepBootstrapPolicy(t.client, t.server.catalog.snapshot());
  expect((await all.get('system:basic-user')).rules ?? []).toEqual([]);
});
