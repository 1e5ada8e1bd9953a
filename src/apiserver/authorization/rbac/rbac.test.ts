// Roles and bindings, through the server: they take effect at once, and end at once.

import { beforeEach, describe, expect, test } from 'vitest';

import { namespaces, pods, serviceAccounts } from '#api/groups/core/v1/index.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
} from '#api/groups/rbac/v1/index.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import type { Client } from '#client/client.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { can } from '../policy/words.ts';

const GROUP = 'rbac.authorization.k8s.io';
const joe = { kind: 'User', apiGroup: GROUP, name: 'joe' };
const toRole = (name: string) => ({ apiGroup: GROUP, kind: 'Role', name });
const toClusterRole = (name: string) => ({ apiGroup: GROUP, kind: 'ClusterRole', name });

const t = serverPerTest();
const asJoe = (...groups: string[]): Client =>
  t.clientOf({ name: 'joe', groups: [...groups, 'system:authenticated'] });
const why = async (attempt: Promise<unknown>): Promise<string> => {
  try {
    await attempt;
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};
beforeEach(async () => {
  for (const name of ['a', 'b']) await t.client.resource(namespaces).create({ metadata: { name } });
});

test('a review says which binding allows the request', async () => {
  const { client } = t;
  await client
    .resource(clusterRoles)
    .create({ metadata: { name: 'see' }, rules: [can('list', '', 'pods')] });
  const group = { kind: 'Group', apiGroup: GROUP, name: 'team' };
  const account = { kind: 'ServiceAccount', name: 'robot', namespace: 'b' };
  await client
    .resource(clusterRoleBindings)
    .create({ metadata: { name: 'all' }, subjects: [group], roleRef: toClusterRole('see') });
  await client
    .resource(roleBindings)
    .namespace('a')
    .create({ metadata: { name: 'one' }, subjects: [account], roleRef: toClusterRole('see') });
  const review = async (user: string, groups: readonly string[]): Promise<unknown> => {
    const resourceAttributes = { verb: 'list', resource: 'pods', namespace: 'a' };
    const { status } = await client
      .resource(subjectAccessReviews)
      .create({ metadata: {}, spec: { user, groups: [...groups], resourceAttributes } });
    return status;
  };
  expect(await review('joe', ['team'])).toEqual({
    allowed: true,
    reason: 'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "see" to Group "team"',
  });
  expect(await review('system:serviceaccount:b:robot', [])).toEqual({
    allowed: true,
    reason: 'RBAC: allowed by RoleBinding "one/a" of ClusterRole "see" to ServiceAccount "robot/b"',
  });
});

describe('a role', () => {
  test('applies in its namespace, to bound users, as long as they are bound', async () => {
    const inA = t.client.resource(roles).namespace('a');
    await inA.create({ metadata: { name: 'look' }, rules: [can('list', '', 'pods')] });
    expect(await why(asJoe().resource(pods).namespace('a').list())).toBe(
      'pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the namespace "a"',
    );
    const bindings = t.client.resource(roleBindings).namespace('a');
    await bindings.create({ metadata: { name: 'joe' }, subjects: [joe], roleRef: toRole('look') });
    expect((await asJoe().resource(pods).namespace('a').list()).items).toEqual([]);
    expect(await why(asJoe().resource(pods).namespace('b').list())).toContain('forbidden');
    expect(await why(asJoe().resource(pods).list())).toContain('at the cluster scope');
    await inA.patch('look', 'application/merge-patch+json', { rules: [can('get', '', 'pods')] });
    expect(await why(asJoe().resource(pods).namespace('a').list())).toContain('forbidden');
    await inA.patch('look', 'application/merge-patch+json', { rules: [can('list', '', 'pods')] });
    expect(await why(asJoe().resource(pods).namespace('a').list())).toBe('');
    await bindings.delete('joe');
    expect(await why(asJoe().resource(pods).namespace('a').list())).toContain('forbidden');
  });

  test('that does not exist is in the message', async () => {
    const bindings = t.client.resource(roleBindings).namespace('a');
    await bindings.create({ metadata: { name: 'joe' }, subjects: [joe], roleRef: toRole('gone') });
    expect(await why(asJoe().resource(pods).namespace('a').list())).toBe(
      'pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the namespace "a": ' +
        'RBAC: role.rbac.authorization.k8s.io "gone" not found',
    );
  });

  test('of the cluster applies where it is bound', async () => {
    await t.client
      .resource(clusterRoles)
      .create({ metadata: { name: 'look' }, rules: [can('list', '', 'pods')] });
    await t.client
      .resource(roleBindings)
      .namespace('a')
      .create({
        metadata: { name: 'dev' },
        subjects: [{ ...joe, kind: 'Group', name: 'dev' }],
        roleRef: toClusterRole('look'),
      });
    expect(await why(asJoe('dev').resource(pods).namespace('a').list())).toBe('');
    expect(await why(asJoe('dev').resource(pods).namespace('b').list())).toContain('forbidden');
    expect(await why(asJoe().resource(pods).namespace('a').list())).toContain('forbidden');
    const everywhere = t.client.resource(clusterRoleBindings);
    await everywhere.create({
      metadata: { name: 'joe' },
      subjects: [joe],
      roleRef: toClusterRole('look'),
    });
    expect(await why(asJoe().resource(pods).list())).toBe('');
    // The same binding gets other subjects.
    await everywhere.patch('joe', 'application/merge-patch+json', {
      subjects: [{ ...joe, name: 'jane' }],
    });
    expect(await why(asJoe().resource(pods).list())).toContain('forbidden');
  });

  test('of a ServiceAccount without a namespace applies in the namespace of the binding', async () => {
    await t.client
      .resource(serviceAccounts)
      .namespace('a')
      .create({ metadata: { name: 'robot' } });
    await t.client
      .resource(roles)
      .namespace('a')
      .create({ metadata: { name: 'look' }, rules: [can('list', '', 'pods')] });
    await t.client
      .resource(roleBindings)
      .namespace('a')
      .create({
        metadata: { name: 'robot' },
        subjects: [{ kind: 'ServiceAccount', name: 'robot' }],
        roleRef: toRole('look'),
      });
    const robot = (namespace: string) =>
      t.clientOf({
        name: `system:serviceaccount:${namespace}:robot`,
        groups: ['system:authenticated'],
      });
    expect(await why(robot('a').resource(pods).namespace('a').list())).toBe('');
    expect(await why(robot('b').resource(pods).namespace('a').list())).toContain('forbidden');
  });
});

test('a server that starts on an existing store uses its roles', async () => {
  await t.client
    .resource(clusterRoles)
    .create({ metadata: { name: 'look' }, rules: [can('list', '', 'pods')] });
  await t.client
    .resource(clusterRoleBindings)
    .create({ metadata: { name: 'joe' }, subjects: [joe], roleRef: toClusterRole('look') });
  const other = await startTestServer({ storage: t.storage, clock: t.clock });
  const there = other.clientOf({ name: 'joe', groups: ['system:authenticated'] });
  expect(await why(there.resource(pods).list())).toBe('');
  await t.client.resource(clusterRoleBindings).delete('joe');
  await (t.clock as unknown as { settle(): Promise<void> }).settle();
  expect(await why(there.resource(pods).list())).toContain('forbidden');
  await other.server.stop();
});
