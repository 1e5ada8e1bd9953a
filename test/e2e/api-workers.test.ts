// `cox up` with workers, which serve the API beside the main process: kubectl finds no difference,
// and nothing of them is left when the main process is killed.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';

/** Returns the processes of workers whose main process is this one. */
function workersOf(parent: number): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'latin1');
      const isWorker = command.includes('api-worker') && state !== 'Z';
      return isWorker && Number(ppid) === parent ? [Number(name)] : [];
    } catch {
      // The process has ended meanwhile.
      return [];
    }
  });
}

describe.skipIf(missingKubectl !== undefined)(named('workers', missingKubectl), () => {
  const directory = temporaryDir();
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  const workers = (): readonly number[] => workersOf(cluster.process.pid!);

  beforeAll(async () => {
    cluster = await coxUp(
      ['--runtime=simulated', '--nodes=2', '--api-server-workers=2', '--api-server-workers-min=2'],
      { dataDir: join(directory.path, 'data') },
    );
    kubectl = cluster.kubectl();
    await eventually('two workers', () => Promise.resolve(workers().length === 2));
  });
  afterAll(async () => {
    await cluster?.stop();
    directory.remove();
  });

  test('each kubectl reads what another has written, whichever process serves it', async () => {
    await kubectl.run('create deployment web --image=nginx --replicas=2');
    for (let n = 0; n < 12; n++) {
      await kubectl.run(`annotate deployment/web count=${n} --overwrite`);
      const count = `get deployment web -o jsonpath={.metadata.annotations.count}`;
      expect(await kubectl.run(count)).toBe(String(n));
    }
    await kubectl.run('rollout status deployment/web --timeout=60s');
  });

  test('logs and exec reach nodes of the main process', async () => {
    await kubectl.run(`run sh --image=busybox --command -- sh -c 'echo line; sleep infinity'`);
    await kubectl.run('wait --for=condition=Ready pod/sh --timeout=60s');
    for (let n = 0; n < 6; n++) {
      expect(await kubectl.run('logs sh')).toBe('line\n');
      expect(await kubectl.run('exec sh -- echo hello')).toBe('hello\n');
    }
  });

  test('a worker that is killed is replaced; all end with the main process', async () => {
    const before = workers();
    const [killed, kept] = before as [number, number];
    process.kill(killed, 'SIGKILL');
    const all = await eventually('another worker', () => {
      const now = workers();
      const isReplaced = now.some((pid) => !before.includes(pid)) && !now.includes(killed);
      return Promise.resolve(isReplaced && now.length === 2 && now);
    });
    expect(all).toContain(kept);
    await kubectl.run('get nodes');
    await cluster.kill();
    const lives = (pid: number): boolean => {
      try {
        return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
      } catch {
        return false;
      }
    };
    await expect.poll(() => all.filter(lives)).toEqual([]);
  });
});
