import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { secrets, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { LocalKeyring } from '#apiserver/authentication/token-keyring.ts';
import { TokenVerifier } from '#apiserver/authentication/token-verifier.ts';
import { LegacyServiceAccountTokens } from '#apiserver/authentication/legacy-service-account-tokens.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { legacyTokenSigner, TokensController } from './index.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const text = (data: string | undefined) => Buffer.from(data ?? '', 'base64').toString('utf8');
const secret = (account: string) => ({
  metadata: {
    name: 'token',
    namespace: 'default',
    annotations: { 'kubernetes.io/service-account.name': account },
  },
  type: 'kubernetes.io/service-account-token' as const,
});

describe('tokens in secrets', () => {
  let cluster: TestCluster;
  let authenticator: LegacyServiceAccountTokens;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run(
      (config) =>
        new TokensController({ ...config, rootCa: 'PEM', sign: legacyTokenSigner(signingKey) }),
    );
    const find = (async (_group: string, resource: string, namespace: string, name: string) => {
      const named = ({ metadata }: { readonly metadata: { readonly name: string } }) =>
        metadata.name === name;
      if (resource === 'secrets')
        return (await cluster.client.resource(secrets).namespace(namespace).list()).items.find(
          named,
        );
      return (
        await cluster.client.resource(serviceAccounts).namespace(namespace).list()
      ).items.find(named);
    }) as Find;
    authenticator = new LegacyServiceAccountTokens({
      clock: cluster.clock,
      find,
      verifier: new TokenVerifier(new LocalKeyring(signingKey)),
      audiences: ['api'],
    });
  });
  afterEach(() => cluster.stop());

  const client = () => cluster.client.resource(secrets).namespace('default');
  const accounts = () => cluster.client.resource(serviceAccounts).namespace('default');
  const create = async (account = 'default') => {
    await client().create(secret(account));
    await cluster.clock.settle();
  };

  test('are created on request, name their account, and are valid as long as their secret exists', async () => {
    await create();
    const { data, metadata } = await client().get('token');
    const account = await accounts().get('default');
    expect([text(data?.['ca.crt']), text(data?.['namespace'])]).toEqual(['PEM', 'default']);
    expect(metadata.annotations?.['kubernetes.io/service-account.uid']).toBe(account.metadata.uid);
    const token = text(data?.['token']);
    expect(await authenticator.authenticateToken(token, [])).toEqual({
      user: {
        name: 'system:serviceaccount:default:default',
        uid: account.metadata.uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default'],
      },
      audiences: [],
    });
    expect(await authenticator.authenticateToken(token, ['other-audience'])).toBeUndefined();
    expect(await authenticator.authenticateToken(`${token.slice(0, -4)}AAAA`, [])).toBeUndefined();
    await client().delete('token');
    expect(await authenticator.authenticateToken(token, [])).toBeUndefined();
  });

  test('are deleted with their account, and do not belong to a new account with its name', async () => {
    await accounts().create({ metadata: { name: 'builder' } });
    await create('builder');
    const token = text((await client().get('token')).data?.['token']);
    await accounts().delete('builder');
    await accounts().create({ metadata: { name: 'builder' } });
    await cluster.clock.settle();
    expect((await client().list()).items).toEqual([]);
    expect(await authenticator.authenticateToken(token, [])).toBeUndefined();
  });

  test('without an account are deleted; an account does not name a deleted secret', async () => {
    await create('nobody');
    expect((await client().list()).items).toEqual([]);
    await accounts().create({
      metadata: { name: 'builder' },
      secrets: [{ name: 'token' }, { name: 'other' }],
    });
    await create('builder');
    await client().delete('token');
    await cluster.clock.settle();
    expect((await accounts().get('builder')).secrets).toEqual([{ name: 'other' }]);
  });
});

test('secrets and accounts reach the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config) => new TokensController({ ...config, sign: () => 'token' }),
    steps: [
      async ({ client }) => {
        await client
          .resource(serviceAccounts)
          .create({ metadata: { name: 'builder', namespace: 'default' } });
        await client.resource(secrets).create(secret('builder'));
        await client.resource(secrets).create({
          ...secret('default'),
          metadata: { ...secret('default').metadata, name: 'kept' },
        });
      },
      async ({ client }) =>
        void (await client.resource(serviceAccounts).namespace('default').delete('builder')),
    ],
    outcome: [secrets, serviceAccounts],
    rest: '1m',
  });
  expect(outcome).toHaveLength(2);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
