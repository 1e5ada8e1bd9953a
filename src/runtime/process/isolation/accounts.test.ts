import { expect, test } from 'vitest';
import type { ContainerConfig } from '#cri/index.ts';
import { resolveAccount } from './accounts.ts';

const files = {
  passwd: 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\nbroken:x:a:b\n',
  group: 'root:x:0:\nusers:x:100:app\nextra:x:5000:app,other\nbroken\n',
};
type Context = NonNullable<NonNullable<ContainerConfig['linux']>['securityContext']>;
const resolve = (context: Context, imageUser = '') =>
  resolveAccount({ linux: { securityContext: context } }, imageUser, files);

test('without any user it is root', () => {
  expect(resolve({})).toEqual({ uid: 0, gid: 0, groups: [0], home: '/root' });
});

test('the groups of the image are merged unless the policy is strict', () => {
  const runAsUser = { value: 1000 };
  expect(resolve({ runAsUser, supplementalGroups: [7] })).toMatchObject({
    gid: 1001,
    groups: [7, 100, 1001, 5000],
    home: '/home/app',
  });
  expect(
    resolve({ runAsUser, supplementalGroups: [7], supplementalGroupsPolicy: 'Strict' }).groups,
  ).toEqual([7, 1001]);
});

test('the security context comes before the user of the image', () => {
  expect(resolve({}, 'app:users')).toMatchObject({ uid: 1000, gid: 100 });
  expect(resolve({ runAsUsername: 'root' }, 'app:users')).toMatchObject({ uid: 0, gid: 0 });
  expect(resolve({ runAsUser: { value: 5 } }, 'app:users')).toMatchObject({ uid: 5, gid: 0 });
  expect(resolve({ runAsUser: { value: 5 }, runAsGroup: { value: 6 } })).toMatchObject({ gid: 6 });
});

test.each<[string, Context, string]>([
  ['user group is specified without user', { runAsGroup: { value: 3 } }, ''],
  ['no users found', { runAsUsername: 'no-such-user' }, ''],
  ['no users found', {}, 'missing'],
  ['no groups found', {}, 'app:missing'],
  ['no users found', { runAsUser: { value: -1 } }, ''],
  ['not the ID of a user', { supplementalGroups: [2 ** 40] }, ''],
])('%s', (message, context, imageUser) => {
  expect(() => resolve(context, imageUser)).toThrow(message);
});
