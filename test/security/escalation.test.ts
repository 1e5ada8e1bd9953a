// Privilege escalation: through roles and bindings, through nodes, through tokens, and through
// pods.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RequestOptions, type SecuredCluster, startSecuredCluster } from './cluster.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const group = 'rbac.authorization.k8s.io';

let cluster: SecuredCluster;
/** Token of an admin of the namespace `tenant`, by a RoleBinding to the ClusterRole admin. */
let tenant: string;
beforeAll(async () => {
  cluster = await startSecuredCluster({ nodes: 2 });
  await cluster.namespace('victim');
  tenant = await cluster.account('tenant', 'owner', ['admin']);
  await cluster.expect(201, {
    method: 'POST',
    path: `${RBAC}/namespaces/tenant/roles`,
    body: {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    },
  });
});
afterAll(() => cluster.stop());

describe('an account that may change objects, but not create them', () => {
  const inTenant = '/api/v1/namespaces/tenant/configmaps';
  let editor: string;
  beforeAll(async () => {
    editor = await cluster.account('tenant', 'changer');
    await cluster.expect(201, {
      method: 'POST',
      path: `${RBAC}/namespaces/tenant/roles`,
      body: {
        metadata: { name: 'changer' },
        rules: [
          { apiGroups: [''], resources: ['configmaps'], verbs: ['patch', 'update'] },
          { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['update'] },
        ],
      },
    });
    await cluster.expect(201, {
      method: 'POST',
      path: `${RBAC}/namespaces/tenant/rolebindings`,
      body: {
        metadata: { name: 'changer' },
        roleRef: { apiGroup: group, kind: 'Role', name: 'changer' },
        subjects: [{ kind: 'ServiceAccount', name: 'changer', namespace: 'tenant' }],
      },
    });
  });

  const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' } };
  const apply = (name: string): RequestOptions => ({
    method: 'PATCH',
    path: `${inTenant}/${name}?fieldManager=t&force=true`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: { ...config, metadata: { name } },
    token: editor,
  });

  test('creates none by an apply, nor by an update', async () => {
    const denied = await cluster.request(apply('made'));
    expect(denied.summary).toContain(
      '403 configmaps "made" is forbidden: User "system:serviceaccount:tenant:changer" cannot ' +
        'create resource "configmaps" in API group "" in the namespace "tenant"',
    );
    const lease = await cluster.request({
      method: 'PUT',
      path: '/apis/coordination.k8s.io/v1/namespaces/tenant/leases/made',
      body: { metadata: { name: 'made' }, spec: {} },
      token: editor,
    });
    expect(lease.summary).toContain('cannot create resource "leases"');
  });

  test('changes those that exist', async () => {
    const body = { ...config, metadata: { name: 'present' } };
    await cluster.expect(201, { method: 'POST', path: inTenant, body });
    expect((await cluster.request(apply('present'))).code).toBe(200);
  });
});

describe('roles and bindings of an administrator of one namespace', () => {
  const nodes = { apiGroups: [''], resources: ['nodes'], verbs: ['get'] };
  const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
  const owner = { kind: 'ServiceAccount', name: 'owner', namespace: 'tenant' };
  const ref = (kind: string, name: string): object => ({ apiGroup: group, kind, name });
  const patch = { 'content-type': 'application/merge-patch+json' };

  test.each<[string, RequestOptions]>([
    [
      'create a Role with more rights',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/roles`,
        body: { metadata: { name: 'r' }, rules: [everything] },
      },
    ],
    [
      'create a Role for nodes',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/roles`,
        body: { metadata: { name: 'r' }, rules: [nodes] },
      },
    ],
    [
      'the same as a dry run',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/roles?dryRun=All`,
        body: { metadata: { name: 'r' }, rules: [everything] },
      },
    ],
    [
      'add the right to escalate',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/roles`,
        body: {
          metadata: { name: 'r' },
          rules: [{ apiGroups: [group], resources: ['roles'], verbs: ['escalate', 'bind'] }],
        },
      },
    ],
    [
      'widen a Role by a merge patch',
      {
        method: 'PATCH',
        path: `${RBAC}/namespaces/tenant/roles/reader`,
        headers: patch,
        body: { rules: [everything] },
      },
    ],
    [
      'widen a Role by an update',
      {
        method: 'PUT',
        path: `${RBAC}/namespaces/tenant/roles/reader`,
        body: { metadata: { name: 'reader' }, rules: [everything] },
      },
    ],
    [
      'widen a Role by an apply',
      {
        method: 'PATCH',
        path: `${RBAC}/namespaces/tenant/roles/reader?fieldManager=t&force=true`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: {
          apiVersion: `${group}/v1`,
          kind: 'Role',
          metadata: { name: 'reader' },
          rules: [everything],
        },
      },
    ],
    [
      'create a Role by an apply',
      {
        method: 'PATCH',
        path: `${RBAC}/namespaces/tenant/roles/new?fieldManager=t`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: {
          apiVersion: `${group}/v1`,
          kind: 'Role',
          metadata: { name: 'new' },
          rules: [everything],
        },
      },
    ],
    [
      'bind cluster-admin in the namespace',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/rolebindings`,
        body: {
          metadata: { name: 'b' },
          roleRef: ref('ClusterRole', 'cluster-admin'),
          subjects: [owner],
        },
      },
    ],
    [
      'bind a role that does not exist yet',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/rolebindings`,
        body: { metadata: { name: 'b' }, roleRef: ref('Role', 'later'), subjects: [owner] },
      },
    ],
    [
      'bind cluster-admin in the cluster',
      {
        method: 'POST',
        path: `${RBAC}/clusterrolebindings`,
        body: {
          metadata: { name: 'b' },
          roleRef: ref('ClusterRole', 'cluster-admin'),
          subjects: [owner],
        },
      },
    ],
    [
      'create a ClusterRole',
      {
        method: 'POST',
        path: `${RBAC}/clusterroles`,
        body: { metadata: { name: 'r' }, rules: [everything] },
      },
    ],
    [
      'change the role of a binding',
      {
        method: 'PATCH',
        path: `${RBAC}/namespaces/tenant/rolebindings/owner-admin`,
        headers: patch,
        body: { roleRef: ref('ClusterRole', 'cluster-admin') },
      },
    ],
    [
      'create a binding in another namespace',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/victim/rolebindings`,
        body: { metadata: { name: 'b' }, roleRef: ref('ClusterRole', 'view'), subjects: [owner] },
      },
    ],
    [
      'a body that names another namespace',
      {
        method: 'POST',
        path: `${RBAC}/namespaces/tenant/rolebindings`,
        body: {
          metadata: { name: 'b', namespace: 'victim' },
          roleRef: ref('ClusterRole', 'view'),
          subjects: [owner],
        },
      },
    ],
    [
      'impersonate an administrator',
      {
        path: '/api/v1/secrets',
        headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
      },
    ],
    [
      'impersonate a group',
      {
        path: '/api/v1/nodes',
        headers: {
          'impersonate-user': 'system:serviceaccount:tenant:owner',
          'impersonate-group': 'system:masters',
        },
      },
    ],
    [
      'point a Service at addresses of its choice by Endpoints',
      {
        method: 'POST',
        path: '/api/v1/namespaces/tenant/endpoints',
        body: { metadata: { name: 'e' }, subsets: [] },
      },
    ],
    [
      'point a Service at addresses of its choice by an EndpointSlice',
      {
        method: 'POST',
        path: '/apis/discovery.k8s.io/v1/namespaces/tenant/endpointslices',
        body: { metadata: { name: 'e' }, addressType: 'IPv4', endpoints: [] },
      },
    ],
    ['read secrets of another namespace', { path: '/api/v1/namespaces/victim/secrets' }],
    [
      'a token of an account of another namespace',
      {
        method: 'POST',
        path: '/api/v1/namespaces/kube-system/serviceaccounts/default/token',
        body: { spec: {} },
      },
    ],
    [
      'approve a certificate request',
      {
        method: 'PUT',
        path: '/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval',
        body: { metadata: { name: 'x' } },
      },
    ],
    ['proxy to a node', { path: '/api/v1/nodes/node-1/proxy/pods' }],
    [
      'weaken the namespace',
      {
        method: 'PATCH',
        path: '/api/v1/namespaces/tenant',
        headers: patch,
        body: { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } },
      },
    ],
  ])('cannot %s', async (_, options) => {
    const { code, text } = await cluster.request({ ...options, token: tenant });
    expect([403, 404, 422, 400], text).toContain(code);
  });

  test('have the rights of the administrator', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
    await cluster.expect(201, {
      method: 'POST',
      path: `${RBAC}/namespaces/tenant/roles`,
      body: { metadata: { name: 'fine' }, rules },
      token: tenant,
    });
    const { json } = await cluster.expect(200, { path: `${RBAC}/namespaces/tenant/roles/reader` });
    expect(json.rules).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]);
    expect((await cluster.request({ path: '/api/v1/nodes', token: tenant })).code).toBe(403);
  });
});

describe('a node', () => {
  const as = { 'impersonate-user': 'system:node:node-1', 'impersonate-group': 'system:nodes' };
  const mergePatch = { ...as, 'content-type': 'application/merge-patch+json' };
  const node = (name: string): string => `/api/v1/nodes/${name}`;
  const pod = (nodeName: string, spec: object = {}) => ({
    metadata: { name: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'x' } },
    spec: { nodeName, containers: [{ name: 'c', image: 'busybox' }], ...spec },
  });
  const podsPath = '/api/v1/namespaces/victim/pods';

  beforeAll(async () => {
    await cluster.account('victim', 'runner');
    await cluster.expect(201, {
      method: 'POST',
      path: '/api/v1/namespaces/victim/secrets',
      body: { metadata: { name: 'unrelated' }, data: { k: 'dg==' } },
    });
    await cluster.expect(201, {
      method: 'POST',
      path: podsPath,
      body: {
        metadata: { name: 'elsewhere' },
        spec: {
          nodeName: 'node-2',
          serviceAccountName: 'runner',
          containers: [{ name: 'c', image: 'busybox' }],
        },
      },
    });
  });

  test.each<[string, RequestOptions]>([
    ['list secrets', { path: '/api/v1/secrets', headers: as }],
    [
      'read a secret that none of its pods uses',
      { path: '/api/v1/namespaces/victim/secrets/unrelated', headers: as },
    ],
    ['list config maps', { path: '/api/v1/namespaces/victim/configmaps', headers: as }],
    [
      'change another node',
      {
        method: 'PATCH',
        path: node('node-2'),
        headers: mergePatch,
        body: { metadata: { labels: { a: 'b' } } },
      },
    ],
    [
      "change another node's status",
      {
        method: 'PATCH',
        path: `${node('node-2')}/status`,
        headers: mergePatch,
        body: { status: { phase: 'Running' } },
      },
    ],
    ['delete a node', { method: 'DELETE', path: node('node-1'), headers: as }],
    [
      'create a node of another name',
      {
        method: 'POST',
        path: '/api/v1/nodes',
        headers: as,
        body: { metadata: { name: 'node-9' } },
      },
    ],
    [
      'change its own taints',
      {
        method: 'PATCH',
        path: node('node-1'),
        headers: mergePatch,
        body: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
      },
    ],
    [
      'put a restricted label on itself',
      {
        method: 'PATCH',
        path: node('node-1'),
        headers: mergePatch,
        body: { metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } } },
      },
    ],
    [
      'put an unknown label of kubernetes.io on itself',
      {
        method: 'PATCH',
        path: node('node-1'),
        headers: mergePatch,
        body: { metadata: { labels: { 'x.kubernetes.io/a': 'b' } } },
      },
    ],
    [
      'put owners on itself',
      {
        method: 'PATCH',
        path: node('node-1'),
        headers: mergePatch,
        body: {
          metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'y' }] },
        },
      },
    ],
    [
      'put owners on itself through its status',
      {
        method: 'PATCH',
        path: `${node('node-1')}/status`,
        headers: mergePatch,
        body: {
          metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'y' }] },
        },
      },
    ],
    [
      'put a restricted label on itself through its status',
      {
        method: 'PATCH',
        path: `${node('node-1')}/status`,
        headers: mergePatch,
        body: { metadata: { labels: { 'node-restriction.kubernetes.io/a': 'b' } } },
      },
    ],
    [
      'create a mirror pod of another node',
      { method: 'POST', path: podsPath, headers: as, body: pod('node-2') },
    ],
    [
      'create a pod that is no mirror pod',
      {
        method: 'POST',
        path: podsPath,
        headers: as,
        body: {
          metadata: { name: 'p' },
          spec: { nodeName: 'node-1', containers: [{ name: 'c', image: 'busybox' }] },
        },
      },
    ],
    [
      'create a mirror pod with an account',
      {
        method: 'POST',
        path: podsPath,
        headers: as,
        body: pod('node-1', { serviceAccountName: 'runner' }),
      },
    ],
    [
      'create a mirror pod with a secret',
      {
        method: 'POST',
        path: podsPath,
        headers: as,
        body: pod('node-1', { volumes: [{ name: 's', secret: { secretName: 'unrelated' } }] }),
      },
    ],
    [
      'delete a pod of another node',
      { method: 'DELETE', path: `${podsPath}/elsewhere`, headers: as },
    ],
    [
      'change the status of a pod of another node',
      {
        method: 'PATCH',
        path: `${podsPath}/elsewhere/status`,
        headers: mergePatch,
        body: { status: { phase: 'Failed' } },
      },
    ],
    [
      'evict a pod of another node',
      {
        method: 'POST',
        path: `${podsPath}/elsewhere/eviction`,
        headers: as,
        body: { metadata: { name: 'elsewhere' } },
      },
    ],
    [
      'bind a pod',
      {
        method: 'POST',
        path: `${podsPath}/elsewhere/binding`,
        headers: as,
        body: { target: { kind: 'Node', name: 'node-1' } },
      },
    ],
    [
      'get a token of an account that none of its pods has',
      {
        method: 'POST',
        path: '/api/v1/namespaces/victim/serviceaccounts/runner/token',
        headers: as,
        body: { spec: {} },
      },
    ],
    [
      'get a token bound to a pod of another node',
      {
        method: 'POST',
        path: '/api/v1/namespaces/victim/serviceaccounts/runner/token',
        headers: as,
        body: {
          spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'elsewhere', uid: 'x' } },
        },
      },
    ],
    [
      'change the lease of another node',
      {
        method: 'PATCH',
        path: '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-2',
        headers: mergePatch,
        body: { spec: { holderIdentity: 'me' } },
      },
    ],
    [
      'create a lease elsewhere',
      {
        method: 'POST',
        path: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
        headers: as,
        body: { metadata: { name: 'node-1' } },
      },
    ],
    [
      'create a CSINode of another name',
      {
        method: 'POST',
        path: '/apis/storage.k8s.io/v1/csinodes',
        headers: as,
        body: { metadata: { name: 'node-9' }, spec: { drivers: [] } },
      },
    ],
    [
      'exec in a pod',
      { method: 'POST', path: `${podsPath}/elsewhere/exec?command=id`, headers: as },
    ],
    [
      'grow a claim',
      {
        method: 'PATCH',
        path: '/api/v1/namespaces/victim/persistentvolumeclaims/x',
        headers: mergePatch,
        body: { spec: { volumeName: 'v' } },
      },
    ],
    [
      'bind a role',
      {
        method: 'POST',
        path: `${RBAC}/clusterrolebindings`,
        headers: as,
        body: {
          metadata: { name: 'b' },
          roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
        },
      },
    ],
    [
      'create an account',
      {
        method: 'POST',
        path: '/api/v1/namespaces/victim/serviceaccounts',
        headers: as,
        body: { metadata: { name: 'n' } },
      },
    ],
  ])('cannot %s', async (_, options) => {
    const { code, text } = await cluster.request(options);
    expect([403, 404], text).toContain(code);
  });

  test('may do its own work', async () => {
    const { json } = await cluster.expect(200, { path: node('node-1'), headers: as });
    const status = { metadata: { labels: { mine: 'yes' } } };
    await cluster.expect(200, {
      method: 'PATCH',
      path: `${node('node-1')}/status`,
      headers: mergePatch,
      body: status,
    });
    const owner = {
      apiVersion: 'v1',
      kind: 'Node',
      name: 'node-1',
      uid: json.metadata.uid,
      controller: true,
    };
    const { metadata, ...rest } = pod('node-1');
    const body = { ...rest, metadata: { ...metadata, ownerReferences: [owner] } };
    await cluster.expect(201, { method: 'POST', path: podsPath, headers: as, body });
  });
});
