import { expect, test } from 'vitest';
import { bytesText, coresText, parseQuantity } from '../text/quantity.ts';
import { type Action, type Rbac, whoCan } from './who-can.ts';

const rbac: Rbac = {
  clusterRoles: [
    { metadata: { name: 'admin' }, rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] },
    {
      metadata: { name: 'exec' },
      rules: [{ verbs: ['create'], apiGroups: [''], resources: ['*/exec'] }],
    },
    { metadata: { name: 'broken' }, rules: null },
  ],
  roles: [
    {
      metadata: { name: 'one', namespace: 'shop' },
      rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['web'] }],
    },
  ],
  clusterRoleBindings: [
    {
      metadata: { name: 'admins' },
      roleRef: { kind: 'ClusterRole', name: 'admin' },
      subjects: [{ kind: 'Group', name: 'admins' }],
    },
    {
      metadata: { name: 'broken' },
      roleRef: { kind: 'ClusterRole', name: 'broken' },
      subjects: null,
    },
  ],
  roleBindings: [
    {
      metadata: { name: 'one', namespace: 'shop' },
      roleRef: { kind: 'Role', name: 'one' },
      subjects: [{ kind: 'User', name: 'ann' }],
    },
    {
      metadata: { name: 'exec', namespace: 'shop' },
      roleRef: { kind: 'ClusterRole', name: 'exec' },
      subjects: [{ kind: 'ServiceAccount', name: 'bot', namespace: 'ops' }],
    },
  ],
};

const action = (parts: Partial<Action>): Action => ({
  verb: 'get',
  group: '',
  resource: 'pods',
  namespace: 'shop',
  name: '',
  ...parts,
});

test.each<[string, Partial<Action>, string[]]>([
  ['any name: the rule for one name is shown with it', {}, ['admins', 'ann (web)']],
  ['another name', { name: 'db' }, ['admins']],
  ['another namespace', { namespace: 'x' }, ['admins']],
  ['all namespaces', { namespace: '' }, ['admins']],
  ['a subresource', { verb: 'create', resource: 'pods/exec' }, ['admins', 'bot']],
  ['another group', { group: 'apps', resource: 'deployments' }, ['admins']],
])('%s', (_name, parts, subjects) => {
  expect(
    whoCan(rbac, action(parts)).map(
      ({ subject, onlyNames }) =>
        subject.name + (onlyNames.length > 0 ? ` (${onlyNames.join()})` : ''),
    ),
  ).toEqual(expect.arrayContaining(subjects));
  expect(whoCan(rbac, action(parts))).toHaveLength(subjects.length);
});

test('quantities', () => {
  expect(['100m', '1.5', '64Mi', '1k', '2e3', '500u', 'x', '1.2.3Q'].map(parseQuantity)).toEqual([
    0.1,
    1.5,
    67_108_864,
    1000,
    2000,
    0.0005,
    Number.NaN,
    Number.NaN,
  ]);
  expect(bytesText(1536 * 1024)).toBe('1.5 MiB');
  expect(coresText(0.25)).toBe('250m');
});
