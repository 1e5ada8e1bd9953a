import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Claim, criConformance } from '#cri/conformance.ts';
import type { Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { createContainerdRuntime } from '../containerd/create.ts';
import { createProcessRuntime } from '../process/create.ts';
import { hasStats } from '../process/stats.ts';
import { type CriServer, serveCri } from './index.ts';

const waitFor = (condition: wait.Condition): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 20, timeoutMs: 60_000 }, condition);
const needs = (has: boolean, what: string): Claim => has || what;

interface Served {
  readonly client: Runtime;
  readonly server: CriServer;
  dispose(): Promise<void>;
}

/** Serves a process runtime, and connects to it as to any other CRI runtime. */
async function serve(): Promise<Served> {
  const dir = mkdtempSync(join(tmpdir(), 'cri-server-'));
  const runtime = createProcessRuntime({ stateDir: join(dir, 'state') });
  const endpoint = join(dir, 'cri.sock');
  const common = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const server = await serveCri({ runtime, endpoint, ...common });
  const client = createContainerdRuntime({ endpoint });
  return {
    client,
    server,
    async dispose() {
      await client.close();
      await server.close();
      await runtime.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

criConformance(
  'process over CRI',
  async () => {
    const { client, dispose } = await serve();
    return {
      runtime: client,
      image: 'busybox',
      waitFor,
      images: { pullable: 'registry.example/team/app:v1' },
      dispose,
    };
  },
  {
    podNetwork: 'pods have the address of the host',
    realProcesses: true,
    stdin: true,
    tty: 'tested without CRI',
    attach: true,
    mounts: 'a process sees the files of the host where they are',
    users: 'tested without CRI',
    portForward: 'the suite needs a pod network for it',
    stats: needs(hasStats(), 'there is no /proc here'),
    updateResources: 'nothing limits what a process uses',
    events: 'over a socket, events begin a moment after the call',
    restart: 'tested without CRI',
    pull: 'images are only names',
    removeImage: true,
  },
);

describe('the CRI server', () => {
  let served: Served;
  beforeEach(async () => {
    served = await serve();
  });
  afterEach(() => served.dispose());

  const sandboxConfig = {
    metadata: { name: 'pod', namespace: 'default', uid: 'u', attempt: 0 },
  };

  async function startContainer(...command: string[]): Promise<string> {
    const { runtime } = served.client;
    const sandbox = await runtime.runPodSandbox(sandboxConfig);
    const config = { metadata: { name: 'c', attempt: 0 }, image: { image: 'busybox' }, command };
    await served.client.images.pullImage({ image: 'busybox' });
    const id = await runtime.createContainer(sandbox, config, sandboxConfig);
    await runtime.startContainer(id);
    return id;
  }

  test('errors have the reasons of the contract', async () => {
    const { runtime } = served.client;
    await expect(runtime.containerStatus('missing')).rejects.toMatchObject({ reason: 'NotFound' });
    await expect(runtime.createContainer('missing', {}, {})).rejects.toMatchObject({
      reason: 'NotFound',
    });
    await runtime.runPodSandbox(sandboxConfig);
    await expect(runtime.runPodSandbox(sandboxConfig)).rejects.toMatchObject({
      reason: 'AlreadyExists',
    });
  });

  test('streams connect over HTTP', async () => {
    const { runtime } = served.client;
    const id = await startContainer('sleep', '60');
    const stdout = new PassThrough();
    const { exitCode } = await runtime.exec(
      id,
      { command: ['sh', '-c', 'echo hello; exit 3'], stdout: true },
      { stdout },
    );
    expect(exitCode).toBe(3);
    expect(String(await stdout.toArray())).toBe('hello\n');
    await runtime.stopContainer(id, 0);
  });
});
