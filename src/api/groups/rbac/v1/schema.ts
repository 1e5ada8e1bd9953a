// Every type of rbac.authorization.k8s.io/v1: the only list of their fields. `npm run generate`
// makes types.ts and index.ts from it.

import {
  atomic,
  atomicMessage,
  f,
  groupVersion,
  kind,
  message,
  optional,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('rbac.authorization.k8s.io', 'v1', 'io.k8s.api.rbac.v1', {
  PolicyRule: message(() => [
    f('verbs', 1, '[]string', atomic),
    f('apiGroups?', 2, '[]string', atomic),
    f('resources?', 3, '[]string', atomic),
    f('resourceNames?', 4, '[]string', atomic),
    f('nonResourceURLs?', 5, '[]string', atomic),
  ]),
  Subject: atomicMessage(() => [
    f('kind', 1, 'string'),
    f('apiGroup?', 2, 'string'),
    f('name', 3, 'string'),
    f('namespace?', 4, 'string'),
  ]),
  RoleRef: atomicMessage(() => [
    f('apiGroup', 1, 'string', optional),
    f('kind', 2, 'string'),
    f('name', 3, 'string'),
  ]),
  Role: resource({ resource: 'roles', scope: 'Namespaced' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('rules', 2, '[]PolicyRule', optional, atomic),
  ]),
  RoleBinding: resource({ resource: 'rolebindings', scope: 'Namespaced' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('subjects?', 2, '[]Subject', atomic),
    f('roleRef', 3, 'RoleRef'),
  ]),
  RoleBindingList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]RoleBinding'),
  ]),
  RoleList: kind(() => [f('metadata?', 1, 'meta/v1.ListMeta'), f('items', 2, '[]Role')]),
  ClusterRole: resource({ resource: 'clusterroles', scope: 'Cluster' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('rules', 2, '[]PolicyRule', optional, atomic),
    f('aggregationRule?', 3, '*AggregationRule'),
  ]),
  AggregationRule: message(() => [
    f('clusterRoleSelectors?', 1, '[]meta/v1.LabelSelector', atomic),
  ]),
  ClusterRoleBinding: resource({ resource: 'clusterrolebindings', scope: 'Cluster' }, () => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('subjects?', 2, '[]Subject', atomic),
    f('roleRef', 3, 'RoleRef'),
  ]),
  ClusterRoleBindingList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]ClusterRoleBinding'),
  ]),
  ClusterRoleList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]ClusterRole'),
  ]),
});
