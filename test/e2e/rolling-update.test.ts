// `cox rolling-update` as a user types it, against a cluster of another process.

import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { replicationControllers } from '#api/groups/core/v1/index.ts';
import { connect, type Connection } from '#client/connect.ts';
import { waitFor } from '#client/wait-for.ts';
import {
  coxArgs,
  coxUp,
  run,
  type RunningCluster,
  type RunResult,
  temporaryDir,
  writeManifest,
} from './harness.ts';

const TIMES = ['--update-period=100ms', '--poll-interval=100ms', '--timeout=30s'];

const manifest = (name: string, image: string): string => `
apiVersion: v1
kind: ReplicationController
metadata: { name: ${name} }
spec:
  replicas: 2
  selector: { app: web, version: ${name} }
  template:
    metadata: { labels: { app: web, version: ${name} } }
    spec: { containers: [{ name: c, image: "${image}" }] }
`;

describe('cox rolling-update', () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let connection: Connection;
  const cox = (...args: readonly string[]): Promise<RunResult> =>
    run(process.execPath, [...coxArgs, 'rolling-update', ...args], {
      env: { KUBECONFIG: cluster.kubeconfig },
    });
  const image = async (name: string): Promise<string | undefined> => {
    const resource = connection.client.resource(replicationControllers).namespace('default');
    return (await resource.get(name)).spec.template?.spec.containers[0]?.image;
  };

  beforeAll(async () => {
    dir = temporaryDir();
    cluster = await coxUp(['--runtime', 'simulated', '--store', 'memory'], { dataDir: dir.path });
    connection = await connect({ kubeconfig: cluster.kubeconfig });
  });
  afterAll(async () => {
    connection?.close();
    await cluster?.stop();
    dir.remove();
  });

  test('replaces a controller from a file, by an image, and keeps the name', async () => {
    const resource = connection.client.resource(replicationControllers).namespace('default');
    await resource.create({
      metadata: { name: 'v1' },
      spec: {
        replicas: 2,
        selector: { app: 'web', version: 'v1' },
        template: {
          metadata: { labels: { app: 'web', version: 'v1' } },
          spec: { containers: [{ name: 'c', image: 'nginx:1' }] },
        },
      },
    });
    await waitFor(resource, 'v1', ({ status }) => status.readyReplicas === 2);
    const file = writeManifest(dir.path, 'v2.yaml', manifest('v2', 'nginx:2'));
    const first = await cox('v1', '-f', file, ...TIMES);
    expect(first.stderr).toBe('');
    expect(first.stdout).toMatch(/^Created v2\nScaling up v2 from 0 to 2/);
    expect(first.stdout).toMatch(
      /Update succeeded\. Deleting v1\nreplicationcontroller\/v2 rolling updated to "v2"\n$/,
    );
    expect(first.status).toBe(0);
    const second = await cox('v2', '--image=nginx:3', ...TIMES);
    expect(second.stdout).toMatch(/\nreplicationcontroller\/v2 rolling updated\n$/);
    expect(await image('v2')).toBe('nginx:3');
  });

  test('goes on after it was killed', async () => {
    const flags = ['v2', 'v3', '--image=nginx:4', '--update-period=1h'];
    const child = spawn(process.execPath, [...coxArgs, 'rolling-update', ...flags], {
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const resource = connection.client.resource(replicationControllers).namespace('default');
    await waitFor(resource, 'v3', ({ spec }) => spec.replicas === 1);
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.kill('SIGINT');
    expect(await exit).toBe(1);
    expect(stderr).toBe('cox: interrupted; the same command goes on where it stopped\n');
    const again = await cox('v2', 'v3', '--image=nginx:4', ...TIMES);
    expect(again.stdout).toMatch(/^Found existing update in progress \(v3\), resuming\.\n/);
    expect(again.status).toBe(0);
    expect(await image('v3')).toBe('nginx:4');
  });

  test('recreates pods', async () => {
    const { stdout, status } = await cox('v3', '--recreate', ...TIMES);
    expect(stdout).toMatch(
      /^Deleting pod v3-\w+\nDeleting pod v3-\w+\nreplicationcontroller\/v3 recreated\n$/,
    );
    expect(status).toBe(0);
  });

  test('says in one line what is wrong', async () => {
    const cases: [string[], string | RegExp][] = [
      [
        ['none', '--image=x'],
        /couldn't find a replication controller with source id == default\/none/,
      ],
      [
        ['none', 'new', '--image=x'],
        'Error from server (NotFound): replicationcontrollers "none" not found',
      ],
      [['v3'], 'Must specify --filename or --image for new controller'],
      [['v3', '-f', '/none.yaml'], /ENOENT.*\/none\.yaml/],
      [['v3', '--recreate', '--rollback'], '--recreate takes one controller'],
      [['v3', '--container=c', '--rollback'], '--container needs --image'],
      [['v3', '--image=x', '--timeout=soon'], 'a duration is such as 15s or 1m30s'],
      [[], "missing required argument 'old'"],
    ];
    for (const [args, message] of cases) {
      const { stderr, status } = await cox(...args);
      expect([status, stderr.split('\n').length]).toEqual([1, 2]);
      if (typeof message === 'string') expect(stderr).toContain(message);
      else expect(stderr).toMatch(message);
    }
  });
});
