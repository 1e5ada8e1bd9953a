import { beforeEach, describe, expect, test } from 'vitest';

import { namespaces } from '#api/groups/core/v1/index.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  roles,
} from '#api/groups/rbac/v1/index.ts';
import { can } from '#apiserver/authorization/policy/words.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const GROUP = 'rbac.authorization.k8s.io';
const user = (name: string) => ({ kind: 'User', apiGroup: GROUP, name });
const toClusterRole = (name: string) => ({ apiGroup: GROUP, kind: 'ClusterRole', name });

const t = serverPerTest();
const joe = () => t.clientOf({ name: 'joe', groups: ['dev', 'system:authenticated'] });
const why = async (attempt: Promise<unknown>): Promise<string> => {
  try {
    await attempt;
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

/** joe may write roles and bindings everywhere, and read pods in `a`. */
beforeEach(async () => {
  await t.client.resource(namespaces).create({ metadata: { name: 'a' } });
  await t.client.resource(clusterRoles).create({
    metadata: { name: 'writer' },
    rules: [
      can('create update patch get', GROUP, 'roles rolebindings clusterroles clusterrolebindings'),
    ],
  });
  await t.client.resource(clusterRoleBindings).create({
    metadata: { name: 'writer' },
    subjects: [user('joe')],
    roleRef: toClusterRole('writer'),
  });
  await t.client
    .resource(clusterRoles)
    .create({ metadata: { name: 'look' }, rules: [can('get list', '', 'pods')] });
  await t.client
    .resource(roleBindings)
    .namespace('a')
    .create({
      metadata: { name: 'look' },
      subjects: [user('joe')],
      roleRef: toClusterRole('look'),
    });
});

describe('a user who writes a role', () => {
  test('must have its permissions', async () => {
    const inA = joe().resource(roles).namespace('a');
    expect(
      await why(inA.create({ metadata: { name: 'ok' }, rules: [can('get', '', 'pods')] })),
    ).toBe('');
    const more = [
      can('get list delete', '', 'pods'),
      can('get', '', 'secrets', 's'),
      can('list', 'apps', 'deployments'),
    ];
    expect(await why(inA.create({ metadata: { name: 'more' }, rules: more }))).toBe(
      'roles.rbac.authorization.k8s.io "more" is forbidden: user "joe" (groups=["dev" ' +
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}\n' +
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["s"], Verbs:["get"]}\n' +
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["list"]}',
    );
    // A patch is rejected, too.
    const MERGE = 'application/merge-patch+json';
    expect(await why(inA.patch('ok', MERGE, { rules: more }))).toContain('not currently held');
    const applied = {
      apiVersion: `${GROUP}/v1`,
      kind: 'Role',
      metadata: { name: 'applied' },
      rules: more,
    };
    expect(
      await why(
        inA.patch('applied', 'application/apply-patch+yaml', applied, { fieldManager: 'joe' }),
      ),
    ).toContain('not currently held');
    expect(await why(inA.patch('ok', MERGE, { metadata: { labels: { a: 'b' } } }))).toBe('');
    // Permissions in one namespace do not allow cluster-wide roles.
    const everywhere = joe().resource(clusterRoles);
    expect(
      await why(everywhere.create({ metadata: { name: 'x' }, rules: [can('get', '', 'pods')] })),
    ).toContain('not currently held');
  });

  test('may escalate with permission', async () => {
    await t.client
      .resource(clusterRoles)
      .create({ metadata: { name: 'escalator' }, rules: [can('escalate', GROUP, 'roles')] });
    await t.client.resource(clusterRoleBindings).create({
      metadata: { name: 'escalator' },
      subjects: [user('joe')],
      roleRef: toClusterRole('escalator'),
    });
    const role = { metadata: { name: 'more' }, rules: [can('*', '*', '*')] };
    expect(await why(joe().resource(roles).namespace('a').create(role))).toBe('');
    expect(await why(joe().resource(clusterRoles).create(role))).toContain('not currently held');
  });

  test('cannot aggregate without all permissions', async () => {
    const aggregated = {
      metadata: { name: 'all' },
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    };
    expect(await why(joe().resource(clusterRoles).create(aggregated))).toBe(
      'clusterroles.rbac.authorization.k8s.io "all" is forbidden: must have cluster-admin ' +
        'privileges to use an aggregationRule',
    );
  });
});

describe('a user who binds a role', () => {
  const binding = (name: string) => ({
    metadata: { name },
    subjects: [user('jane')],
    roleRef: toClusterRole(name),
  });

  test('must have its permissions', async () => {
    const inA = joe().resource(roleBindings).namespace('a');
    expect(await why(inA.create(binding('cluster-admin')))).toContain(
      'rolebindings.rbac.authorization.k8s.io "cluster-admin" is forbidden: user "joe"',
    );
    expect(await why(inA.create({ ...binding('look'), metadata: { name: 'jane' } }))).toBe('');
    expect(await why(joe().resource(clusterRoleBindings).create(binding('look')))).toContain(
      'not currently held',
    );
    expect(await why(inA.create(binding('nonsense')))).toBe(
      'clusterroles.rbac.authorization.k8s.io "nonsense" not found',
    );
    // Adding subjects to an existing binding is rejected, too.
    const admins = joe().resource(clusterRoleBindings);
    expect(
      await why(
        admins.patch('cluster-admin', 'application/merge-patch+json', { subjects: [user('joe')] }),
      ),
    ).toContain('not currently held');
  });

  test('may bind it with permission', async () => {
    await t.client.resource(clusterRoles).create({
      metadata: { name: 'binder' },
      rules: [can('bind', GROUP, 'clusterroles', 'view')],
    });
    await t.client.resource(clusterRoleBindings).create({
      metadata: { name: 'binder' },
      subjects: [user('joe')],
      roleRef: toClusterRole('binder'),
    });
    await t.client
      .resource(clusterRoles)
      .patch('view', 'application/merge-patch+json', { rules: [can('get', '', 'nodes')] });
    const inA = joe().resource(roleBindings).namespace('a');
    expect(await why(inA.create(binding('view')))).toBe('');
    expect(await why(inA.create(binding('system:kube-scheduler')))).toContain('not currently held');
  });
});
