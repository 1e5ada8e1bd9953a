// The plugin OwnerReferencesPermissionEnforcement on a server with RBAC.

import { expect, test } from 'vitest';
import { send } from '../../testing/requests.ts';
import { serverPerTest } from '../../testing/server-per-test.ts';

const t = serverPerTest({ enableAdmissionPlugins: ['OwnerReferencesPermissionEnforcement'] });

const ADMIN = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
const JOE = { name: 'joe', groups: ['system:authenticated'] };
const PATH = '/api/v1/namespaces/default/configmaps';
const owner = (kind: string, blockOwnerDeletion?: boolean, apiVersion = 'v1') => ({
  apiVersion,
  kind,
  name: 'owner',
  uid: 'u1',
  ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }),
});
const configMap = (name: string, ownerReferences?: readonly object[]) => ({
  metadata: { name, ownerReferences },
});

async function answer(user: typeof JOE, method: string, path: string, body: object) {
  const { code, json } = await send(t.server, {
    method,
    path,
    body,
    user,
    ...(method === 'PATCH' && { headers: { 'content-type': 'application/merge-patch+json' } }),
  });
  return code < 300 ? String(code) : `${code} ${json.message}`;
}

/** Permits joe the verbs of the rules, in the whole cluster. */
async function permit(rules: readonly object[]): Promise<void> {
  const path = '/apis/rbac.authorization.k8s.io/v1';
  const name = 'joe';
  expect(await answer(ADMIN, 'POST', `${path}/clusterroles`, { metadata: { name }, rules })).toBe(
    '201',
  );
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'joe' }],
  };
  expect(await answer(ADMIN, 'POST', `${path}/clusterrolebindings`, binding)).toBe('201');
}

const rule = (resource: string, ...verbs: string[]) => ({
  apiGroups: [''],
  resources: [resource],
  verbs,
});

test('who cannot delete an object cannot give it owners, except at its creation', async () => {
  await permit([rule('configmaps', 'create', 'patch', 'get')]);
  expect(await answer(JOE, 'POST', PATH, configMap('a', [owner('Secret')]))).toBe('201');
  expect(await answer(JOE, 'PATCH', `${PATH}/a`, { data: { a: 'b' } })).toBe('200');
  expect(await answer(JOE, 'PATCH', `${PATH}/a`, { metadata: { ownerReferences: null } })).toBe(
    '403 configmaps "a" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>',
  );
  expect(await answer(ADMIN, 'PATCH', `${PATH}/a`, { metadata: { ownerReferences: null } })).toBe(
    '200',
  );
});

test('a blocking reference needs the permission to set finalizers of the owner', async () => {
  await permit([rule('configmaps', 'create'), rule('secrets/finalizers', 'update')]);
  expect(await answer(JOE, 'POST', PATH, configMap('a', [owner('Secret', true)]))).toBe('201');
  expect(await answer(JOE, 'POST', PATH, configMap('b', [owner('Pod', false)]))).toBe('201');
  expect(await answer(JOE, 'POST', PATH, configMap('c', [owner('Pod', true)]))).toBe(
    '403 configmaps "c" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to ' +
      "a resource you can't set finalizers on: , <nil>",
  );
  expect(await answer(JOE, 'POST', PATH, configMap('d', [owner('Thing', true, 'x.io/v1')]))).toBe(
    '403 configmaps "d" is forbidden: cannot set blockOwnerDeletion in this case because cannot ' +
      'find RESTMapping for APIVersion x.io/v1 Kind Thing: no matches for kind "Thing" in version "x.io/v1"',
  );
  expect(await answer(ADMIN, 'POST', PATH, configMap('e', [owner('Thing', true, 'x.io/v1')]))).toBe(
    '201',
  );
});
