// Controllers, scheduler and nodes beside `cox apiserver`.

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { nodes, pods } from '#api/groups/core/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { createHttpTransport } from '#client/http/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import {
  type ApiServerRoleConfig,
  type RunningApiServer,
  startApiServerRole,
} from './api-server.ts';

let dir: string;
let server: RunningApiServer | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-inner-'));
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(dir, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  writeFileSync(join(dir, 'tokens.csv'), 'secret,admin,1,system:masters\n');
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  rmSync(dir, { recursive: true, force: true });
});

const start = async (flags: Partial<ApiServerRoleConfig>): Promise<RunningApiServer> => {
  server = await startApiServerRole({
    store: 'memory',
    etcd: { servers: [] },
    certDir: dir,
    tokenAuthFile: join(dir, 'tokens.csv'),
    bindAddress: '127.0.0.1',
    securePort: 0,
    serviceClusterIpRange: '10.0.0.0/24',
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...flags,
  });
  return server;
};

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'web' }] },
};

test('with controllers and nodes, the pods of a Deployment run', async () => {
  const { url } = await start({ withControllers: ['*'], withNodes: 2 });
  const transport = createHttpTransport({
    clock: systemClock,
    server: url,
    insecureSkipTlsVerify: true,
    token: 'secret',
  });
  const client = createClient(transport);
  try {
    await wait.poll(
      { clock: systemClock, intervalMs: 20, timeoutMs: 30_000 },
      async () => (await client.resource(nodes).list()).items.length === 2,
    );
    const inDefault = client.resource(deployments).namespace('default');
    const spec = { replicas: 2, selector: { matchLabels: { app: 'web' } }, template };
    await inDefault.create({ metadata: { name: 'web' }, spec });
    await wait.poll(
      { clock: systemClock, intervalMs: 20, timeoutMs: 30_000 },
      async () => (await inDefault.get('web')).status?.readyReplicas === 2,
    );
    const { items } = await client.resource(pods).namespace('default').list();
    // The API server reaches the kubelet of the pod's node.
    const path = `/api/v1/namespaces/default/pods/${items[0]?.metadata.name ?? ''}/log`;
    await expect(transport.text({ method: 'GET', path })).resolves.toEqual(expect.any(String));
  } finally {
    transport.close();
  }
});

test('on etcd they are rejected, and the error names the commands that run there', async () => {
  const flags = { store: 'etcd', etcd: { servers: ['http://127.0.0.1:1'] }, withNodes: 1 } as const;
  await expect(start(flags)).rejects.toThrow(
    /need --store memory: on etcd, `cox controller-manager`/,
  );
});

test('a controller that does not exist is rejected', async () => {
  await expect(start({ withControllers: ['nonsense'] })).rejects.toThrow(
    /--controllers: .*nonsense/,
  );
});
