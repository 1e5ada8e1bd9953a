import { expect, test } from 'vitest';
import { controllerPolicy } from '#apiserver/authorization/policy/controller-roles.ts';
import { CLUSTER_ROLE_BINDINGS } from '#apiserver/authorization/policy/cluster-roles.ts';
import { NAMESPACE_ROLE_BINDINGS } from '#apiserver/authorization/policy/namespace-roles.ts';
import { CONTROLLER_NAMES, controllerEntry } from './controllers.ts';

test('every account of a controller has a role', () => {
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
  // The token controller has no account: it writes as the controller manager itself.
  expect(CONTROLLER_NAMES.filter((name) => controllerEntry(name).account === undefined)).toEqual([
    'serviceaccount-token-controller',
  ]);
});

test('no name selects two controllers', () => {
  const names = CONTROLLER_NAMES.flatMap((name) => {
    const { alias } = controllerEntry(name);
    return alias === undefined || alias === name ? [name] : [name, alias];
  });
  expect(new Set(names).size).toBe(names.length);
});
