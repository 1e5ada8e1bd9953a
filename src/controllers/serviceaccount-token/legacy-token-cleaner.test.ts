import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { configMaps, pods, secrets, serviceAccounts } from '#api/groups/core/v1/index.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { send } from '#apiserver/testing/requests.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { LegacyTokenCleaner, legacyTokenSigner } from './index.ts';

const HOUR_MS = 3_600_000;
/** A clean-up period of one hour instead of a year, with two passes per period. */
const soon = { cleanUpPeriodMs: HOUR_MS, lookPeriodMs: HOUR_MS / 2 };
const LAST_USED = 'kubernetes.io/legacy-token-last-used';
const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since';
const TRACKING = 'kube-apiserver-legacy-service-account-token-tracking';
const type = 'kubernetes.io/service-account-token';
const annotations = { 'kubernetes.io/service-account.name': 'default' };

const inDefault = ({ client }: TestCluster) => client.resource(secrets).namespace('default');
const namesOf = async (cluster: TestCluster) =>
  (await inDefault(cluster).list()).items.map(({ metadata: { name, labels } }) =>
    labels?.[INVALID_SINCE] === undefined ? name : `${name} (not taken)`,
  );
/** Creates a Secret. `given`: it was generated for the account. */
async function setUp(
  cluster: TestCluster,
  made: Record<string, { given: boolean; lastUsed?: string }>,
): Promise<void> {
  for (const [name, { lastUsed }] of Object.entries(made)) {
    const labels = lastUsed === undefined ? {} : { [LAST_USED]: lastUsed };
    await inDefault(cluster).create({ metadata: { name, annotations, labels }, type });
  }
  const given = Object.entries(made).flatMap(([name, each]) => (each.given ? [{ name }] : []));
  await cluster.client
    .resource(serviceAccounts)
    .namespace('default')
    .patch('default', 'application/merge-patch+json', { secrets: given });
  await cluster.client
    .resource(configMaps)
    .namespace('kube-system')
    .create({ metadata: { name: TRACKING }, data: { since: '2025-12-31' } });
}

test('generated tokens that no pod mounts or uses are first invalidated, then deleted', async () => {
  const cluster = await startTestCluster();
  await setUp(cluster, {
    asked: { given: false },
    mounted: { given: true },
    unused: { given: true },
    'used-long-ago': { given: true, lastUsed: '2025-06-01' },
    used: { given: true, lastUsed: '2026-01-02' },
  });
  await cluster.client.resource(pods).create({
    metadata: { name: 'p', namespace: 'default' },
    spec: {
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', secret: { secretName: 'mounted' } }],
    },
  });
  await cluster.run((config) => new LegacyTokenCleaner({ ...config, ...soon }));
  await cluster.clock.advance('50m');
  expect(await namesOf(cluster)).toEqual(['asked', 'mounted', 'unused', 'used', 'used-long-ago']);
  await cluster.clock.advance('45m');
  // The day on which the tokens were invalidated is more than an hour ago at the next pass.
  expect(await namesOf(cluster)).toEqual([
    'asked',
    'mounted',
    'unused (not taken)',
    'used',
    'used-long-ago (not taken)',
  ]);
  await cluster.clock.advance('1h');
  expect(await namesOf(cluster)).toEqual(['asked', 'mounted', 'used']);
  await cluster.stop();
});

test('without a known start of use tracking, nothing is changed', async () => {
  const cluster = await startTestCluster();
  await setUp(cluster, { unused: { given: true } });
  await cluster.client.resource(configMaps).namespace('kube-system').delete(TRACKING);
  await cluster.run((config) => new LegacyTokenCleaner({ ...config, ...soon }));
  await cluster.clock.advance('3h');
  expect(await namesOf(cluster)).toEqual(['unused']);
  await cluster.stop();
});

test('reaches the same outcome after every fault', async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new LegacyTokenCleaner({ ...config, ...soon }),
    steps: [(cluster) => setUp(cluster, { asked: { given: false }, unused: { given: true } })],
    outcome: [secrets],
    rest: '2h',
  });
  expect(writes).toBe(2);
  expect(outcome).toHaveLength(1);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});

test('the API server records uses once a day, publishes since when, and rejects invalidated tokens', async () => {
  const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
  const clock = new VirtualClock();
  const t = await startTestServer({ clock, serviceAccounts: { signingKey } });
  const inSystem = t.client.resource(configMaps).namespace('kube-system');
  expect((await inSystem.get(TRACKING)).data).toEqual({ since: '2026-01-01' });
  const account = await t.client
    .resource(serviceAccounts)
    .create({ metadata: { name: 'default', namespace: 'default' } });
  const { name, uid } = account.metadata;
  const token = legacyTokenSigner(signingKey)({
    namespace: 'default',
    secret: 'token',
    serviceAccount: { name, uid },
  });
  const data = { token: Buffer.from(token).toString('base64') };
  const mine = t.client.resource(secrets).namespace('default');
  await mine.create({ metadata: { name: 'token', annotations }, type, data });
  const ask = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const { code } = await send(t.server, { path: '/api', headers, user: null });
    await clock.settle();
    return code;
  };
  const labels = async () => (await mine.get('token')).metadata.labels;
  expect([await ask(), await labels()]).toEqual([200, { [LAST_USED]: '2026-01-01' }]);
  const { resourceVersion } = (await mine.get('token')).metadata;
  await ask();
  expect((await mine.get('token')).metadata.resourceVersion).toBe(resourceVersion);
  await clock.advance('24h');
  expect([await ask(), await labels()]).toEqual([200, { [LAST_USED]: '2026-01-02' }]);
  await mine.patch('token', 'application/merge-patch+json', {
    metadata: { labels: { [INVALID_SINCE]: '2026-01-02' } },
  });
  expect(await ask()).toBe(401);
  await t.stop();
});
