import { compactVerify, decodeProtectedHeader } from 'jose';
import { expect, test } from 'vitest';
import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { BootstrapSigner } from './index.ts';

const encode = (text: string): string => Buffer.from(text).toString('base64');
const addToken = (
  { client, clock }: TestCluster,
  id: string,
  lastsMs?: number,
  more: Record<string, string> = {},
) => {
  const values = {
    'token-id': id,
    'token-secret': `${id}-secret-of-16`,
    'usage-bootstrap-signing': 'true',
    ...more,
  };
  const expiration =
    lastsMs === undefined ? {} : { expiration: new Date(clock.now() + lastsMs).toISOString() };
  const data = Object.fromEntries(
    Object.entries({ ...values, ...expiration }).map(([key, value]) => [key, encode(value)]),
  );
  const metadata = { name: `bootstrap-token-${id}`, namespace: 'kube-system' };
  return client.resource(secrets).create({ metadata, type: 'bootstrap.kubernetes.io/token', data });
};
const inPublic = ({ client }: TestCluster) => client.resource(configMaps).namespace('kube-public');
const publish = (cluster: TestCluster, kubeconfig: string) =>
  inPublic(cluster).create({
    metadata: { name: 'cluster-info' },
    data: { kubeconfig, other: 'kept' },
  });
const signatures = async (cluster: TestCluster) =>
  Object.keys((await inPublic(cluster).get('cluster-info')).data ?? {}).filter((key) =>
    key.startsWith('jws-'),
  );

test('the public kubeconfig is signed with every valid signing token', async () => {
  const cluster = await startTestCluster();
  await cluster.run((config) => new BootstrapSigner(config));
  await addToken(cluster, 'aaaaaa');
  await addToken(cluster, 'bbbbbb', 60_000);
  await addToken(cluster, 'cccccc', undefined, { 'usage-bootstrap-signing': 'false' });
  await addToken(cluster, 'dddddd', undefined, { 'token-id': 'eeeeee' });
  await publish(cluster, 'clusters: []');
  await cluster.clock.settle();
  expect(await signatures(cluster)).toEqual(['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb']);
  const { data = {} } = await inPublic(cluster).get('cluster-info');
  expect(data['other']).toBe('kept');
  const [header, none, signature] = (data['jws-kubeconfig-aaaaaa'] ?? '').split('.');
  expect(none).toBe('');
  const whole = `${header ?? ''}.${Buffer.from('clusters: []').toString('base64url')}.${signature ?? ''}`;
  expect(decodeProtectedHeader(whole)).toEqual({ alg: 'HS256', kid: 'aaaaaa' });
  const verify = (secret: string) => compactVerify(whole, new TextEncoder().encode(secret));
  expect(new TextDecoder().decode((await verify('aaaaaa-secret-of-16')).payload)).toBe(
    'clusters: []',
  );
  await expect(verify('another-secret-of-16')).rejects.toThrow('signature verification failed');
  // The second token has expired, even if its Secret still exists.
  await cluster.clock.advance('61s');
  expect(await signatures(cluster)).toEqual(['jws-kubeconfig-aaaaaa']);
  await inPublic(cluster).patch('cluster-info', 'application/merge-patch+json', {
    data: { kubeconfig: 'other' },
  });
  await cluster.clock.settle();
  const signed = (await inPublic(cluster).get('cluster-info')).data?.['jws-kubeconfig-aaaaaa'];
  expect(signed).not.toBe(data['jws-kubeconfig-aaaaaa']);
  await cluster.client.resource(secrets).namespace('kube-system').delete('bootstrap-token-aaaaaa');
  await cluster.clock.settle();
  expect(await signatures(cluster)).toEqual([]);
  await cluster.stop();
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new BootstrapSigner(config),
    steps: [
      async (cluster) => void (await publish(cluster, 'clusters: []')),
      async (cluster) => {
        await addToken(cluster, 'aaaaaa', 100_000);
        await addToken(cluster, 'bbbbbb');
      },
    ],
    outcome: [configMaps],
    rest: '1m',
  });
  expect(writes).toBeGreaterThanOrEqual(2);
  expect(JSON.stringify(outcome)).toContain('jws-kubeconfig-bbbbbb');
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
