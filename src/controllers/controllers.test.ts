import { expect, test } from 'vitest';
import { controllerPolicy } from '#apiserver/authorization/policy/controller-roles.ts';
import { CLUSTER_ROLE_BINDINGS } from '#apiserver/authorization/policy/cluster-roles.ts';
import { NAMESPACE_ROLE_BINDINGS } from '#apiserver/authorization/policy/namespace-roles.ts';
import { CONTROLLER_NAMES, controllerEntry } from './controllers.ts';

test('every account that a controller works as has a role', () => {
  const bound = [
    ...CLUSTER_ROLE_BINDINGS,
    ...controllerPolicy(() => true).bindings,
    ...NAMESPACE_ROLE_BINDINGS,
  ].flatMap(({ subjects = [] }) =>
    subjects.flatMap(({ kind, name, namespace }) =>
      kind === 'ServiceAccount' && namespace === 'kube-system' ? [name] : [],
    ),
  );
  const accounts = CONTROLLER_NAMES.flatMap((name) => controllerEntry(name).account ?? []);
  expect(accounts.filter((account) => !bound.includes(account))).toEqual([]);
  // One works as the manager itself: it writes Secrets of every sort.
  expect(CONTROLLER_NAMES.filter((name) => controllerEntry(name).account === undefined)).toEqual([
    'serviceaccount-token-controller',
  ]);
});

test('no name means two controllers', () => {
  const names = CONTROLLER_NAMES.flatMap((name) => {
    const { alias } = controllerEntry(name);
    return alias === undefined || alias === name ? [name] : [name, alias];
  });
  expect(new Set(names).size).toBe(names.length);
});
