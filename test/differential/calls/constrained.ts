// Constrained impersonation: a user who may act as some users, service accounts and nodes, for some
// requests only.

import { type Call, CORE, get, post, remove } from './call.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const GROUP = 'authentication.k8s.io';
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

type Headers = Readonly<Record<string, string>>;

const rule = (
  apiGroup: string,
  resource: string,
  verb: string,
  ...resourceNames: readonly string[]
): object => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs: [verb],
  ...(resourceNames.length > 0 && { resourceNames }),
});

/** Grants the service account `con` the rules. */
const granted = (name: string, rules: readonly object[]): readonly Call[] => [
  post(`${RBAC}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  }),
  post(`${RBAC}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'con', namespace: 'default' }],
  }),
];

const RULES = [
  rule('', 'configmaps', 'list'),
  rule('', 'configmaps', 'impersonate-on:user-info:list'),
  rule('', 'configmaps', 'impersonate-on:user-info:get', 'one'),
  rule(GROUP, 'selfsubjectreviews', 'impersonate-on:user-info:create'),
  rule(GROUP, 'users', 'impersonate:user-info', 'bob'),
  rule(GROUP, 'groups', 'impersonate:user-info', 'g', 'system:masters'),
  rule(GROUP, 'userextras/example.com/a', 'impersonate:user-info', 'one'),
  rule(GROUP, 'uids', 'impersonate:user-info', '7'),
  rule('', 'configmaps', 'impersonate-on:serviceaccount:list'),
  rule(GROUP, 'selfsubjectreviews', 'impersonate-on:serviceaccount:create'),
  rule(GROUP, 'serviceaccounts', 'impersonate:serviceaccount', 'other'),
  rule('', 'configmaps', 'impersonate-on:arbitrary-node:list'),
  rule(GROUP, 'selfsubjectreviews', 'impersonate-on:arbitrary-node:create'),
  rule(GROUP, 'nodes', 'impersonate:arbitrary-node', 'n1'),
  rule('', 'configmaps', 'impersonate-on:associated-node:list'),
  rule(GROUP, 'selfsubjectreviews', 'impersonate-on:associated-node:create'),
  rule(GROUP, 'nodes', 'impersonate:associated-node'),
];

const IMPERSONATIONS: readonly Headers[] = [
  { 'impersonate-user': 'bob' },
  { 'impersonate-user': 'eve' },
  { 'impersonate-user': 'bob', 'impersonate-group': 'g' },
  { 'impersonate-user': 'bob', 'impersonate-group': 'h' },
  { 'impersonate-user': 'bob', 'impersonate-group': 'system:masters' },
  { 'impersonate-user': 'bob', 'impersonate-extra-example.com%2fa': 'one' },
  { 'impersonate-user': 'bob', 'impersonate-extra-example.com%2fa': 'two' },
  { 'impersonate-user': 'bob', 'impersonate-uid': '7' },
  { 'impersonate-user': 'bob', 'impersonate-uid': '8' },
  { 'impersonate-user': 'system:anonymous' },
  { 'impersonate-user': 'system:admin' },
  { 'impersonate-user': 'system:serviceaccount:default:other' },
  { 'impersonate-user': 'system:serviceaccount:default:none' },
  { 'impersonate-user': 'system:serviceaccount:kube-system:other' },
  { 'impersonate-user': 'system:serviceaccount:default:other', 'impersonate-group': 'g' },
  { 'impersonate-user': 'system:serviceaccount:default:other', 'impersonate-uid': '7' },
  { 'impersonate-user': 'system:serviceaccount:x' },
  { 'impersonate-user': 'system:node:n1' },
  { 'impersonate-user': 'system:node:n2' },
  { 'impersonate-user': 'system:node:n1', 'impersonate-group': 'system:nodes' },
  { 'impersonate-user': 'system:node:n1', 'impersonate-uid': '7' },
  { 'impersonate-user': 'system:node:' },
  { 'impersonate-group': 'g' },
  { 'impersonate-uid': '7' },
];

/** Returns the review without the token's ID and the account's, which are each server's own. */
function withoutIds(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body)
      .replaceAll(/JTI=[0-9a-f-]+/g, 'JTI')
      .replaceAll(/"uid":"[0-9a-f-]{36}"/g, '"uid":"UID"'),
  );
}

const withToken = (headers: Headers): Headers => ({ authorization: 'Bearer {token}', ...headers });
const asked = (headers: Headers): readonly Call[] => [
  { ...post(REVIEWS, {}, withToken(headers)), part: withoutIds },
  {
    ...get(`${CORE}/configmaps?labelSelector=con`, undefined, withToken(headers)),
    part: ({ items }: { readonly items: unknown }) => items,
  } as Call,
  get(`${CORE}/configmaps/one`, undefined, withToken(headers)),
  get(`${CORE}/secrets`, undefined, withToken(headers)),
];

export const constrainedCalls: readonly Call[] = [
  ...['con', 'other'].map((name) =>
    post(`${CORE}/serviceaccounts`, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name },
    }),
  ),
  {
    ...post(`${CORE}/serviceaccounts/con/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    }),
    contentDiffers: 'a token',
  },
  ...IMPERSONATIONS.slice(0, 2).flatMap(asked),
  ...granted('con', RULES),
  {
    ...get(`${CORE}/configmaps?labelSelector=con`, undefined, withToken({})),
    untilCode: 200,
    contentDiffers: 'a revision',
  },
  ...IMPERSONATIONS.flatMap(asked),
  remove(`${RBAC}/clusterroles/con`),
  remove(`${RBAC}/clusterrolebindings/con`),
  remove(`${CORE}/serviceaccounts/con`),
  remove(`${CORE}/serviceaccounts/other`),
];
