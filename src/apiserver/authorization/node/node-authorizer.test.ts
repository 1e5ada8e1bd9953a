// The permissions of one node, through the server: for its own objects, and for those that its pods
// refer to, as soon as they are bound.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { configMaps, namespaces, nodes, pods, secrets } from '#api/groups/core/v1/index.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';
import { resourceSlices } from '#api/groups/resource/v1/index.ts';
import { volumeAttachments } from '#api/groups/storage/v1/index.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';

const node = (name: string) => ({
  name: `system:node:${name}`,
  groups: ['system:nodes', 'system:authenticated'],
});

let t: TestServer;
beforeAll(async () => {
  t = await startTestServer();
  const { client } = t;
  await client.resource(namespaces).create({ metadata: { name: 'x' } });
  for (const name of ['n1', 'n2']) await client.resource(nodes).create({ metadata: { name } });
  for (const name of ['mine', 'other']) {
    await client.resource(secrets).namespace('x').create({ metadata: { name } });
    await client.resource(configMaps).namespace('x').create({ metadata: { name } });
  }
  const claims = (claimName: string) => ({
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
  });
  const containers = (name: string) => [
    { name: 'c', image: 'i', envFrom: [{ secretRef: { name } }, { configMapRef: { name } }] },
  ];
  const make = (name: string, nodeName: string) => ({
    metadata: { name },
    spec: { nodeName, serviceAccountName: name, containers: containers(name), ...claims(name) },
  });
  await client.resource(pods).namespace('x').create(make('mine', 'n1'));
  await client.resource(pods).namespace('x').create(make('other', 'n2'));
  await client.resource(volumeAttachments).create({
    metadata: { name: 'mine' },
    spec: { attacher: 'a', nodeName: 'n1', source: { persistentVolumeName: 'v' } },
  });
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
  await client
    .resource(resourceSlices)
    .create({ metadata: { name: 'mine' }, spec: { nodeName: 'n1', driver: 'd.io', pool } });
});
afterAll(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

const GROUPS: Readonly<Record<string, string>> = {
  leases: 'coordination.k8s.io',
  csinodes: 'storage.k8s.io',
  volumeattachments: 'storage.k8s.io',
  resourceslices: 'resource.k8s.io',
  resourceclaims: 'resource.k8s.io',
  runtimeclasses: 'node.k8s.io',
  certificatesigningrequests: 'certificates.k8s.io',
};

const UNRELATED = "no relationship found between node 'n1' and this object";
const NOT_ITSELF = (name: string) => `node 'n1' cannot read '${name}', only its own Node object`;

// Columns: verb, resource, namespace, name, field selector, and the reason. '': allowed; 'no':
// denied without a reason.
describe('n1', () => {
  test.each([
    ['get', 'secrets', 'x', 'mine', '', ''],
    ['list', 'secrets', 'x', 'mine', '', ''],
    ['watch', 'secrets', 'x', 'mine', '', ''],
    ['get', 'secrets', 'x', 'other', '', UNRELATED],
    ['get', 'secrets', 'x', 'none', '', UNRELATED],
    ['list', 'secrets', 'x', '', '', 'No Object name found'],
    ['list', 'secrets', '', '', '', 'can only read namespaced object of this type'],
    ['update', 'secrets', 'x', 'mine', '', 'can only read resources of this type'],
    ['get', 'secrets/status', 'x', 'mine', '', 'cannot read subresource'],
    ['watch', 'configmaps', 'x', 'mine', '', ''],
    ['watch', 'configmaps', 'x', 'other', '', UNRELATED],
    ['get', 'persistentvolumeclaims', 'x', 'mine', '', ''],
    ['get', 'persistentvolumeclaims', 'x', 'other', '', UNRELATED],
    [
      'list',
      'persistentvolumeclaims',
      'x',
      'mine',
      '',
      'can only get individual resources of this type',
    ],
    ['patch', 'persistentvolumeclaims/status', 'x', 'mine', '', ''],
    ['patch', 'persistentvolumeclaims/status', 'x', 'other', '', UNRELATED],
    [
      'get',
      'persistentvolumeclaims/status',
      'x',
      'mine',
      '',
      'can only get/update/patch this type',
    ],
    ['get', 'persistentvolumes', '', 'none', '', UNRELATED],
    ['get', 'persistentvolumes/status', '', 'none', '', 'cannot get subresource'],
    ['get', 'resourceclaims', 'x', 'none', '', UNRELATED],
    ['get', 'volumeattachments', '', 'mine', '', ''],
    ['get', 'volumeattachments', '', 'other', '', UNRELATED],
    ['get', 'serviceaccounts', 'x', 'mine', '', ''],
    ['get', 'serviceaccounts', 'x', 'other', '', UNRELATED],
    ['create', 'serviceaccounts/token', 'x', 'mine', '', ''],
    ['create', 'serviceaccounts/token', 'x', 'other', '', UNRELATED],
    [
      'create',
      'serviceaccounts',
      'x',
      '',
      '',
      'can only create tokens for individual service accounts',
    ],
    [
      'create',
      'serviceaccounts',
      'x',
      'mine',
      '',
      'can only create token subresource of serviceaccount',
    ],
    ['get', 'leases', 'kube-node-lease', 'n1', '', ''],
    ['create', 'leases', 'kube-node-lease', '', '', ''],
    [
      'get',
      'leases',
      'kube-node-lease',
      'n2',
      '',
      'can only access node lease with the same name as the requesting node',
    ],
    [
      'get',
      'leases',
      'x',
      'n1',
      '',
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    [
      'list',
      'leases',
      'kube-node-lease',
      '',
      '',
      'can only get, create, update, patch, or delete a node lease',
    ],
    ['patch', 'csinodes', '', 'n1', '', ''],
    ['create', 'csinodes', '', '', '', ''],
    [
      'get',
      'csinodes',
      '',
      'n2',
      '',
      'can only access CSINode with the same name as the requesting node',
    ],
    ['watch', 'csinodes', '', '', '', 'can only get, create, update, patch, or delete a CSINode'],
    ['get', 'csinodes/x', '', 'n1', '', 'cannot authorize CSINode subresources'],
    ['create', 'resourceslices', '', '', '', ''],
    ['get', 'resourceslices', '', 'mine', '', ''],
    ['delete', 'resourceslices', '', 'other', '', UNRELATED],
    ['deletecollection', 'resourceslices', '', '', 'spec.nodeName=n1', ''],
    [
      'list',
      'resourceslices',
      '',
      '',
      '',
      'can only list/watch/deletecollection resourceslices with nodeName field selector',
    ],
    ['get', 'resourceslices/x', '', 'mine', '', 'cannot authorize ResourceSlice subresources'],
    ['get', 'nodes', '', 'n1', '', ''],
    ['watch', 'nodes', '', 'n1', '', ''],
    ['get', 'nodes', '', 'n2', '', NOT_ITSELF('n2')],
    ['list', 'nodes', '', '', '', "node 'n1' cannot read all nodes, only its own Node object"],
    ['create', 'nodes', '', '', '', ''],
    ['patch', 'nodes/status', '', 'n1', '', ''],
    ['delete', 'nodes', '', 'n1', '', 'no'],
    ['get', 'nodes/proxy', '', 'n1', '', 'no'],
    ['get', 'pods', 'x', 'mine', '', ''],
    ['get', 'pods', 'x', 'other', '', UNRELATED],
    ['list', 'pods', '', '', 'spec.nodeName=n1', ''],
    ['watch', 'pods', '', '', 'status.phase!=Failed,spec.nodeName=n1', ''],
    [
      'list',
      'pods',
      '',
      '',
      'spec.nodeName=n2',
      'can only list/watch pods with spec.nodeName field selector',
    ],
    [
      'list',
      'pods',
      '',
      '',
      'spec.nodeName!=n1',
      'can only list/watch pods with spec.nodeName field selector',
    ],
    ['list', 'pods', '', '', '', 'can only list/watch pods with spec.nodeName field selector'],
    ['watch', 'pods', 'x', 'mine', '', ''],
    ['watch', 'pods', 'x', 'other', '', UNRELATED],
    ['patch', 'pods/status', 'x', 'other', '', ''],
    ['create', 'pods/eviction', 'x', 'other', '', ''],
    ['update', 'pods', 'x', 'mine', '', 'no'],
    ['get', 'pods/log', 'x', 'mine', '', 'no'],
    ['list', 'services', '', '', '', ''],
    ['watch', 'runtimeclasses', '', '', '', ''],
    ['create', 'certificatesigningrequests/selfnodeclient', '', '', '', ''],
    ['list', 'replicationcontrollers', '', '', '', 'no'],
  ])('may %s %s %s/%s %s', async (verb, resource, namespace, name, selector, why) => {
    const [plural = '', subresource = ''] = resource.split('/');
    const { status } = await t.client.resource(subjectAccessReviews).create({
      metadata: {},
      spec: {
        user: 'system:node:n1',
        groups: ['system:nodes'],
        resourceAttributes: {
          verb,
          group: GROUPS[plural] ?? '',
          resource: plural,
          subresource,
          namespace,
          name,
          ...(selector !== '' && { fieldSelector: { rawSelector: selector } }),
        },
      },
    });
    const reason = why === 'no' ? {} : { reason: why };
    expect(status).toEqual(why === '' ? { allowed: true } : { allowed: false, ...reason });
  });
});

describe('requests', () => {
  test('with the selector that they have', async () => {
    const list = (path: string) => send(t.server, { path, user: node('n1') });
    expect((await list('/api/v1/pods?fieldSelector=spec.nodeName%3Dn1')).json.items).toHaveLength(
      1,
    );
    const all = await list('/api/v1/pods');
    expect(all.code).toBe(403);
    expect(all.json.message).toBe(
      'pods is forbidden: User "system:node:n1" cannot list resource "pods" in API group "" at the cluster scope: ' +
        'can only list/watch pods with spec.nodeName field selector',
    );
    expect(
      (await list('/api/v1/namespaces/x/secrets?fieldSelector=metadata.name%3Dmine')).json.items,
    ).toHaveLength(1);
    expect(
      (await list('/api/v1/namespaces/x/secrets?fieldSelector=metadata.name%3Dother')).code,
    ).toBe(403);
  });

  test('for objects that a pod needs, from its binding to its deletion', async () => {
    const admin = t.client.resource(pods).namespace('x');
    const read = (path: string) =>
      send(t.server, { path: `/api/v1/namespaces/x/${path}`, user: node('n2') });
    await t.client
      .resource(secrets)
      .namespace('x')
      .create({ metadata: { name: 'late' } });
    const spec = { containers: [{ name: 'c', image: 'i' }], imagePullSecrets: [{ name: 'late' }] };
    await admin.create({ metadata: { name: 'late' }, spec });
    expect((await read('secrets/late')).code).toBe(403);
    await admin.subresource('late', 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'late' },
      target: { kind: 'Node', name: 'n2' },
    });
    expect((await read('secrets/late')).code).toBe(200);
    await admin.delete('late', { gracePeriodSeconds: 0 });
    expect((await read('secrets/late')).code).toBe(403);
  });

  test('a node user without a node name gets that as the reason', async () => {
    const { json } = await send(t.server, { path: '/api/v1/nodes/n1', user: node('') });
    expect(json.message).toContain('unknown node for user "system:node:"');
  });
});

test('selectors of reviews may be given as requirements', async () => {
  const may = async (operator: string, values: readonly string[]): Promise<boolean> => {
    const { status } = await t.client.resource(subjectAccessReviews).create({
      metadata: {},
      spec: {
        user: 'system:node:n1',
        groups: ['system:nodes'],
        resourceAttributes: {
          verb: 'list',
          resource: 'pods',
          fieldSelector: {
            requirements: [{ key: 'spec.nodeName', operator, values: [...values] }],
          },
        },
      },
    });
    return status.allowed;
  };
  expect(await may('In', ['n1'])).toBe(true);
  expect(await may('In', ['n1', 'n2'])).toBe(false);
  expect(await may('NotIn', ['n1'])).toBe(false);
});
