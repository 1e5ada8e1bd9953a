// Real containers: a ReplicaSet of busybox on a private containerd, with the real kubectl.

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import {
  coxUp,
  eventually,
  existsSync,
  readFileSync,
  type Kubectl,
  kubectls,
  missingContainerd,
  missingKubectl,
  named,
  run,
  type RunningCluster,
  temporaryDir,
} from './harness.ts';
import { replicaSet } from './manifests.ts';
import { importBusybox } from './images.ts';

const missing = missingKubectl ?? missingContainerd;

describe.skipIf(missing !== undefined)(named('containerd', missing), () => {
  let dir: ReturnType<typeof temporaryDir>;
  let cluster: RunningCluster;
  let kubectl: Kubectl;
  const versions = kubectls();
  const oldest = versions[0]?.path ?? '';
  const newest = versions.at(-1)?.path ?? '';
  const start = async (): Promise<void> => {
    cluster = await coxUp(['--runtime', 'containerd'], { dataDir: dir.path });
    kubectl = cluster.kubectl(newest);
  };
  /** Returns the pods' network namespaces, with those of other clusters on this machine. */
  const networks = async (): Promise<string[]> =>
    (await run('ip', ['netns', 'list'])).stdout.match(/^cni-\S+/gm) ?? [];
  let networksBefore: string[] = [];
  beforeAll(async () => {
    dir = temporaryDir();
    networksBefore = await networks();
    await start();
    await importBusybox(dir.path);
  });
  afterAll(async () => {
    await kubectl?.try('delete rs,pods --all --grace-period=0 --force --timeout=60s');
    await eventually('all sandboxes to be gone', async () => (await tasks()) === 0).catch(
      () => undefined,
    );
    await cluster?.stop();
    dir.remove();
  });

  const serverUrl = (): string =>
    /server: (\S+)/.exec(readFileSync(cluster.kubeconfig, 'utf8'))?.[1] ?? '';
  const ctr = (args: string) =>
    run('ctr', [
      '-a',
      join(dir.path, 'containerd', 'containerd.sock'),
      '-n',
      'k8s.io',
      ...args.split(' '),
    ]);
  /** Returns the number of processes that containerd runs. */
  async function tasks(): Promise<number> {
    const { stdout } = await ctr('tasks ls -q');
    return stdout.split('\n').filter((line) => line !== '').length;
  }
  const apply = (yaml: string) => kubectl.run('apply -f -', { input: yaml });
  const podsOf = async (app: string): Promise<string[]> =>
    (await kubectl.run(`get pods -l app=${app} -o jsonpath={.items[*].metadata.name}`))
      .split(' ')
      .filter((name) => name !== '')
      .sort();
  const ready = (app: string, count: number) =>
    eventually(
      `${count} ready pods of ${app}`,
      async () =>
        (await kubectl.run(`get rs ${app} -o jsonpath={.status.readyReplicas}`)) === String(count),
    );
  const phase = (pod: string, wanted: string) =>
    eventually(
      `${pod} ${wanted}`,
      async () => (await kubectl.run(`get pod ${pod} -o jsonpath={.status.phase}`)) === wanted,
    );

  test('a ReplicaSet of two runs', async () => {
    expect(await apply(replicaSet('replicatest', 2))).toBe('replicaset.apps/replicatest created\n');
    await ready('replicatest', 2);
    const pods = JSON.parse(await kubectl.run('get pods -l app=replicatest -o json')).items;
    for (const pod of pods) {
      expect(pod.status.podIP).toMatch(/^10\.244\.0\.\d+$/);
      expect(pod.status.containerStatuses[0]).toMatchObject({
        ready: true,
        started: true,
        restartCount: 0,
        image: expect.stringContaining('busybox'),
      });
      expect(pod.status.containerStatuses[0].containerID).toMatch(/^containerd:\/\/[0-9a-f]{64}$/);
      expect(
        pod.status.conditions
          .map(
            (condition: { type: string; status: string }) =>
              `${condition.type}=${condition.status}`,
          )
          .sort(),
      ).toEqual([
        'ContainersReady=True',
        'Initialized=True',
        'PodReadyToStartContainers=True',
        'PodScheduled=True',
        'Ready=True',
      ]);
    }
    expect(await kubectl.run('get nodes -o wide')).toMatch(/containerd:\/\/1\./);
  });

  test('logs: all, the last lines, following, with times', async () => {
    const [pod] = await podsOf('replicatest');
    await eventually('some lines', async () =>
      (await kubectl.run(`logs ${pod}`)).includes('line 2\n'),
    );
    expect(await kubectl.run(`logs ${pod}`)).toMatch(/^line 0\nline 1\nline 2\n/);
    expect(await kubectl.run(`logs ${pod} --tail=1`)).toMatch(/^line \d+\n$/);
    expect(await kubectl.run(`logs ${pod} --timestamps --tail=1`)).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z line \d+\n$/,
    );
    expect((await kubectl.run(`logs ${pod} --limit-bytes=3`)).length).toBe(3);
    expect(await kubectl.run(`logs -l app=replicatest --tail=1 --prefix`)).toMatch(
      /^\[pod\/replicatest-\w{5}\/busybox\] line \d+\n/,
    );
    const follow = kubectl.spawn(`logs -f ${pod} --tail=1`);
    let followed = '';
    follow.stdout?.on('data', (chunk: Buffer) => (followed += chunk.toString()));
    await eventually('three followed lines', async () => followed.split('\n').length > 3);
    follow.kill();
    expect((await kubectl.try(`logs ${pod} -c nope`)).stderr).toMatch(
      /container nope is not valid for pod/,
    );
    expect((await kubectl.try(`logs ${pod} --previous`)).stderr).toMatch(
      /previous terminated container "busybox" in pod ".*" not found/,
    );
  });

  test.each([
    ['oldest', () => oldest],
    ['newest', () => newest],
  ])('exec with the %s kubectl: output, exit code, stdin, terminal', async (_, path) => {
    const cli = cluster.kubectl(path());
    const [pod] = await podsOf('replicatest');
    expect((await cli.run(`exec ${pod} -- sh -c 'echo $POD_NAME'`)).trim()).toBe(pod);
    const failed = await cli.try(`exec ${pod} -- sh -c 'echo out; echo err >&2; exit 7'`);
    expect(failed).toMatchObject({ status: 7, stdout: 'out\n' });
    expect(failed.stderr).toMatch(/^err\n/);
    expect(await cli.run(`exec -i ${pod} -- cat`, { input: 'over and back\n' })).toBe(
      'over and back\n',
    );
    const large = 'x'.repeat(200_000);
    expect((await cli.run(`exec -i ${pod} -- wc -c`, { input: large })).trim()).toBe('200000');
    // `script` gives kubectl a terminal of its own.
    const terminal = await run(
      'script',
      ['-qec', `${cli.path} exec -it ${pod} -- sh -c 'tty; stty size; exit 3'`, '/dev/null'],
      {
        env: cli.env,
      },
    );
    expect(terminal.stdout).toMatch(/\/dev\/pts\/\d+/);
    expect(terminal.status).toBe(3);
    expect((await cli.try(`exec ${pod} -- /nowhere`)).status).not.toBe(0);
  });

  test('volumes, environment, limits, init containers', async () => {
    await kubectl.run('create configmap settings --from-literal=colour=red');
    await kubectl.run('create secret generic hidden --from-literal=password=sesame');
    const onHost = join(dir.path, 'on-host');
    mkdirSync(onHost);
    writeFileSync(join(onHost, 'hello'), 'from the host\n');
    await apply(`apiVersion: v1
kind: Pod
metadata: { name: volumes, labels: { app: volumes } }
spec:
  restartPolicy: Never
  initContainers:
    - { name: first, image: busybox, imagePullPolicy: IfNotPresent, command: [sh, -c, 'echo \
prepared > /scratch/note'], volumeMounts: [{ name: scratch, mountPath: /scratch }] }
  containers:
    - name: main
      image: busybox
      imagePullPolicy: IfNotPresent
      command: [sh, -c, 'cat /scratch/note /host/hello /config/colour; echo; cat /secret/password; \
echo; echo $COLOUR $PASSWORD $NODE $CPU; hostname; cat /labels/labels; echo; grep volumes \
/etc/hosts | wc -l; until [ -f /scratch/go ]; do sleep 0.1; done; echo bye > /dev/termination-log']
      resources: { limits: { memory: 64Mi, cpu: 500m } }
      env:
        - { name: COLOUR, valueFrom: { configMapKeyRef: { name: settings, key: colour } } }
        - { name: PASSWORD, valueFrom: { secretKeyRef: { name: hidden, key: password } } }
        - { name: NODE, valueFrom: { fieldRef: { fieldPath: spec.nodeName } } }
        - { name: CPU, valueFrom: { resourceFieldRef: { resource: limits.cpu, divisor: 1m } } }
      volumeMounts:
        - { name: scratch, mountPath: /scratch }
        - { name: host, mountPath: /host, readOnly: true }
        - { name: config, mountPath: /config }
        - { name: secret, mountPath: /secret }
        - { name: labels, mountPath: /labels }
  volumes:
    - { name: scratch, emptyDir: {} }
    - { name: host, hostPath: { path: ${onHost}, type: Directory } }
    - { name: config, configMap: { name: settings } }
    - { name: secret, secret: { secretName: hidden, defaultMode: 0400 } }
    - { name: labels, downwardAPI: { items: [{ path: labels, fieldRef: { fieldPath: metadata.labels } }] } }
`);
    await phase('volumes', 'Running');
    const node = await kubectl.run('get nodes -o jsonpath={.items[0].metadata.name}');
    const lines = [
      'prepared',
      'from the host',
      'red',
      'sesame',
      `red sesame ${node} 500`,
      'volumes',
      'app="volumes"',
      '1',
      '',
    ];
    await eventually(
      'all lines',
      async () => (await kubectl.run('logs volumes -c main')) === lines.join('\n'),
    );
    const uid = await kubectl.run('get pod volumes -o jsonpath={.metadata.uid}');
    const directory = join(dir.path, 'kubelet', 'pods', uid);
    expect(readdirSync(join(directory, 'volumes')).sort()).toEqual([
      'kubernetes.io~configmap',
      'kubernetes.io~downward-api',
      'kubernetes.io~empty-dir',
      'kubernetes.io~projected',
      'kubernetes.io~secret',
    ]);
    // The API server accepts the token of the account.
    const token = await kubectl.run(
      'exec volumes -- cat /var/run/secrets/kubernetes.io/serviceaccount/token',
    );
    expect(
      await kubectl.run(
        `auth whoami --kubeconfig /dev/null --server ${serverUrl()} ` +
          `--insecure-skip-tls-verify --token ${token} -o jsonpath={.status.userInfo.username}`,
      ),
    ).toBe('system:serviceaccount:default:default');
    expect(
      await kubectl.run(
        'exec volumes -- cat /var/run/secrets/kubernetes.io/serviceaccount/namespace',
      ),
    ).toBe('default');
    await kubectl.run('exec volumes -- touch /scratch/go');
    await phase('volumes', 'Succeeded');
    const pod = JSON.parse(await kubectl.run('get pod volumes -o json'));
    expect(pod.status.containerStatuses[0].state.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
      message: 'bye\n',
    });
    expect(pod.status.initContainerStatuses[0].state.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
    });
    // The init container has no limits.
    expect(pod.status.qosClass).toBe('Burstable');
    await kubectl.run('delete pod volumes');
    await eventually('its directory to be gone', async () => !existsSync(directory));
  });

  test('a failing container is restarted with back-off; its last log can be read', async () => {
    await apply(replicaSet('failing', 1, { command: 'echo about to fail; exit 4' }));
    await eventually('a back-off', async () =>
      (await kubectl.run('get pods -l app=failing --no-headers')).includes('CrashLoopBackOff'),
    );
    const [name] = await podsOf('failing');
    const status = JSON.parse(await kubectl.run(`get pod ${name} -o json`)).status
      .containerStatuses[0];
    expect(status.lastState.terminated).toMatchObject({ exitCode: 4, reason: 'Error' });
    expect(status.restartCount).toBeGreaterThan(0);
    expect(await kubectl.run(`logs ${name} --previous`)).toBe('about to fail\n');
    expect(await kubectl.run(`describe pod ${name}`)).toMatch(
      /Warning +BackOff .* Back-off restarting failed container busybox in pod failing-/,
    );
    await kubectl.run('delete rs failing');
  });

  test('an image that does not exist', async () => {
    await kubectl.run('run noimage --image=registry.invalid/nothing:1 --restart=Never');
    await eventually('the reason', async () =>
      /ErrImagePull|ImagePullBackOff/.test(await kubectl.run('get pod noimage --no-headers')),
    );
    expect(await kubectl.run('describe pod noimage')).toMatch(
      /Warning +Failed .* Failed to pull image "registry\.invalid\/nothing:1"/,
    );
    await kubectl.run('delete pod noimage');
  });

  test('deleted pods become Terminating at once, and are gone when their grace period ends', async () => {
    // A shell that ignores SIGTERM uses its whole grace period.
    await apply(
      replicaSet('stubborn', 2, {
        grace: 8,
        command: 'trap "" TERM; while true; do sleep 1; done',
      }),
    );
    await ready('stubborn', 2);
    const started = systemClock.monotonic();
    await kubectl.run('delete rs stubborn --wait=false');
    await eventually(
      'both Terminating',
      async () =>
        (await kubectl.run('get pods -l app=stubborn --no-headers')).split('Terminating').length ===
        3,
      7500,
    );
    await eventually('both gone', async () => (await podsOf('stubborn')).length === 0, 60_000);
    const took = systemClock.monotonic() - started;
    expect(took).toBeGreaterThan(7000);
    expect(took).toBeLessThan(60_000);
  });

  test('kill -9 of the whole process changes no object or container, and no container starts twice', async () => {
    const before = JSON.parse(await kubectl.run('get pods -l app=replicatest -o json')).items;
    const ids = (
      items: {
        metadata: { uid: string };
        status: { containerStatuses: { containerID: string; restartCount: number }[] };
      }[],
    ) =>
      items
        .map((pod) =>
          [
            pod.metadata.uid,
            ...pod.status.containerStatuses.map(
              (status) => `${status.containerID} ${status.restartCount}`,
            ),
          ].join(' '),
        )
        .sort();
    const running = await tasks();
    await cluster.kill();
    await start();
    await ready('replicatest', 2);
    const [pod] = await podsOf('replicatest');
    await eventually('the node to be ready', async () =>
      (await kubectl.run('get nodes --no-headers')).includes(' Ready '),
    );
    expect(await kubectl.run(`logs ${pod} --tail=1`)).toMatch(/^line \d+\n/);
    expect(await kubectl.run(`exec ${pod} -- echo here`)).toBe('here\n');
    expect(ids(JSON.parse(await kubectl.run('get pods -l app=replicatest -o json')).items)).toEqual(
      ids(before),
    );
    expect(await tasks()).toBe(running);
  });

  test('containerd dies: it is started again, and the containers keep running', async () => {
    const before = await kubectl.run(
      'get pods -l app=replicatest -o jsonpath={.items[*].status.containerStatuses[*].containerID}',
    );
    const { pid } = JSON.parse(
      readFileSync(join(dir.path, 'containerd', 'containerd.json'), 'utf8'),
    );
    process.kill(pid, 'SIGKILL');
    await eventually(
      'another containerd',
      async () =>
        JSON.parse(readFileSync(join(dir.path, 'containerd', 'containerd.json'), 'utf8')).pid !==
        pid,
    );
    await apply(replicaSet('afterwards', 1));
    await ready('afterwards', 1);
    await kubectl.run('delete rs afterwards');
    await ready('replicatest', 2);
    expect(
      await kubectl.run(
        'get pods -l app=replicatest -o jsonpath={.items[*].status.containerStatuses[*].containerID}',
      ),
    ).toBe(before);
  });

  test('a clean stop leaves the containers to the next start', async () => {
    const before = (
      await kubectl.run(
        'get pods -l app=replicatest -o jsonpath={.items[*].status.containerStatuses[*].containerID}',
      )
    )
      .split(' ')
      .sort();
    expect(await cluster.stop()).toBe(0);
    await start();
    await ready('replicatest', 2);
    expect(
      (
        await kubectl.run(
          'get pods -l app=replicatest -o jsonpath={.items[*].status.containerStatuses[*].containerID}',
        )
      )
        .split(' ')
        .sort(),
    ).toEqual(before);
  });

  test('after the last pod no container, network or directory is left', async () => {
    await kubectl.run('delete rs replicatest');
    await eventually('no pods', async () => (await kubectl.run('get pods -o name')) === '');
    await eventually('no tasks', async () => (await tasks()) === 0);
    await eventually(
      'no containers',
      async () => (await ctr('containers ls -q')).stdout.trim() === '',
    );
    await eventually(
      'no pod directories',
      async () => readdirSync(join(dir.path, 'kubelet', 'pods')).length === 0,
    );
    await eventually(
      'no network namespaces',
      async () => JSON.stringify(await networks()) === JSON.stringify(networksBefore),
    );
  });
});
