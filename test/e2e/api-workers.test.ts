// Workers of the API server through kubectl: every connection goes to a worker. And what is left
// when the main process is killed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { onlyWorkersAccept } from '#cluster/api-workers/testing/only-workers.ts';
import { ADMIN_USER, Cluster } from '#cluster/cluster.ts';
import { writeKubeconfig } from '#cluster/kubeconfig.ts';
import { Pki } from '#cluster/pki.ts';
import { simulatedNode } from '#cluster/simulated-machine.ts';
import { systemClock as clock } from '#machinery/clock.ts';
import { silentLogger as logger } from '#machinery/log.ts';
import { systemRandom as random } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import {
  coxUp,
  eventually,
  Kubectl,
  kubectls,
  missingKubectl,
  named,
  temporaryDir,
} from './harness.ts';

const metrics = async (cluster: Cluster): Promise<string> =>
  cluster.client.transport.text({ method: 'GET', path: '/metrics' });

describe.skipIf(missingKubectl !== undefined)(named('kubectl at workers', missingKubectl), () => {
  const directory = temporaryDir();
  let cluster: Cluster;
  let kubectl: Kubectl;

  beforeAll(async () => {
    const pki = await Pki.open({ clock, random });
    cluster = await Cluster.start({
      clock,
      random,
      logger,
      storage: createMemoryStorage({ clock, logger }),
      pki,
      listen: { bindAddress: '127.0.0.1', port: 0 },
      nodes: [
        simulatedNode(
          { name: 'node-1', podCidrs: ['10.244.1.0/24'] },
          { clock, random, journal: undefined },
        ),
      ],
      podCidrs: ['10.244.0.0/16'],
      serviceCidr: '10.96.0.0/16',
      apiWorkers: { min: 1, max: 1, logging: { level: 'error' } },
    });
    await eventually(async () =>
      (await metrics(cluster)).includes('\ncoxswain_api_server_workers 1\n'),
    );
    const url = cluster.url as string;
    onlyWorkersAccept(Number(new URL(url).port));
    const { cert, key } = await pki.certificate('admin', {
      commonName: ADMIN_USER.name,
      organizations: ADMIN_USER.groups,
      usage: 'client',
    });
    const path = join(directory.path, 'kubeconfig');
    writeKubeconfig(path, {
      name: 'workers',
      server: url,
      caCertificate: pki.caCertificate,
      clientCertificate: cert,
      clientKey: key,
    });
    kubectl = new Kubectl(kubectls()[0]?.path ?? 'kubectl', path, directory.path);
  });
  afterAll(async () => {
    await cluster?.stop();
    directory.remove();
  });

  test('create, watch, logs, exec, port-forward and delete', async () => {
    await kubectl.run(
      `run sh --image=busybox --command -- sh -c 'for i in $(seq 1 3); do echo line $i; done; sleep infinity'`,
    );
    await kubectl.run('wait --for=condition=Ready pod/sh --timeout=120s');
    expect(await kubectl.run('logs sh')).toBe('line 1\nline 2\nline 3\n');
    expect(
      await kubectl.run(`exec -i sh -- sh -c 'read x; echo got $x'`, { input: 'hello\n' }),
    ).toBe('got hello\n');
    await kubectl.run('create deployment web --image=nginx --replicas=3');
    await kubectl.run('rollout status deployment/web --timeout=120s');
    const forward = kubectl.spawn('port-forward pod/sh :80');
    let printed = '';
    forward.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')));
    await eventually(() => Promise.resolve(/Forwarding from 127\.0\.0\.1:\d+/.test(printed)));
    forward.kill();
    await kubectl.run('delete pod/sh deployment/web --timeout=120s');
    expect(await kubectl.run('get pods -o name')).toBe('');
  });
});

test('workers end when the main process is killed, and free its port', async () => {
  const directory = temporaryDir();
  const flags = ['--runtime', 'simulated', '--store', 'memory', '--console', 'false'];
  const workers = ['--api-server-workers', '2', '--api-server-workers-min', '2'];
  const cluster = await coxUp([...flags, ...workers], { dataDir: join(directory.path, 'data') });
  const main = cluster.process.pid as number;
  const pidsOf = (): number[] =>
    readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ').map(Number);
  await eventually(() => Promise.resolve(pidsOf().filter((pid) => pid > 0).length >= 2));
  const pids = pidsOf();
  await cluster.kill();
  await eventually(() => Promise.resolve(pids.every((pid) => !isAlive(pid))));
  directory.remove();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
