import { describe, expect, test } from 'vitest';

import { send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';
import { subjectAccessReviews } from '#api/groups/authorization/v1/index.ts';

const AUTHENTICATED = ['system:authenticated'];
const user = (name: string, ...groups: string[]) => ({
  name,
  groups: [...groups, ...AUTHENTICATED],
});

const t = serverPerTest();

describe('without a rule that allows it', () => {
  test.each([
    [
      'GET',
      '/api/v1/namespaces/default/pods',
      'pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the namespace "default"',
    ],
    [
      'GET',
      '/api/v1/nodes/n',
      'nodes "n" is forbidden: User "joe" cannot get resource "nodes" in API group "" at the cluster scope',
    ],
    [
      'PATCH',
      '/apis/apps/v1/namespaces/x/replicasets/r/status',
      'replicasets.apps "r" is forbidden: User "joe" cannot patch resource ' +
        '"replicasets/status" in API group "apps" in the namespace "x"',
    ],
    ['GET', '/metrics', 'forbidden: User "joe" cannot get path "/metrics"'],
  ])('%s %s is forbidden', async (method, path, message) => {
    const { code, json } = await send(t.server, { method, path, user: user('joe') });
    expect(code).toBe(403);
    expect(json).toMatchObject({ reason: 'Forbidden', message });
  });

  test('every authenticated user may use discovery and self subject reviews', async () => {
    for (const path of ['/api', '/apis', '/api/v1', '/version', '/openapi/v2', '/openapi/v3']) {
      expect((await send(t.server, { path, user: user('joe') })).code).toBe(200);
    }
    const review = await send(t.server, {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      user: user('joe'),
      body: {
        spec: { resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'default' } },
      },
    });
    expect(review.json).toMatchObject({ status: { allowed: false } });
  });
});

describe('the components', () => {
  const may = async (
    who: ReturnType<typeof user>,
    verb: string,
    resource: string,
    group = '',
    name = 'x',
  ): Promise<boolean> => {
    const [plural = '', subresource = ''] = resource.split('/');
    const { status } = await t.client.resource(subjectAccessReviews).create({
      metadata: {},
      spec: {
        user: who.name,
        groups: who.groups,
        resourceAttributes: {
          verb,
          group,
          resource: plural,
          subresource,
          name,
          namespace: 'default',
        },
      },
    });
    return status.allowed;
  };

  test('may do their own work, and not that of others', async () => {
    const scheduler = user('system:kube-scheduler');
    expect(await may(scheduler, 'create', 'pods/binding')).toBe(true);
    expect(await may(scheduler, 'list', 'nodes')).toBe(true);
    expect(await may(scheduler, 'create', 'pods')).toBe(false);
    expect(await may(scheduler, 'get', 'secrets')).toBe(false);

    const manager = user('system:kube-controller-manager');
    expect(await may(manager, 'list', 'replicasets', 'apps')).toBe(true);
    expect(await may(manager, 'create', 'serviceaccounts/token')).toBe(true);
    // Controllers act as their own ServiceAccounts, not as the controller manager.
    expect(await may(manager, 'create', 'pods')).toBe(false);
    const controller = user('system:serviceaccount:kube-system:replicaset-controller');
    expect(await may(controller, 'create', 'pods')).toBe(true);
    expect(await may(controller, 'update', 'replicasets/status', 'apps')).toBe(true);
    expect(await may(controller, 'delete', 'replicasets', 'apps')).toBe(false);
    expect(await may(controller, 'create', 'pods/exec')).toBe(false);

    const node = user('system:node:n1', 'system:nodes');
    expect(await may(node, 'update', 'pods/status')).toBe(true);
    expect(await may(node, 'patch', 'nodes/status')).toBe(true);
    expect(await may(node, 'update', 'pods')).toBe(false);
    expect(await may(node, 'delete', 'nodes')).toBe(false);
    expect(await may(node, 'create', 'replicasets', 'apps')).toBe(false);
    // The user name of a node is not enough without its group.
    expect(await may(user('system:node:n1'), 'update', 'pods/status')).toBe(false);
  });
});

describe('reviews', () => {
  const path = (kind: string) => `/apis/authorization.k8s.io/v1/${kind}`;
  const review = (kind: string, spec: object, at = path(kind)) =>
    send(t.server, { method: 'POST', path: at, body: { spec } });
  const pods = { verb: 'list', resource: 'pods', namespace: 'default' };

  test('of other users', async () => {
    const yes = await review('subjectaccessreviews', {
      user: 'system:kube-scheduler',
      resourceAttributes: { ...pods, resource: 'nodes' },
    });
    expect(yes.code).toBe(201);
    expect(yes.json).toMatchObject({ kind: 'SubjectAccessReview', status: { allowed: true } });
    expect(
      (
        await review('subjectaccessreviews', {
          user: 'joe',
          groups: ['system:masters'],
          resourceAttributes: pods,
        })
      ).json,
    ).toMatchObject({ status: { allowed: true } });
    expect(
      (
        await review('subjectaccessreviews', {
          user: 'joe',
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
        })
      ).json,
    ).toMatchObject({ status: { allowed: false } });
  });

  test.each([
    [
      { user: 'joe' },
      'exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ],
    [
      { user: 'joe', resourceAttributes: {}, nonResourceAttributes: {} },
      'cannot be specified in combination with resourceAttributes',
    ],
    [
      { resourceAttributes: pods },
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
  ])('reject %j', async (spec, message) => {
    const { code, json } = await review('subjectaccessreviews', spec);
    expect(code).toBe(422);
    expect(json.message).toContain(message);
  });

  test('of a namespace do not cover others', async () => {
    const at = '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews';
    expect((await review('', { user: 'joe', resourceAttributes: pods }, at)).code).toBe(201);
    const elsewhere = await review(
      '',
      { user: 'joe', resourceAttributes: { ...pods, namespace: 'x' } },
      at,
    );
    expect(elsewhere.json.message).toContain('must match metadata.namespace');
  });

  test('of rules list them', async () => {
    const { json } = await review('selfsubjectrulesreviews', { namespace: 'default' });
    expect(json).toMatchObject({
      status: {
        resourceRules: expect.arrayContaining([
          { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        ]),
        incomplete: false,
      },
    });
  });
});

describe('impersonation', () => {
  const whoami = (
    headers: Record<string, string>,
    as = user('admin', 'system:masters'),
    rawHeaders?: readonly string[],
  ) => {
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    return send(t.server, {
      method: 'POST',
      path,
      headers,
      ...(rawHeaders !== undefined && { rawHeaders }),
      user: as,
      body: {},
    });
  };

  test('requires permission', async () => {
    const several = [
      'Impersonate-User',
      'joe',
      'Impersonate-Group',
      'dev',
      'Impersonate-Group',
      'ops',
      'Impersonate-Extra-Reason',
      'test',
    ];
    const joined = {
      'impersonate-user': 'joe',
      'impersonate-group': 'dev, ops',
      'impersonate-extra-reason': 'test',
    };
    const { json } = await whoami(joined, undefined, several);
    expect(json.status).toEqual({
      userInfo: {
        username: 'joe',
        groups: ['dev', 'ops', 'system:authenticated'],
        extra: { reason: ['test'] },
      },
    });
    const account = await whoami({ 'impersonate-user': 'system:serviceaccount:default:a' });
    expect(account.json).toMatchObject({
      status: {
        userInfo: {
          groups: [
            'system:serviceaccounts',
            'system:serviceaccounts:default',
            'system:authenticated',
          ],
        },
      },
    });
    const refused = await whoami({ 'impersonate-user': 'admin' }, user('joe'));
    expect(refused.code).toBe(403);
    expect(refused.json.message).toBe(
      'selfsubjectreviews.authentication.k8s.io is forbidden: User "joe" cannot ' +
        'impersonate-on:user-info:create resource "selfsubjectreviews" in API group ' +
        '"authentication.k8s.io" at the cluster scope',
    );
    expect((await whoami({ 'impersonate-group': 'x' })).code).toBe(400);
  });

  test.each([
    [{ 'impersonate-group': 'a,b' }, { groups: ['a,b', 'system:authenticated'] }],
    [{ 'impersonate-extra-k1': 'one,two' }, { extra: { k1: ['one,two'] } }],
    [{ 'impersonate-extra-a%2Fb': 'x' }, { extra: { 'a/b': ['x'] } }],
    [{ 'impersonate-extra-%zz': 'x' }, { extra: { '%zz': ['x'] } }],
    [
      { 'impersonate-extra-__proto__': 'x' },
      { extra: JSON.parse('{"__proto__":["x"]}') as object },
    ],
    // These names only begin like those of ServiceAccounts.
    [
      { 'impersonate-user': 'system:serviceaccount:default:a:b' },
      { groups: ['system:authenticated'] },
    ],
    [
      { 'impersonate-user': 'system:serviceaccount:default:A' },
      { groups: ['system:authenticated'] },
    ],
  ])('%j: %j', async (headers: Record<string, string>, userInfo) => {
    const { code, json } = await whoami({ 'impersonate-user': 'joe', ...headers });
    expect(code).toBe(201);
    expect((json.status as { userInfo: unknown }).userInfo).toMatchObject(userInfo);
  });

  test('requires permission for a user if the name has a third part', async () => {
    const { json } = await whoami(
      { 'impersonate-user': 'system:serviceaccount:default:a:b' },
      user('joe'),
    );
    expect(json.message).toContain('cannot impersonate-on:user-info:create');
  });
});
