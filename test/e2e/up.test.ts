// `cox up` and `cox down` from a user's view.

import { createServer } from 'node:net';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  coxArgs,
  coxUp,
  existsSync,
  readFileSync,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

const simulated = ['--runtime', 'simulated', '--store', 'memory'];

describe('cox up', () => {
  let dir: ReturnType<typeof temporaryDir>;
  const running: RunningCluster[] = [];
  beforeEach(() => {
    dir = temporaryDir();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((cluster) => cluster.stop()));
    dir.remove();
  });
  const start = async (
    flags: readonly string[],
    options: { port?: number; env?: NodeJS.ProcessEnv } = {},
  ): Promise<RunningCluster> => {
    const cluster = await coxUp(flags, { dataDir: dir.path, ...options });
    running.push(cluster);
    return cluster;
  };
  const cox = (...args: string[]) => run(process.execPath, [...coxArgs, ...args]);

  test('reports when it is ready and what to do next; stops cleanly on SIGTERM with status 0', async () => {
    const cluster = await start(simulated);
    const lines = cluster.output.split('\n');
    expect(lines[0]).toMatch(/^cluster ready in \d+\.\d\d s$/);
    expect(cluster.output).toMatch(/API server +https:\/\/127\.0\.0\.1:\d+/);
    expect(cluster.output).toMatch(/runtime +simulated/);
    expect(cluster.output).toContain(`kubeconfig  ${join(dir.path, 'kubeconfig')}`);
    expect(cluster.output).toMatch(/next: .*kubectl get nodes/);
    expect(statSync(join(dir.path, 'kubeconfig')).mode & 0o777).toBe(0o600);
    expect(statSync(dir.path).mode & 0o077).toBe(0);
    running.splice(0);
    expect(await cluster.stop()).toBe(0);
    expect(existsSync(join(dir.path, 'cox.pid'))).toBe(false);
  });

  test('with --quiet prints that one line only', async () => {
    const cluster = await start([...simulated, '--quiet']);
    expect(cluster.output).toMatch(/^cluster ready in \d+\.\d\d s\n$/);
    expect(cluster.stderr()).toBe('');
  });

  test('refuses a data directory that another cluster runs on', async () => {
    const cluster = await start(simulated);
    const second = await cox('up', '--data-dir', dir.path, '--secure-port', '0', ...simulated);
    expect(second.status).toBe(1);
    expect(second.stderr).toContain(
      `cox: a cluster already runs on ${dir.path} (process ${cluster.process.pid})`,
    );
    expect(second.stderr).not.toContain('    at ');
  });

  test('reports a port that is in use', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as { port: number };
    try {
      const result = await cox(
        'up',
        '--data-dir',
        dir.path,
        '--secure-port',
        String(port),
        ...simulated,
      );
      expect(result.status).toBe(1);
      expect(result.stderr).toMatch(
        new RegExp(`cox: port ${port} on 127\\.0\\.0\\.1 is in use.*--secure-port`),
      );
      expect(result.stderr).not.toContain('    at ');
      expect(existsSync(join(dir.path, 'cox.pid'))).toBe(false);
    } finally {
      await new Promise((resolve) => blocker.close(resolve));
    }
  });

  test('--detach leaves it running, cox down stops it', async () => {
    const up = await cox(
      'up',
      '--data-dir',
      dir.path,
      '--secure-port',
      '0',
      '--detach',
      ...simulated,
    );
    expect(up.stderr).toBe('');
    expect(up.stdout).toMatch(/^cluster ready in /);
    const kubeconfig = parse(readFileSync(join(dir.path, 'kubeconfig'), 'utf8'));
    expect(kubeconfig['current-context']).toBe('coxswain');
    const down = await cox('down', '--data-dir', dir.path);
    expect(down).toMatchObject({ status: 0, stdout: `stopped; the data stays in ${dir.path}\n` });
    const again = await cox('down', '--data-dir', dir.path);
    expect(again.status).toBe(1);
    expect(again.stderr).toBe(`cox: no cluster runs on ${dir.path}\n`);
  });

  test("changes the user's own kubeconfig only with --merge-kubeconfig", async () => {
    const own = join(dir.path, 'own-config');
    writeFileSync(
      own,
      'apiVersion: v1\nkind: Config\nclusters: [{name: work, cluster: {server: ' +
        'https://work}}]\ncurrent-context: work\n',
    );
    const before = readFileSync(own, 'utf8');
    await (await start(simulated, { env: { KUBECONFIG: own } })).stop();
    running.splice(0);
    expect(readFileSync(own, 'utf8')).toBe(before);
    await start([...simulated, '--merge-kubeconfig'], { env: { KUBECONFIG: own } });
    const merged = parse(readFileSync(own, 'utf8'));
    expect(merged.clusters.map((entry: { name: string }) => entry.name)).toEqual([
      'work',
      'coxswain',
    ]);
    expect(merged['current-context']).toBe('coxswain');
  });

  test.each([
    [
      'an unknown runtime',
      ['--runtime', 'docker'],
      /Allowed choices are auto, containerd, process, simulated/,
    ],
    ['a port that is none', ['--secure-port', '99999'], /a port is a whole number from 0 to 65535/],
    ['an unknown flag', ['--frobnicate'], /unknown option '--frobnicate'/],
    ['a range that is none', ['--pod-cidr', 'banana'], /--pod-cidr/],
    ['a service range that is none', ['--service-cidr', '10.96.0.0/40'], /--service-cidr/],
    [
      'a scheduler configuration that is not there',
      ['--scheduler-config', '/nowhere.yaml'],
      /there is no file \/nowhere\.yaml/,
    ],
    [
      'a runtime that does not answer',
      ['--runtime', 'containerd', '--container-runtime-endpoint', 'unix:///nowhere.sock'],
      /nowhere\.sock/,
    ],
  ])('refuses %s with a clear message', async (_, flags, message) => {
    const result = await cox(
      'up',
      '--data-dir',
      dir.path,
      '--secure-port',
      '0',
      '--no-install',
      '--store',
      'memory',
      ...flags,
    );
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(message);
    expect(result.stderr).not.toContain('    at ');
  });

  test('--help shows examples', async () => {
    const result = await cox('up', '--help');
    expect(result.status).toBe(0);
    // In a checkout, the command has another name than in an installed package.
    expect(result.stdout).toMatch(/^ {2}\$ \S*cox(\.js)? up --runtime simulated --nodes 20/m);
  });
});
