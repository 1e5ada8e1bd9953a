// Pods as host processes: no containerd and no isolation, but the same lifecycle.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  coxUp,
  eventually,
  type Kubectl,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { replicaSet } from './manifests.ts';

describe.skipIf(missingKubectl !== undefined)(named('host processes', missingKubectl), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  const start = async (): Promise<void> => {
    cluster = await coxUp(['--runtime', 'process'], { dataDir: dir.path });
    kubectl = cluster.kubectl();
  };
  beforeAll(async () => {
    dir = temporaryDir();
    await start();
  });
  afterAll(async () => {
    await kubectl?.try('delete rs,pods --all --timeout=60s');
    await cluster?.stop();
    dir.remove();
  });
  const marker = (): string => `marker-${dir.path.slice(-6)}`;
  let running = 0;
  /**
   * Returns the number of host processes of the ReplicaSet below, with those that supervise them.
   */
  const processes = async (): Promise<number> =>
    Number((await run('pgrep', ['-fc', marker()])).stdout.trim());

  test('reports that', () => {
    expect(cluster.output).toMatch(/runtime +host processes/);
  });

  test('a ReplicaSet of two runs, logs, takes commands, ends', async () => {
    await kubectl.run('apply -f -', {
      input: replicaSet('host', 2, {
        command: `echo started ${marker()}; trap "exit 0" TERM; while true; do sleep 0.2; done`,
      }),
    });
    await eventually(
      'two ready',
      async () => (await kubectl.run('get rs host -o jsonpath={.status.readyReplicas}')) === '2',
    );
    const [pod = ''] = (
      await kubectl.run('get pods -l app=host -o jsonpath={.items[*].metadata.name}')
    ).split(' ');
    expect(await kubectl.run(`logs ${pod}`)).toBe(`started ${marker()}\n`);
    expect((await kubectl.run(`exec ${pod} -- sh -c 'echo $POD_NAME'`)).trim()).toBe(pod);
    expect((await kubectl.try(`exec ${pod} -- sh -c 'exit 5'`)).status).toBe(5);
    running = await processes();
    expect(running).toBeGreaterThanOrEqual(2);
  });

  test('kill -9 of the cluster: the processes run on, and none is started twice', async () => {
    const ids = () =>
      kubectl.run(
        'get pods -l app=host -o jsonpath={.items[*].status.containerStatuses[*].containerID}',
      );
    const before = await ids();
    await cluster.kill();
    expect(await processes()).toBe(running);
    await start();
    await eventually(
      'two ready',
      async () => (await kubectl.run('get rs host -o jsonpath={.status.readyReplicas}')) === '2',
    );
    await eventually('the node to be ready', async () =>
      (await kubectl.run('get nodes --no-headers')).includes(' Ready '),
    );
    expect(await ids()).toBe(before);
    expect(await processes()).toBe(running);
    await kubectl.run('delete rs host --cascade=foreground --timeout=60s');
    await eventually('no processes', async () => (await processes()) === 0);
  });

  test('a service at a node port', async () => {
    const server = `require('http').createServer((_, response) => response.end('served')).listen(38_088)`;
    await kubectl.run('apply -f -', {
      input: JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: 'web', labels: { app: 'web' } },
            spec: {
              terminationGracePeriodSeconds: 1,
              containers: [
                { name: 'web', image: 'host', command: [process.execPath, '-e', server] },
              ],
            },
          },
          {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: { name: 'web' },
            spec: {
              type: 'NodePort',
              selector: { app: 'web' },
              ports: [{ port: 80, targetPort: 38_088, nodePort: 30_188 }],
            },
          },
        ],
      }),
    });
    const answer = (): Promise<string> =>
      fetch('http://127.0.0.1:30188/').then((response) => response.text());
    expect(await eventually('an answer', answer)).toBe('served');
    await kubectl.run('delete pod,service web --timeout=60s');
    await eventually('the port to be closed', () =>
      answer().then(
        () => false,
        () => true,
      ),
    );
  });

  test('a command that is not on the host', async () => {
    await kubectl.run('run nothing --image=busybox --restart=Never --command -- /no/such/program');
    await eventually('the reason', async () =>
      /ContainerCannotRun|StartError|CreateContainerError|RunContainerError|Error/.test(
        await kubectl.run('get pod nothing --no-headers'),
      ),
    );
    expect(await kubectl.run('describe pod nothing')).toMatch(
      /Warning +Failed .*\/no\/such\/program/,
    );
    await kubectl.run('delete pod nothing');
  });
});
