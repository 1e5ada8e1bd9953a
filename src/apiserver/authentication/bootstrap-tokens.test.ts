import { expect, test } from 'vitest';
import { secrets } from '#api/groups/core/v1/index.ts';
import { send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const TOKEN = 'abcdef.0123456789abcdef';

const t = serverPerTest({ bootstrapTokens: true });

const data = {
  'token-id': 'abcdef',
  'token-secret': '0123456789abcdef',
  'usage-bootstrap-authentication': 'true',
};

/** Stores a token with other values than those of `data`. */
async function store(values: Readonly<Record<string, string>> = {}, type = TYPE): Promise<void> {
  await t.client
    .resource(secrets)
    .namespace('kube-system')
    .create({
      metadata: { name: 'bootstrap-token-abcdef' },
      type,
      stringData: { ...data, ...values },
    });
}
const TYPE = 'bootstrap.kubernetes.io/token';

interface Review {
  readonly authenticated?: boolean;
  readonly user?: { readonly username?: string; readonly groups?: readonly string[] };
}

async function review(token: string, audiences?: readonly string[]): Promise<Review> {
  const { status } = await t.client.transport.request<{ readonly status: Review }>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audiences !== undefined && { audiences }) },
    },
  });
  return status;
}

test('a token authenticates a user of its own, with its groups', async () => {
  await store({ 'auth-extra-groups': 'system:bootstrappers:workers,system:bootstrappers:a' });
  expect(await review(TOKEN)).toMatchObject({
    authenticated: true,
    user: {
      username: 'system:bootstrap:abcdef',
      groups: expect.arrayContaining([
        'system:bootstrappers',
        'system:bootstrappers:a',
        'system:bootstrappers:workers',
      ]) as unknown,
    },
  });
  expect((await review(TOKEN, ['another-service'])).authenticated).not.toBe(true);
});

test('a wrong secret, another form, and a token that does not exist', async () => {
  await store();
  for (const token of [
    'abcdef.0123456789abcdee',
    'abcdef.0123456789abcde',
    'ABCDEF.0123456789abcdef',
    'ghijkl.0123456789abcdef',
    'abcdef',
  ])
    expect((await review(token)).authenticated, token).not.toBe(true);
});

test.each([
  ['it is for signing only', { 'usage-bootstrap-authentication': 'false' }, TYPE],
  ['it has the ID of another token', { 'token-id': 'ghijkl' }, TYPE],
  ['a group is none of bootstrappers', { 'auth-extra-groups': 'system:masters' }, TYPE],
  ['its expiration cannot be parsed', { expiration: 'tomorrow' }, TYPE],
  ['the Secret has another type', {}, 'Opaque'],
])('a token does not authenticate if %s', async (_, values, type) => {
  await store(values, type);
  expect((await review(TOKEN)).authenticated).not.toBe(true);
});

test('a token expires', async () => {
  await store({ expiration: new Date(t.clock.now() + 60_000).toISOString() });
  expect((await review(TOKEN)).authenticated).toBe(true);
  await t.clock.advance('1m');
  expect((await review(TOKEN)).authenticated).not.toBe(true);
});

test('what new nodes read first needs no token', async () => {
  const code = async (name: string): Promise<number> =>
    (
      await send(t.server, {
        path: `/api/v1/namespaces/kube-public/configmaps/${name}`,
        user: null,
      })
    ).code;
  // There is no role for it yet.
  expect([await code('cluster-info'), await code('other')]).toEqual([403, 401]);
});
