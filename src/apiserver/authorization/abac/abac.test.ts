// Policies of the mode ABAC: the file, and what it permits.

import { expect, test } from 'vitest';
import type { Attributes } from '../authorizer.ts';
import { AbacAuthorizer } from './abac-authorizer.ts';
import { readAbacPolicies } from './policies.ts';

const v1beta1 = (spec: object): string =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const authorizerOf = (...lines: readonly string[]): AbacAuthorizer =>
  new AbacAuthorizer(readAbacPolicies(lines.join('\n'), 'policies.jsonl'));

const FILE = [
  '# comment',
  '',
  v1beta1({ user: 'alice', namespace: '*', resource: '*', apiGroup: '*' }),
  v1beta1({ group: 'readers', namespace: 'team', resource: 'pods', readonly: true }),
  v1beta1({ user: '*', nonResourcePath: '/public/*', readonly: true }),
  v1beta1({ user: 'bob', group: 'admins', namespace: 'team', resource: 'pods' }),
  v1beta1({ namespace: '*', resource: '*', apiGroup: '*' }),
];

const request = (
  name: string,
  groups: readonly string[],
  fields: Partial<Attributes>,
): Attributes => ({
  user: { name, groups },
  isResourceRequest: fields.path === undefined,
  path: '',
  verb: 'get',
  apiGroup: '',
  apiVersion: 'v1',
  namespace: 'team',
  resource: 'pods',
  subresource: '',
  name: '',
  ...fields,
});

test.each<[string, readonly string[], Partial<Attributes>, boolean]>([
  ['alice', [], { verb: 'delete', apiGroup: 'apps', namespace: 'other' }, true],
  ['alice', [], { path: '/healthz' }, false],
  ['carol', ['readers'], {}, true],
  ['carol', ['readers'], { verb: 'create' }, false],
  ['carol', ['readers'], { namespace: 'other' }, false],
  ['carol', ['readers'], { apiGroup: 'apps' }, false],
  ['carol', [], { path: '/public/a' }, true],
  ['carol', [], { path: '/private' }, false],
  ['carol', [], { path: '/public/a', verb: 'post' }, false],
  ['bob', ['admins'], { verb: 'create' }, true],
  ['bob', [], { verb: 'create' }, false],
])('%s of %j: %j is permitted: %s', (name, groups, fields, permitted) => {
  const { decision } = authorizerOf(...FILE).authorize(request(name, groups, fields));
  expect(decision).toBe(permitted ? 'allow' : 'noOpinion');
});

test('a policy without a version matches what it does not name', () => {
  const everyone = ['system:authenticated'];
  const all = authorizerOf('{}');
  expect(all.authorize(request('x', everyone, { path: '/any', verb: 'post' })).decision).toBe(
    'allow',
  );
  expect(all.authorize(request('x', [], {})).decision).toBe('noOpinion');
  const one = authorizerOf('{"user":"x","resource":"pods"}');
  expect(one.authorize(request('x', [], { apiGroup: 'apps' })).decision).toBe('allow');
  expect(one.authorize(request('x', [], { path: '/any' })).decision).toBe('noOpinion');
});

test('rules of a user in a namespace', () => {
  expect(authorizerOf(...FILE).rulesFor({ name: 'carol', groups: ['readers'] }, 'team')).toEqual({
    resourceRules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] }],
    nonResourceRules: [],
    incomplete: false,
  });
});

test.each([
  ['{', 'error reading policy file policies.jsonl, line 2: '],
  ['[]', 'line 2: a policy must be an object'],
  ['{"user":1}', 'line 2: user must be a string'],
  ['{"readonly":"yes"}', 'line 2: readonly must be true or false'],
  ['{"apiVersion":"v1","kind":"Policy"}', 'no kind "Policy" is registered for version "v1"'],
])('a wrong line: %s', (line, message) => {
  expect(() => authorizerOf('# first', line)).toThrow(message);
});
