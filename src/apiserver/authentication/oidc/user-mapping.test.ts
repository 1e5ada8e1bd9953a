// Users by the expressions of an AuthenticationConfiguration.

import { expect, test } from 'vitest';

import { nextTurn } from '#machinery/turn.ts';
import { compileTokenExpression, readsClaim } from './expressions.ts';
import { jwtOfFlags, type JwtSettings } from './settings.ts';
import { UserMapping } from './user-mapping.ts';

const BASE = jwtOfFlags({ issuer: 'https://i.example', clientId: 'a', usernamePrefix: '-' });
const CLAIMS = {
  sub: 'jane',
  jti: 'j-1',
  roles: ['dev', '', 'ops'],
  level: 3,
  'example.com/team': { 'a-b': 'x', members: [{ 'n.m': 1 }] },
  email: 'jane@example.com',
  email_verified: true,
  admin: null,
};

const userOf = (settings: Partial<JwtSettings>, claims: object = CLAIMS): Promise<object> =>
  new UserMapping({ ...BASE, ...settings }).userOf({ ...claims });

test('every part of a user by an expression', async () => {
  expect(
    await userOf({
      username: { expression: 'claims.sub + "@" + claims.email.split("@")[1]' },
      groups: { expression: 'claims.roles.map(r, "oidc:" + r)' },
      uid: { expression: 'string(int(claims.level))' },
      extra: [
        { key: 'example.com/team', expression: 'claims.example__dot__com__slash__team.a__dash__b' },
        {
          key: 'example.com/member',
          expression: 'string(claims["example.com/team"].members[0].n__dot__m)',
        },
        { key: 'example.com/none', expression: 'claims.admin' },
        { key: 'example.com/empty', expression: '""' },
        { key: 'example.com/roles', expression: 'claims.roles' },
      ],
      claimRules: [{ expression: 'claims.level == 3', message: 'level' }],
      userRules: [
        { expression: "!user.username.startsWith('system:')", message: 'reserved' },
        {
          expression: "user.extra['example.com/team'] == ['x'] && user.groups.size() == 3",
          message: '',
        },
      ],
    }),
  ).toEqual({
    name: 'jane@example.com',
    uid: '3',
    groups: ['oidc:dev', 'oidc:', 'oidc:ops'],
    extra: {
      'authentication.kubernetes.io/credential-id': ['JTI=j-1'],
      'example.com/team': ['x'],
      'example.com/member': ['1'],
      'example.com/roles': ['dev', 'ops'],
    },
  });
});

test('a claim as UID', async () => {
  expect(await userOf({ uid: { claim: 'jti', prefix: '' } })).toMatchObject({ uid: 'j-1' });
});

test.each<[string, Partial<JwtSettings>, string]>([
  [
    'no text',
    { username: { expression: 'claims.level' } },
    'username claim expression must return a string',
  ],
  [
    'no name',
    { username: { expression: '""' } },
    'empty username via CEL expression is not allowed',
  ],
  [
    'a claim that is missing',
    { username: { expression: 'claims.missing' } },
    "error evaluating username claim expression: expression 'claims.missing' resulted in error: no such key: missing",
  ],
  [
    'groups of numbers',
    { groups: { expression: '[claims.level]' } },
    'must return a string or a list of strings',
  ],
  [
    'groups in a map',
    { groups: { expression: 'claims' } },
    'must return a string or a list of strings',
  ],
  [
    'a UID that is no text',
    { uid: { expression: 'claims.level' } },
    'uid claim expression must return a string',
  ],
  [
    'a rule about claims',
    { claimRules: [{ expression: 'claims.level > 3', message: 'too low' }] },
    "oidc: error evaluating claim validation expression: validation expression 'claims.level > 3' failed: too low",
  ],
  [
    'a rule about users',
    { userRules: [{ expression: "user.username == 'joe'", message: 'not joe' }] },
    "oidc: error evaluating user info validation rule: validation expression 'user.username == 'joe'' failed: not joe",
  ],
])('%s', async (_name, settings, message) => {
  await expect(userOf(settings)).rejects.toThrow(message);
});

test('inherited properties are no claims', async () => {
  await expect(userOf({ username: { expression: 'claims.constructor' } })).rejects.toThrow(
    'no such key',
  );
  expect(
    await userOf({ username: { expression: 'has(claims.toString) ? "x" : "y"' } }),
  ).toMatchObject({
    name: 'y',
  });
});

test('an expensive expression leaves turns to others', async () => {
  const state = { isDone: false };
  let turns = 0;
  const numbers = Array.from({ length: 300 }, (_, index) => index);
  const rule = { expression: 'claims.n.all(x, claims.n.all(y, x + y >= 0.0))', message: 'n' };
  const user = userOf({ claimRules: [rule] }, { ...CLAIMS, n: numbers }).finally(
    () => (state.isDone = true),
  );
  for (; !state.isDone; turns++) await nextTurn();
  expect(await user).toMatchObject({ name: 'jane' });
  expect(turns).toBeGreaterThan(5);
});

test('expressions that read a claim', () => {
  expect(readsClaim('claims.email', 'email')).toBe(true);
  expect(readsClaim('claims.?email.orValue("")', 'email')).toBe(true);
  expect(readsClaim('[claims.email].exists(x, x == "")', 'email')).toBe(true);
  expect(readsClaim('claims["email"] + claims.x.email', 'email')).toBe(false);
  expect(compileTokenExpression('claims.x', 'claims', true).problem).toBe('must evaluate to bool');
});
