import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer } from '#apiserver/testing/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { recordingLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type AuditFlags, auditOf } from './audit-flags.ts';

const POLICY = `
apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: None, users: ['system:apiserver']}, {level: Metadata}]
`;

let folder: string;
let policy: string;
const logger = recordingLogger();
const services = { clock: systemClock, logger, random: new SeededRandom(1) };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-flags-'));
  policy = join(folder, 'policy.yaml');
  await writeFile(policy, POLICY);
});
afterEach(() => rm(folder, { recursive: true }));

/** Starts a server with these flags, sends one request, and stops it. */
async function request(flags: AuditFlags): Promise<void> {
  const audit = await auditOf({ auditPolicyFile: policy, ...flags }, services);
  const t = await startTestServer({ audit: audit! });
  await send(t.server, { path: '/api/v1/nodes' });
  await t.stop();
}

test('requests are written to a file', async () => {
  const path = join(folder, 'audit.log');
  await request({ auditLogPath: path, auditLogMode: 'batch' });
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { stage: 'RequestReceived', requestURI: '/api/v1/nodes' },
    { stage: 'ResponseComplete', responseStatus: { code: 200 } },
  ]);
});

test('requests are sent to a webhook, with its credentials; what is waiting, when the server stops', async () => {
  const received: { readonly authorization: string | undefined; readonly body: unknown }[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      received.push({ authorization: incoming.headers.authorization, body });
      response.statusCode = received.length === 1 ? 503 : 200;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = join(folder, 'webhook.yaml');
  await writeFile(
    config,
    `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:${port}/audit?key=1'}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`,
  );
  await request({ auditWebhookConfigFile: config, auditWebhookInitialBackoff: 10 });
  server.close();
  expect(received).toHaveLength(2);
  expect(received[1]).toMatchObject({
    authorization: 'Bearer secret',
    body: {
      kind: 'EventList',
      items: [{ stage: 'RequestReceived' }, { stage: 'ResponseComplete' }],
    },
  });
});

test('without a policy or a backend there is no audit log', async () => {
  expect(await auditOf({}, services)).toBeUndefined();
  expect(await auditOf({ auditPolicyFile: policy }, services)).toBeUndefined();
});

test('fields of the policy that are unknown are named in the log', async () => {
  await writeFile(policy, POLICY.replace('level: Metadata', 'level: Metadata, user: [a]'));
  await auditOf({ auditPolicyFile: policy, auditLogPath: '-' }, services);
  expect(JSON.stringify(logger.records)).toContain('rules[1].user');
});

describe('flags that are rejected', () => {
  const log = { auditLogPath: '-' };
  const hook = { auditWebhookConfigFile: '/nowhere' };
  test.each<readonly [AuditFlags, string]>([
    [
      { ...log, auditPolicyFile: undefined },
      '--audit-log-path records nothing without --audit-policy-file',
    ],
    [{ auditPolicyFile: '/nowhere' }, '--audit-policy-file'],
    [{ ...log, auditLogMode: 'slow' }, '--audit-log-mode: invalid audit log mode slow'],
    [{ ...log, auditLogFormat: 'xml' }, '--audit-log-format: invalid audit log format xml'],
    [{ ...log, auditLogVersion: 'v2' }, '--audit-log-version: invalid group version'],
    [{ ...log, auditLogMaxsize: -1 }, "--audit-log-maxsize -1 can't be a negative number"],
    [
      { ...log, auditLogMode: 'batch', auditLogBatchMaxSize: 0 },
      '--audit-log-batch-max-size: invalid audit log max batch size 0, must be a positive number',
    ],
    [{ ...log, auditLogTruncateMaxEventSize: 0 }, '--audit-log-truncate-max-event-size'],
    [{ ...log, auditLogTruncateMaxBatchSize: 1 }, 'must be greater than max event size (102400)'],
    [{ ...hook, auditWebhookBatchThrottleQps: 0 }, '--audit-webhook-batch-throttle-qps'],
    [hook, '--audit-webhook-config-file'],
    [{ auditLogPath: '/dev/null/audit.log' }, '--audit-log-path'],
  ])('%j: %s', async (flags, message) => {
    const all = { auditPolicyFile: policy, ...flags };
    await expect(auditOf(all, services)).rejects.toThrow(message);
  });
});
