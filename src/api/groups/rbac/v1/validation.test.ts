// Errors of roles and bindings.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as rbac from './types.ts';
import {
  validateBinding,
  validateBindingUpdate,
  validateClusterRole,
  validateRole,
} from './validation.ts';

const GROUP = 'rbac.authorization.k8s.io';
const noSlash = (name: string): string[] => (name.includes('/') ? ["may not contain '/'"] : []);

describe('roles', () => {
  const role = variation<rbac.Role>('rbac/v1.Role', {
    metadata: { name: 'a', namespace: 'default' },
  });
  const clusterRole = variation<rbac.ClusterRole>('rbac/v1.ClusterRole', {
    metadata: { name: 'a' },
  });
  const good = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
  const NO_VERBS = 'rules[0].verbs: Required value: verbs must contain at least one value';
  const BOTH = 'rules cannot apply to both regular resources and non-resource URLs';

  test.each(
    rows<[rule: object, errors: readonly string[]]>([
      [good, []],
      [{ ...good, resourceNames: ['name'] }, []],
      [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, []],
      [{ ...good, verbs: [] }, [NO_VERBS]],
      [
        { ...good, apiGroups: [] },
        ['rules[0].apiGroups: Required value: resource rules must supply at least one api group'],
      ],
      [
        { ...good, resources: [] },
        ['rules[0].resources: Required value: resource rules must supply at least one resource'],
      ],
      [
        {},
        [
          NO_VERBS,
          'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
          'rules[0].resources: Required value: resource rules must supply at least one resource',
        ],
      ],
    ]),
  )('%s', (_, rule, errors) => {
    expect(messages(validateRole(role({ rules: [rule] })))).toEqual(errors);
    expect(messages(validateClusterRole(clusterRole({ rules: [rule] })))).toEqual(errors);
  });

  test.each(
    rows<[rule: object, errors: readonly string[]]>([
      [{ verbs: ['get'], nonResourceURLs: ['/*'] }, []],
      [{ nonResourceURLs: ['/*'] }, [NO_VERBS]],
      [
        { ...good, nonResourceURLs: ['/*'] },
        [`rules[0].nonResourceURLs: Invalid value: ["/*"]: ${BOTH}`],
      ],
      [
        { verbs: ['get'], resourceNames: ['a'], nonResourceURLs: ['/*'] },
        [`rules[0].nonResourceURLs: Invalid value: ["/*"]: ${BOTH}`],
      ],
    ]),
  )('of the whole cluster: %s', (_, rule, errors) => {
    expect(messages(validateClusterRole(clusterRole({ rules: [rule] })))).toEqual(errors);
    const inNamespace =
      'rules[0].nonResourceURLs: Invalid value: ["/*"]: namespaced rules cannot apply to non-resource URLs';
    const first = errors[0] === NO_VERBS ? [NO_VERBS, inNamespace] : [inNamespace, ...errors];
    expect(messages(validateRole(role({ rules: [rule] })))).toEqual(first);
  });

  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [{ rules: null }, []],
      [{ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }, []],
      [
        { aggregationRule: { clusterRoleSelectors: [] } },
        [
          'aggregationRule.clusterRoleSelectors: Required value: at least one ' +
            'clusterRoleSelector required if aggregationRule is non-nil',
        ],
      ],
      [
        {
          aggregationRule: {
            clusterRoleSelectors: [
              { matchLabels: { a: 'b' } },
              { matchExpressions: [{ key: 'foo', operator: 'In' }] },
            ],
          },
        },
        [
          'aggregationRule.clusterRoleSelectors[1].matchExpressions[0].values: Required ' +
            "value: must be specified when `operator` is 'In' or 'NotIn'",
          'aggregationRule.clusterRoleSelectors[1]: Invalid value: ' +
            '{"matchExpressions":[{"key":"foo","operator":"In"}]}: invalid label selector.',
        ],
      ],
      [
        { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'a b': 'c' } }] } },
        [
          `aggregationRule.clusterRoleSelectors[0].matchLabels: Invalid value: "a b": ${NAME_MESSAGES.namePart}`,
          'aggregationRule.clusterRoleSelectors[0]: Invalid value: {"matchLabels":{"a ' +
            'b":"c"}}: invalid label selector.',
        ],
      ],
    ]),
  )('collected: %s', (_, change, errors) => {
    expect(messages(validateClusterRole(clusterRole(change)))).toEqual(errors);
  });
});

describe('bindings', () => {
  const roleRef = { apiGroup: GROUP, kind: 'Role', name: 'valid' };
  const subjects = [
    { kind: 'User', apiGroup: GROUP, name: 'validsaname' },
    { kind: 'Group', apiGroup: GROUP, name: 'valid:group/name' },
    { kind: 'ServiceAccount', name: 'valid-name', namespace: 'a' },
  ];
  const binding = variation<rbac.RoleBinding>('rbac/v1.RoleBinding', {
    metadata: { name: 'master', namespace: 'default' },
    roleRef,
    subjects,
  });
  const clusterBinding = variation<rbac.ClusterRoleBinding>('rbac/v1.ClusterRoleBinding', {
    metadata: { name: 'master' },
    roleRef: { ...roleRef, kind: 'ClusterRole' },
    subjects,
  });

  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [{ subjects: [] }, []],
      [{ roleRef: { kind: 'ClusterRole' } }, []],
      [
        { roleRef: { apiGroup: 'rbac.GroupName' } },
        [`roleRef.apiGroup: Unsupported value: "rbac.GroupName": supported values: "${GROUP}"`],
      ],
      [{ roleRef: { name: '' } }, ['roleRef.name: Required value']],
      [
        { roleRef: { name: 'bad/role' } },
        ['roleRef.name: Invalid value: "bad/role": may not contain \'/\''],
      ],
      [
        { subjects: [{ kind: 'User', apiGroup: GROUP, name: '' }] },
        ['subjects[0].name: Required value'],
      ],
      [
        { subjects: [{ kind: 'ServiceAccount', name: 'subject:bad', namespace: 'a' }] },
        [`subjects[0].name: Invalid value: "subject:bad": ${NAME_MESSAGES.subdomain}`],
      ],
      [
        { subjects: [{ kind: 'ServiceAccount', apiGroup: 'foo', name: 'a', namespace: 'a' }] },
        ['subjects[0].apiGroup: Unsupported value: "foo": supported values: ""'],
      ],
      [
        { subjects: [{ kind: 'User', apiGroup: 'rbac.GroupName', name: 'a' }] },
        [`subjects[0].apiGroup: Unsupported value: "rbac.GroupName": supported values: "${GROUP}"`],
      ],
      [
        { subjects: [{ kind: 'Group', apiGroup: 'v1', name: 'a' }] },
        [`subjects[0].apiGroup: Unsupported value: "v1": supported values: "${GROUP}"`],
      ],
      [
        { subjects: [{ kind: '', name: 'a' }] },
        [
          'subjects[0].kind: Unsupported value: "": supported values: "ServiceAccount", "User", "Group"',
        ],
      ],
      [
        { subjects: [subjects[0] as object, { kind: 'Pod', name: '' }] },
        [
          'subjects[1].name: Required value',
          'subjects[1].kind: Unsupported value: "Pod": supported values: "ServiceAccount", "User", "Group"',
        ],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(messages(validateBinding(binding(change), true, noSlash))).toEqual(errors);
    expect(messages(validateBinding(clusterBinding(change), false, noSlash))).toEqual(errors);
  });

  test('kinds of roles', () => {
    const other = { roleRef: { kind: 'DefaultRole' } };
    expect(messages(validateBinding(binding(other), true, noSlash))).toEqual([
      'roleRef.kind: Unsupported value: "DefaultRole": supported values: "Role", "ClusterRole"',
    ]);
    const role = clusterBinding({ roleRef: { kind: 'Role' } });
    expect(messages(validateBinding(role, false, noSlash))).toEqual([
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ]);
  });

  test('service accounts need a namespace', () => {
    const nowhere = { subjects: [{ kind: 'ServiceAccount', name: 'a' }] };
    expect(messages(validateBinding(binding(nowhere), true, noSlash))).toEqual([]);
    expect(messages(validateBinding(clusterBinding(nowhere), false, noSlash))).toEqual([
      'subjects[0].namespace: Required value',
    ]);
  });

  test.each(
    rows<[now: object, fields: readonly string[]]>([
      [{}, []],
      [{ subjects: [] }, []],
      [{ roleRef: { name: 'changed' } }, ['roleRef']],
      [{ roleRef: { kind: 'ClusterRole' } }, ['roleRef']],
      [{ roleRef: { apiGroup: 'other' } }, ['roleRef']],
    ]),
  )('update to %s', (_, now, fields) => {
    const errors = validateBindingUpdate(binding(now), binding());
    expect(errors.map(({ field, detail }) => [field, detail])).toEqual(
      fields.map((field) => [field, 'cannot change roleRef']),
    );
  });

  test('defaults', () => {
    const bare = binding({
      roleRef: { apiGroup: null },
      subjects: [
        { kind: 'User', name: 'a' },
        { kind: 'Group', name: 'a' },
        { kind: 'ServiceAccount', name: 'a', namespace: 'b' },
      ],
    });
    expect([
      bare.roleRef.apiGroup,
      ...(bare.subjects ?? []).map(({ apiGroup }) => apiGroup),
    ]).toEqual([GROUP, GROUP, GROUP, undefined]);
  });
});
