// The modes of impersonation and their permissions, with an authorizer that has a list of them.

import { expect, test } from 'vitest';

import type { Attributes, Authorizer } from '../../authorization/authorizer.ts';
import type { UserInfo } from '../../request.ts';
import { rawRequest } from '../../testing/requests.ts';
import { requestInfo } from '../request-info.ts';
import { DeniedError } from '../authorization.ts';
import { impersonation } from './index.ts';
import { requestedUser } from './requested-user.ts';

const LIST_PODS = '/api/v1/namespaces/default/pods';
const AUTHENTICATED = 'system:authenticated';
const AGENT: UserInfo = {
  name: 'system:serviceaccount:kube-system:agent',
  groups: [],
  extra: {
    'authentication.kubernetes.io/node-name': ['n1'],
    'authentication.kubernetes.io/pod-name': ['agent-x'],
  },
};
const JOE: UserInfo = { name: 'joe', groups: [] };

/** A permission, as 'VERB RESOURCE[/SUBRESOURCE][.GROUP] [NAMESPACE/]NAME'. */
const written = ({ verb, resource, subresource, apiGroup, namespace, name }: Attributes): string =>
  `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}` +
  `${apiGroup === '' ? '' : `.${apiGroup}`} ${namespace === '' ? '' : `${namespace}/`}${name}`;

/** Returns a function that sends a request, and what it returns: the user and its constraint. */
function server(...permissions: readonly string[]) {
  const asked: Attributes[] = [];
  const authorizer: Authorizer = {
    authorize: (attributes) => {
      asked.push(attributes);
      const decision = permissions.includes(written(attributes)) ? 'allow' : 'noOpinion';
      return { decision, reason: '' };
    },
    rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: true }),
  };
  const handler = requestInfo(
    impersonation(authorizer)(() => Promise.resolve({ code: 200, body: { kind: 'none' } })),
  );
  const send = async (
    headers: Readonly<Record<string, string>>,
    user = JOE,
    path = LIST_PODS,
    rawHeaders?: readonly string[],
  ): Promise<unknown> => {
    const request = rawRequest({
      path,
      headers,
      user,
      ...(rawHeaders !== undefined && { rawHeaders }),
    });
    let constraint: string | undefined;
    const unused = (): never => expect.unreachable();
    request.audit = {
      records: unused,
      annotate: unused,
      impersonated: (_user, by) => (constraint = by),
      requestMetadata: unused,
      requestObject: unused,
      requestPatch: unused,
    };
    try {
      await handler(request);
    } catch (error) {
      return (error as Error).message;
    }
    return [request.user, constraint];
  };
  return { send, asked };
}

const USER_INFO = 'impersonate-on:user-info:list pods default/';
const of = (resource: string, name: string): string =>
  `impersonate:user-info ${resource}.authentication.k8s.io ${name}`;

test('a constrained mode needs a permission for the request, and one for the user', async () => {
  const { send } = server(USER_INFO, of('users', 'jane'));
  expect(await send({ 'impersonate-user': 'jane' })).toEqual([
    { name: 'jane', groups: [AUTHENTICATED] },
    'impersonate:user-info',
  ]);
  expect(await send({ 'impersonate-user': 'jane' }, JOE, '/api/v1/nodes')).toBe(
    'nodes is forbidden: User "joe" cannot impersonate-on:user-info:list resource "nodes" in API ' +
      'group "" at the cluster scope',
  );
  expect(await send({ 'impersonate-user': 'eve' })).toBe(
    'users.authentication.k8s.io "eve" is forbidden: User "joe" cannot impersonate:user-info ' +
      'resource "users" in API group "authentication.k8s.io" at the cluster scope',
  );
});

test('the legacy permission allows every request', async () => {
  const { send } = server('impersonate users jane', 'impersonate groups dev');
  const headers = { 'impersonate-user': 'jane', 'impersonate-group': 'dev' };
  const jane = [{ name: 'jane', groups: ['dev', AUTHENTICATED] }, undefined];
  expect(await send(headers)).toEqual(jane);
  expect(await send(headers, JOE, '/api/v1/nodes')).toEqual(jane);
});

test('the mode that has succeeded is tried first, and its error is the one that is reported', async () => {
  const { send, asked } = server('impersonate users jane');
  await send({ 'impersonate-user': 'jane' });
  asked.length = 0;
  await send({ 'impersonate-user': 'jane' });
  expect(asked.map(written)).toEqual(['impersonate users jane']);
  expect(await send({ 'impersonate-user': 'eve' })).toBe(
    'users "eve" is forbidden: User "joe" cannot impersonate resource "users" in API group "" ' +
      'at the cluster scope',
  );
});

test('uid, groups and extra fields each need a permission', async () => {
  const permissions = [
    USER_INFO,
    of('users', 'jane'),
    of('uids', '7'),
    of('groups', 'dev'),
    of('userextras/acme.io/reason', 'test'),
  ];
  const headers = {
    'impersonate-user': 'jane',
    'impersonate-uid': '7',
    'impersonate-group': 'dev',
    'impersonate-extra-acme.io%2freason': 'test',
  };
  expect(await server(...permissions).send(headers)).toEqual([
    {
      name: 'jane',
      uid: '7',
      groups: ['dev', AUTHENTICATED],
      extra: { 'acme.io/reason': ['test'] },
    },
    'impersonate:user-info',
  ]);
  for (const missing of permissions) {
    const others = permissions.filter((each) => each !== missing);
    expect(await server(...others).send(headers), missing).toContain('is forbidden');
  }
});

test('many groups may be allowed by one permission for all of them', async () => {
  const { send } = server(USER_INFO, of('users', 'jane'), of('groups', '*'));
  const withGroups = (groups: readonly string[]): Promise<unknown> =>
    send({ 'impersonate-user': 'jane', 'impersonate-group': groups.join() }, JOE, LIST_PODS, [
      'Impersonate-User',
      'jane',
      ...groups.flatMap((name) => ['Impersonate-Group', name]),
    ]);
  expect(await withGroups(['a', 'b', 'c', 'd'])).toEqual([
    { name: 'jane', groups: ['a', 'b', 'c', 'd', AUTHENTICATED] },
    'impersonate:user-info',
  ]);
  expect(await withGroups(['a', 'b', 'c'])).toContain(
    'groups.authentication.k8s.io "a" is forbidden',
  );
});

test.each([
  [{ 'impersonate-group': 'system:masters' }, 'impersonating the system:masters group'],
  [{ 'impersonate-group': '' }, 'impersonating the empty string group'],
  [{ 'impersonate-extra-': 'x' }, 'impersonating the empty string key in extra'],
  [{ 'impersonate-extra-reason': 'x' }, 'must be a domain-prefixed path'],
  [{ 'impersonate-extra-a.io%2fb': '' }, 'impersonating the empty string value in extra'],
])('a constrained mode rejects %j', async (headers, message) => {
  const { send } = server(USER_INFO, of('users', 'jane'));
  expect(await send({ 'impersonate-user': 'jane', ...headers })).toContain(message);
});

test('a node has its group, and a ServiceAccount its groups', async () => {
  const { send } = server(
    'impersonate-on:arbitrary-node:list pods default/',
    'impersonate:arbitrary-node nodes.authentication.k8s.io n2',
    'impersonate-on:serviceaccount:list pods default/',
    'impersonate:serviceaccount serviceaccounts.authentication.k8s.io x/a',
  );
  expect(await send({ 'impersonate-user': 'system:node:n2' })).toEqual([
    { name: 'system:node:n2', groups: ['system:nodes', AUTHENTICATED] },
    'impersonate:arbitrary-node',
  ]);
  expect(await send({ 'impersonate-user': 'system:serviceaccount:x:a' })).toEqual([
    {
      name: 'system:serviceaccount:x:a',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:x', AUTHENTICATED],
    },
    'impersonate:serviceaccount',
  ]);
  // With groups of the client's choice these modes do not apply: only the legacy one is left.
  const headers = { 'impersonate-user': 'system:node:n2', 'impersonate-group': 'system:masters' };
  expect(await send(headers)).toContain('cannot impersonate resource "users"');
});

test('an agent may be allowed to impersonate the node that it runs on, and no other', async () => {
  const { send, asked } = server(
    'impersonate-on:associated-node:list pods default/',
    'impersonate:associated-node nodes.authentication.k8s.io *',
  );
  expect(await send({ 'impersonate-user': 'system:node:n1' }, AGENT)).toEqual([
    { name: 'system:node:n1', groups: ['system:nodes', AUTHENTICATED] },
    'impersonate:associated-node',
  ]);
  // The permission does not depend on the node, so authorizers do not get its name.
  expect(asked[0]?.user.extra).toEqual({
    'authentication.kubernetes.io/associated-node-keys': [
      'authentication.kubernetes.io/node-name',
      'authentication.kubernetes.io/pod-name',
    ],
  });
  expect(await send({ 'impersonate-user': 'system:node:n2' }, AGENT)).toContain(
    'cannot impersonate-on:arbitrary-node:list',
  );
  const other = { ...AGENT, name: 'joe' };
  expect(await send({ 'impersonate-user': 'system:node:n1' }, other)).toContain('forbidden');
});

test('a denial shows what was requested, as upstream', () => {
  const headers = { 'impersonate-uid': '7', 'impersonate-extra-a': 'x' };
  expect(() => requestedUser({ headers, rawHeaders: undefined })).toThrow(
    'requested &user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), ' +
      'Extra:map[string][]string{"a":[]string{"x"}}} without impersonating a user name',
  );
});

test.each(['impersonate-group', 'impersonate-uid', 'impersonate-extra-a'])(
  '%s without a user is denied, as upstream in the form of a denial',
  (header) => {
    expect(() => requestedUser({ headers: { [header]: 'x' }, rawHeaders: undefined })).toThrow(
      DeniedError,
    );
  },
);

test('names that a client sends are UTF-8', () => {
  const sent = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
  const rawHeaders = [
    'Impersonate-User',
    sent('jürgen'),
    'Impersonate-Group',
    sent('größe'),
    'Impersonate-Extra-Reason',
    sent('日本'),
  ];
  expect(requestedUser({ headers: {}, rawHeaders })).toEqual({
    name: 'jürgen',
    groups: ['größe'],
    extra: { reason: ['日本'] },
  });
});
