// The restrictions of kubelets' writes, through the server.

import 'reflect-metadata';
import { webcrypto } from 'node:crypto';

import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { beforeEach, describe, expect, test } from 'vitest';

import {
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  serviceAccounts,
} from '#api/groups/core/v1/index.ts';
import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import { resourceSlices } from '#api/groups/resource/v1/index.ts';
import { csiDrivers } from '#api/groups/storage/v1/index.ts';
import { makeTestAuthority } from '#apiserver/testing/certificates.ts';
import { type RawRequest, type RawResponse, send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const NODE = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const MERGE = { 'content-type': 'application/merge-patch+json' };

const t = serverPerTest({
  serviceAccounts: { signingKey: (await makeTestAuthority().then((a) => a.client('sa'))).key },
});
let nodeUid: string;
beforeEach(async () => {
  await t.client.resource(namespaces).create({ metadata: { name: 'x' } });
  nodeUid = (await t.client.resource(nodes).create({ metadata: { name: 'n1' } })).metadata.uid;
  await t.client.resource(nodes).create({ metadata: { name: 'n2' } });
});

const asNode = (raw: RawRequest): Promise<RawResponse> => send(t.server, { ...raw, user: NODE });
const post = (path: string, body: object): Promise<RawResponse> =>
  asNode({ method: 'POST', path, body });
const patch = (path: string, body: object): Promise<RawResponse> =>
  asNode({ method: 'PATCH', path, headers: MERGE, body });

/** Returns the error of a response; '' if it succeeded. */
async function why(answer: Promise<RawResponse>): Promise<string> {
  const { code, json } = await answer;
  return code < 300 ? '' : `${code} ${json.message}`;
}

const forbidden = (what: string, reason: string): string => `403 ${what} is forbidden: ${reason}`;

async function pod(name: string, nodeName: string, more: object = {}): Promise<string> {
  const spec = {
    nodeName,
    serviceAccountName: 'default',
    containers: [{ name: 'c', image: 'i' }],
    ...more,
  };
  return (await t.client.resource(pods).namespace('x').create({ metadata: { name }, spec }))
    .metadata.uid;
}

describe('a node', () => {
  test('is created by itself, with labels that a kubelet may set', async () => {
    await t.client.resource(nodes).delete('n1');
    const make = (metadata: object, spec: object = {}) =>
      why(post('/api/v1/nodes', { metadata: { name: 'n1', ...metadata }, spec }));
    expect(await make({ name: 'n3' })).toBe(
      forbidden('nodes "n3"', 'node "n1" is not allowed to modify node "n3"'),
    );
    expect(
      await make({
        labels: {
          'node-restriction.kubernetes.io/secure': '',
          'a.node-restriction.kubernetes.io/x': '',
          'node-role.kubernetes.io/control-plane': '',
          'k8s.io/x': '',
          'fine.example.com/x': '',
        },
      }),
    ).toBe(
      forbidden(
        'nodes "n1"',
        'node "n1" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x, k8s.io/x, ' +
          'node-restriction.kubernetes.io/secure, node-role.kubernetes.io/control-plane',
      ),
    );
    const labels = {
      'kubernetes.io/hostname': 'n1',
      'topology.kubernetes.io/zone': 'z',
      'node.kubernetes.io/anything': '',
      'pool.kubelet.kubernetes.io/x': '',
      'example.com/x': '',
      plain: '',
    };
    // A new node may have taints.
    expect(await make({ labels }, { taints: [{ key: 'a', effect: 'NoSchedule' }] })).toBe('');
  });

  test('changes itself, but not its taints, owners or protected labels', async () => {
    expect(
      await why(
        patch('/api/v1/nodes/n1', {
          metadata: { labels: { 'kubernetes.io/os': 'linux', a: 'b' } },
        }),
      ),
    ).toBe('');
    expect(await why(patch('/api/v1/nodes/n1/status', { status: { phase: 'Running' } }))).toBe('');
    const n1 = (reason: string) => forbidden('nodes "n1"', reason);
    expect(await why(patch('/api/v1/nodes/n2', { metadata: { labels: { a: 'b' } } }))).toBe(
      forbidden('nodes "n2"', 'node "n1" is not allowed to modify node "n2"'),
    );
    expect(await why(patch('/api/v1/nodes/n2/status', { status: { phase: 'Running' } }))).toContain(
      'modify node "n2"',
    );
    expect(
      await why(
        patch('/api/v1/nodes/n1', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }),
      ),
    ).toBe(n1('node "n1" is not allowed to modify taints'));
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n2', uid: 'u' };
    expect(await why(patch('/api/v1/nodes/n1', { metadata: { ownerReferences: [owner] } }))).toBe(
      n1('node "n1" is not allowed to modify ownerReferences'),
    );
    expect(
      await why(
        patch('/api/v1/nodes/n1', { metadata: { labels: { 'node-role.kubernetes.io/x': '' } } }),
      ),
    ).toBe(n1('is not allowed to modify labels: node-role.kubernetes.io/x'));
    // A label that an administrator has set stays.
    const restricted = { 'node-restriction.kubernetes.io/x': 'y' };
    await t.client
      .resource(nodes)
      .patch('n1', 'application/merge-patch+json', { metadata: { labels: restricted } });
    expect(
      await why(
        patch('/api/v1/nodes/n1', {
          metadata: { labels: { 'node-restriction.kubernetes.io/x': null } },
        }),
      ),
    ).toBe(n1('is not allowed to modify labels: node-restriction.kubernetes.io/x'));
    expect(await why(patch('/api/v1/nodes/n1', { metadata: { labels: { c: 'd' } } }))).toBe('');
    const source = { configMap: { name: 'a', namespace: 'x', kubeletConfigKey: 'k' } };
    expect(await why(patch('/api/v1/nodes/n1', { spec: { configSource: source } }))).toBe(
      n1('node "n1" is not allowed to update configSource to a new non-nil configSource'),
    );
  });
});

describe('a pod', () => {
  const PATH = '/api/v1/namespaces/x/pods';
  const owner = () => ({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'n1',
    uid: nodeUid,
    controller: true,
  });
  const mirror = (metadata: object = {}, spec: object = {}) => ({
    metadata: {
      name: 'm',
      annotations: { 'kubernetes.io/config.mirror': 'm' },
      ownerReferences: [owner()],
      ...metadata,
    },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  const m = (reason: string) => forbidden('pods "m"', `node "n1" ${reason}`);

  test('may be created as the mirror of a static pod', async () => {
    expect(await why(post(PATH, mirror()))).toBe('');
    expect(
      await why(asNode({ method: 'DELETE', path: `${PATH}/m`, body: { gracePeriodSeconds: 0 } })),
    ).toBe('');
  });

  test('may not be created otherwise', async () => {
    expect(await why(post(PATH, mirror({ annotations: {} })))).toBe(
      forbidden(
        'pods "m"',
        'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
      ),
    );
    expect(await why(post(PATH, mirror({}, { nodeName: 'n2' })))).toBe(
      m('can only create pods with spec.nodeName set to itself'),
    );
    expect(await why(post(PATH, mirror({ ownerReferences: [] })))).toBe(
      m('can only create pods with an owner reference set to itself'),
    );
    expect(await why(post(PATH, mirror({ ownerReferences: [{ ...owner(), name: 'n2' }] })))).toBe(
      m('can only create pods with an owner reference set to itself'),
    );
    expect(
      await why(post(PATH, mirror({ ownerReferences: [owner(), { ...owner(), uid: 'u' }] }))),
    ).toBe(m('can only create pods with a single owner reference set to itself'));
    expect(
      await why(post(PATH, mirror({ ownerReferences: [{ ...owner(), controller: false }] }))),
    ).toBe(m('can only create pods with a controller owner reference set to itself'));
    expect(
      await why(
        post(PATH, mirror({ ownerReferences: [{ ...owner(), blockOwnerDeletion: true }] })),
      ),
    ).toBe(m('must not set blockOwnerDeletion on an owner reference'));
    expect(await why(post(PATH, mirror({ ownerReferences: [{ ...owner(), uid: 'u' }] })))).toBe(
      forbidden('pods "m"', `node n1 UID mismatch: expected u got ${nodeUid}`),
    );
  });

  test.each([
    [{ serviceAccountName: 'a' }, 'serviceaccounts'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'secrets'],
    [
      { containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'c' } }] }] },
      'configmaps',
    ],
    [
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
      'persistentvolumeclaims',
    ],
    [{ resourceClaims: [{ name: 'r', resourceClaimName: 'c' }] }, 'resourceclaims'],
    [{ volumes: [{ name: 'v', csi: { driver: 'd' } }] }, 'csidrivers (via CSI volumes)'],
    [
      {
        volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'p' } }] } }],
      },
      'serviceaccounts (via projected volumes)',
    ],
  ])('that mirrors a static pod must not refer to API objects: %j', async (spec, what) => {
    expect(await why(post(PATH, mirror({}, spec)))).toBe(
      m(`can not create pods that reference ${what}`),
    );
  });

  test('of the node may be updated, evicted and deleted; others’ not', async () => {
    await pod('mine', 'n1');
    await pod('other', 'n2');
    const running = { status: { phase: 'Running' } };
    expect(await why(patch(`${PATH}/mine/status`, running))).toBe('');
    expect(await why(patch(`${PATH}/other/status`, running))).toBe(
      forbidden(
        'pods "other"',
        'node "n1" can only update pod status for pods with spec.nodeName set to itself',
      ),
    );
    expect(await why(patch(`${PATH}/mine/status`, { metadata: { labels: { a: 'b' } } }))).toBe(
      forbidden('pods "mine"', 'node "n1" cannot update labels through pod status'),
    );
    expect(
      await why(
        patch(`${PATH}/mine/status`, { status: { resourceClaimStatuses: [{ name: 'a' }] } }),
      ),
    ).toBe(forbidden('pods "mine"', 'node "n1" cannot update resource claim statues'));
    const evict = (name: string) =>
      why(
        post(`${PATH}/${name}/eviction`, {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name },
        }),
      );
    expect(await evict('other')).toBe(
      forbidden('pods "other"', 'node n1 can only evict pods with spec.nodeName set to itself'),
    );
    expect(await evict('none')).toBe('404 pods "none" not found');
    expect(await evict('mine')).toBe('');
    const remove = (name: string) =>
      why(asNode({ method: 'DELETE', path: `${PATH}/${name}`, body: { gracePeriodSeconds: 0 } }));
    expect(await remove('other')).toBe(
      forbidden('pods "other"', 'node "n1" can only delete pods with spec.nodeName set to itself'),
    );
    expect(await remove('mine')).toBe('');
  });
});

describe('a token', () => {
  const ask = (spec: object, account = 'default') =>
    why(
      post(`/api/v1/namespaces/x/serviceaccounts/${account}/token`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [], ...spec },
      }),
    );
  const bound = (uid: string, name = 'mine') => ({
    boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
  });
  const refused = (reason: string) => forbidden('serviceaccounts "default"', reason);
  const token = (audience?: string) => ({
    volumes: [
      {
        name: 'v',
        projected: {
          sources: [{ serviceAccountToken: { path: 'p', ...(audience && { audience }) } }],
        },
      },
    ],
  });

  beforeEach(async () => {
    await t.client
      .resource(serviceAccounts)
      .namespace('x')
      .create({ metadata: { name: 'default' } });
  });

  test('is for a pod of the node', async () => {
    const uid = await pod('mine', 'n1', token());
    const other = await pod('other', 'n2', token());
    expect(await ask(bound(uid))).toBe('');
    expect(await ask({})).toBe(refused('node requested token not bound to a pod'));
    expect(await ask({ boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: 'n1' } })).toBe(
      refused('node requested token not bound to a pod'),
    );
    expect(await ask({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'mine' } })).toBe(
      refused('node requested token with a pod binding without a uid'),
    );
    expect(await ask(bound(uid, 'none'))).toBe('404 pods "none" not found');
    expect(await ask(bound('other'))).toBe(
      refused(
        'the UID in the bound object reference (other) does not match the UID in record. ' +
          'The object might have been deleted and then recreated',
      ),
    );
    expect(await ask(bound(other, 'other'))).toBe(
      refused('node requested token bound to a pod scheduled on a different node'),
    );
  });

  test('is for an audience that a volume requests', async () => {
    const uid = await pod('mine', 'n1', token('vault'));
    expect(await ask({ ...bound(uid), audiences: ['vault'] })).toBe('');
    expect(await ask({ ...bound(uid), audiences: ['vault', 'b'] })).toBe(
      refused('node may only request 0 or 1 audiences'),
    );
    const no = (audience: string) =>
      refused(
        `audience "${audience}" not found in pod spec volume, system:node:n1 is not authorized ` +
          'to request tokens for this audience',
      );
    expect(await ask({ ...bound(uid), audiences: ['other'] })).toBe(no('other'));
    expect(await ask(bound(uid))).toBe(no(''));
    const rules = [
      { verbs: ['request-serviceaccounts-token-audience'], apiGroups: [''], resources: ['other'] },
    ];
    await t.client.resource(clusterRoles).create({ metadata: { name: 'audience' }, rules });
    await t.client.resource(clusterRoleBindings).create({
      metadata: { name: 'audience' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'audience' },
    });
    expect(await ask({ ...bound(uid), audiences: ['other'] })).toBe('');
  });

  test('is for the audiences that a CSI driver of its volumes requests', async () => {
    const volume = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };
    const uid = await pod('mine', 'n1', { volumes: [volume] });
    const request = () => ask({ ...bound(uid), audiences: ['store'] });
    expect(await request()).toBe(
      refused('error validating audience "store": persistentvolumeclaim "c" not found'),
    );
    await t.client
      .resource(persistentVolumeClaims)
      .namespace('x')
      .create({
        metadata: { name: 'c' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          volumeName: 'pv',
          resources: { requests: { storage: '1Gi' } },
        },
      });
    await t.client.resource(persistentVolumes).create({
      metadata: { name: 'pv' },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'd.example.com', volumeHandle: 'h' },
      },
    });
    expect(await request()).toContain('"d.example.com" not found');
    const spec = { tokenRequests: [{ audience: 'store' }] };
    await t.client.resource(csiDrivers).create({ metadata: { name: 'd.example.com' }, spec });
    expect(await request()).toBe('');
  });
});

test('of a claim, a kubelet may write only size and resize status', async () => {
  const claims = t.client.resource(persistentVolumeClaims).namespace('x');
  const requests = { storage: '1Gi' };
  await claims.create({
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests } },
  });
  await pod('mine', 'n1', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] });
  const path = '/api/v1/namespaces/x/persistentvolumeclaims/c/status';
  const condition = { type: 'FileSystemResizePending', status: 'True' };
  expect(
    await why(patch(path, { status: { capacity: { storage: '2Gi' }, conditions: [condition] } })),
  ).toBe('');
  const no = forbidden(
    'persistentvolumeclaims "c"',
    'node "n1" is not allowed to update fields other than status.quantity and status.conditions',
  );
  expect(await why(patch(path, { status: { phase: 'Lost' } }))).toBe(no);
  expect(await why(patch(path, { metadata: { labels: { a: 'b' } } }))).toBe(no);
});

test('leases, CSINodes and slices are the node’s own', async () => {
  const make = (path: string, name: string, spec: object, namespace?: string) =>
    why(post(path, { metadata: { name, ...(namespace !== undefined && { namespace }) }, spec }));
  const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  expect(await make(LEASES, 'n1', {})).toBe('');
  expect(await make(LEASES, 'n2', {})).toBe(
    forbidden(
      'leases.coordination.k8s.io "n2"',
      'can only access node lease with the same name as the requesting node',
    ),
  );
  const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
  expect(await make(CSI_NODES, 'n1', { drivers: [] })).toBe('');
  expect(await make(CSI_NODES, 'n2', { drivers: [] })).toBe(
    forbidden(
      'csinodes.storage.k8s.io "n2"',
      'can only access CSINode with the same name as the requesting node',
    ),
  );
  const SLICES = '/apis/resource.k8s.io/v1/resourceslices';
  const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
  expect(await make(SLICES, 'mine', { nodeName: 'n1', driver: 'd.io', pool })).toBe('');
  const other = { nodeName: 'n2', driver: 'd.io', pool };
  expect(await make(SLICES, 'other', other)).toBe(
    forbidden(
      'resourceslices.resource.k8s.io "other"',
      'can only create ResourceSlice with the same NodeName as the requesting node',
    ),
  );
  await t.client.resource(resourceSlices).create({ metadata: { name: 'other' }, spec: other });
  expect(
    await why(asNode({ method: 'DELETE', path: `${SLICES}?fieldSelector=spec.nodeName%3Dn1` })),
  ).toBe('');
  expect(
    (await t.client.resource(resourceSlices).list()).items.map(({ metadata }) => metadata.name),
  ).toEqual(['other']);
});

test('a node user without a node name writes nothing', async () => {
  const user = {
    name: 'system:node:',
    groups: ['system:nodes', 'system:masters', 'system:authenticated'],
  };
  const answer = send(t.server, {
    method: 'POST',
    path: '/api/v1/nodes',
    body: { metadata: { name: 'n3' } },
    user,
  });
  expect(await why(answer)).toBe(
    forbidden('nodes "n3"', 'could not determine node from user "system:node:"'),
  );
});

test('a kubelet’s certificate can be requested only by that kubelet', async () => {
  const keys = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const ask = async (commonName: string, signerName: string) => {
    const name = `O=system:nodes, CN=${commonName}`;
    const pem = (
      await Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: EC })
    ).toString('pem');
    const spec = {
      request: Buffer.from(pem).toString('base64'),
      signerName,
      usages: ['digital signature', 'client auth'],
    };
    return why(
      post('/apis/certificates.k8s.io/v1/certificatesigningrequests', {
        metadata: { generateName: 'csr-' },
        spec,
      }),
    );
  };
  const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
  expect(await ask('system:node:n1', CLIENT)).toBe('');
  expect(await ask('system:node:n2', CLIENT)).toBe(
    forbidden(
      'certificatesigningrequests.certificates.k8s.io "csr-"',
      'can only create a node CSR with CN=system:node:n1',
    ),
  );
  // Requests for other signers are not restricted.
  expect(await ask('anybody', 'example.com/other')).toBe('');
});
