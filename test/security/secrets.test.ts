// Secrets and tokens must not appear in the log, at any level, nor in the metrics.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '#machinery/log.ts';
import { type SecuredCluster, startSecuredCluster } from './cluster.ts';

const PLAIN = 'correct-horse-battery-staple';
const ENCODED = Buffer.from(PLAIN).toString('base64');

const lines: string[] = [];
let cluster: SecuredCluster;
let token: string;
beforeAll(async () => {
  const destination = { write: (line: string): number => lines.push(line) };
  cluster = await startSecuredCluster({ logger: createLogger({ level: 'debug', destination }) });
  token = await cluster.account('team', 'robot', ['edit']);
});
afterAll(() => cluster.stop());

const SECRETS = '/api/v1/namespaces/team/secrets';

test('secrets in requests and responses are neither logged nor counted', async () => {
  const json = { 'content-type': 'application/json' };
  const merge = { 'content-type': 'application/merge-patch+json' };
  const send = (
    method: string,
    path: string,
    body?: string | object,
    headers = json,
  ): Promise<unknown> =>
    cluster.request({ method, path, headers, token, ...(body !== undefined && { body }) });
  await send('POST', SECRETS, { metadata: { name: 's' }, stringData: { password: PLAIN } });
  await send('PUT', `${SECRETS}/s`, { metadata: { name: 's' }, data: { password: ENCODED } });
  await send('PATCH', `${SECRETS}/s`, { data: { other: ENCODED } }, merge);
  // Requests with the secret that fail: invalid names and types, wrong paths, bodies that are no
  // JSON.
  await send('POST', SECRETS, { metadata: { name: 'NOT VALID' }, stringData: { password: PLAIN } });
  await send('POST', SECRETS, {
    metadata: { name: 't' },
    stringData: { 'not/valid': PLAIN },
    unknown: PLAIN,
  });
  await send('POST', SECRETS, { metadata: { name: 't' }, data: { password: { nested: ENCODED } } });
  await send('POST', SECRETS, `{"metadata":{"name":"t"},"stringData":{"password":"${PLAIN}"`);
  await send('PATCH', `${SECRETS}/s`, { data: { password: [ENCODED] } }, merge);
  await send('GET', `${SECRETS}/s?access_token=${token}`);
  await send('GET', `/api/v1/namespaces/other/secrets/s`);
  await send('DELETE', `${SECRETS}/s`, { preconditions: { uid: PLAIN } });
  // A pod with the secret in its environment, which the kubelet reads.
  await send('POST', SECRETS, { metadata: { name: 'used' }, stringData: { password: PLAIN } });
  await send('POST', '/api/v1/namespaces/team/pods', {
    metadata: { name: 'p' },
    spec: {
      containers: [
        {
          name: 'c',
          image: 'busybox',
          env: [
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'used', key: 'password' } } },
          ],
          command: ['sh', '-c', 'sleep 3600'],
        },
      ],
    },
  });
  const { text: metrics } = await cluster.expect(200, { path: '/metrics' });

  expect(lines.length).toBeGreaterThan(0);
  const written = `${lines.join('')}${metrics}`;
  const needles = {
    plain: PLAIN,
    encoded: ENCODED,
    token,
    signature: token.split('.')[2] ?? '',
    key: cluster.adminCredentials.key,
  };
  expect(
    Object.entries(needles).flatMap(([name, needle]) => (written.includes(needle) ? [name] : [])),
  ).toEqual([]);
});
