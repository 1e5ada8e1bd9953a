import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { systemClock } from '#machinery/clock.ts';
import { startHarness, type Harness } from './testing/harness.ts';
import type { Pod } from './types.ts';

const isRunning = (pod: Pod): boolean => pod.status.phase === 'Running';
const main = { name: 'main', image: 'busybox:1.36', command: ['sleep', 'infinity'] };

describe('hooks and order', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await startHarness();
  });
  afterEach(async () => {
    await harness.stop();
  });

  test('a preStop hook runs before the container is stopped, within the grace', async () => {
    await harness.createPod('web', {
      terminationGracePeriodSeconds: 30,
      containers: [{ ...main, lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
    });
    await harness.waitForPod('web', isRunning);
    const begin = harness.clock.now();
    await harness.deletePod('web');
    await harness.waitForGone('web');
    expect(harness.clock.now() - begin).toBeGreaterThanOrEqual(5000);
    expect(harness.clock.now() - begin).toBeLessThan(6000);
  });

  test('a preStop hook that takes too long is aborted after the grace period', async () => {
    await harness.createPod('web', {
      terminationGracePeriodSeconds: 700,
      containers: [{ ...main, lifecycle: { preStop: { sleep: { seconds: 600 } } } }],
    });
    await harness.waitForPod('web', isRunning);
    const begin = harness.clock.now();
    await harness.deletePod('web', 4);
    await harness.waitForGone('web');
    expect(harness.clock.now() - begin).toBeLessThan(7000);
  });

  test('a failed postStart hook kills the container', async () => {
    await harness.createPod(
      'web',
      {
        terminationGracePeriodSeconds: 1,
        containers: [{ ...main, lifecycle: { postStart: { exec: { command: ['false'] } } } }],
      },
      { annotations: { 'simulation.coxswain.dev/exec-exit-code': '1' } },
    );
    await harness.waitForPod(
      'web',
      (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) >= 1,
    );
    await harness.clock.advance('1s');
    expect(await harness.eventsOf('web')).toEqual(
      expect.arrayContaining([
        'FailedPostStartHook: PostStartHook failed',
        'Killing: FailedPostStartHook',
      ]),
    );
  });

  test('a readiness probe sets Ready, and a startup probe delays it', async () => {
    await harness.createPod('web', {
      containers: [
        {
          ...main,
          startupProbe: { exec: { command: ['true'] }, initialDelaySeconds: 5, periodSeconds: 1 },
          readinessProbe: { exec: { command: ['true'] }, initialDelaySeconds: 8, periodSeconds: 1 },
        },
      ],
    });
    await harness.waitForPod('web', isRunning);
    const begin = harness.clock.now();
    const started = await harness.waitForPod(
      'web',
      (pod) => pod.status.containerStatuses?.[0]?.started === true,
    );
    expect(harness.clock.now() - begin).toBeGreaterThanOrEqual(4900);
    expect(started.status.containerStatuses?.[0]?.ready).toBe(false);
    await harness.waitForPod('web', (pod) => pod.status.containerStatuses?.[0]?.ready === true);
    expect(harness.clock.now() - begin).toBeGreaterThanOrEqual(7900);
  });

  test('the readiness of a pod is reported while its containers are being stopped', async () => {
    await harness.createPod('web', {
      terminationGracePeriodSeconds: 30,
      containers: [
        {
          ...main,
          lifecycle: { preStop: { sleep: { seconds: 20 } } },
          readinessProbe: { exec: { command: ['true'] }, initialDelaySeconds: 8, periodSeconds: 1 },
        },
      ],
    });
    await harness.waitForPod('web', isRunning);
    await harness.deletePod('web');
    const ready = await harness.waitForPod(
      'web',
      (pod) => pod.status.containerStatuses?.[0]?.ready === true,
    );
    expect(ready.metadata.deletionTimestamp).toBeDefined();
    await harness.waitForGone('web');
  });

  test('a sidecar starts before the containers and stops after them', async () => {
    await harness.createPod(
      'web',
      {
        initContainers: [{ ...main, name: 'proxy', restartPolicy: 'Always' }],
        terminationGracePeriodSeconds: 60,
      },
      { annotations: { 'simulation.coxswain.dev/stop-duration.main': '10s' } },
    );
    const running = await harness.waitForPod('web', isRunning);
    expect(running.status.initContainerStatuses?.[0]).toMatchObject({
      started: true,
      ready: true,
      state: { running: {} },
    });
    await harness.deletePod('web');
    await harness.clock.advance('5s');
    const states = async (): Promise<Readonly<Record<string, string>>> => {
      const list = await harness.runtime.runtime.listContainers();
      return Object.fromEntries(
        list.map((container) => [container.metadata?.name ?? '', container.state]),
      );
    };
    expect(await states()).toEqual({ main: 'CONTAINER_RUNNING', proxy: 'CONTAINER_RUNNING' });
    await harness.waitForGone('web');
  });

  test('a job with a sidecar ends when its containers have ended', async () => {
    await harness.createPod('job', {
      restartPolicy: 'Never',
      initContainers: [{ ...main, name: 'proxy', restartPolicy: 'Always' }],
      containers: [{ ...main, command: ['sh', '-c', 'sleep 3'] }],
    });
    const done = await harness.waitForPod('job', (pod) => pod.status.phase === 'Succeeded', '20s');
    expect(done.status.initContainerStatuses?.[0]?.state.terminated).toBeDefined();
  });

  test('a rule restarts all containers of the pod in its sandbox', async () => {
    const rule = {
      action: 'RestartAllContainers',
      exitCodes: { operator: 'In' as const, values: [42] },
    };
    await harness.createPod(
      'web',
      {
        restartPolicy: 'Never',
        initContainers: [
          { ...main, name: 'init', command: ['sh', '-c', 'exit 0'] },
          { ...main, name: 'proxy', restartPolicy: 'Always' },
        ],
        containers: [
          main,
          { ...main, name: 'source', restartPolicy: 'Never', restartPolicyRules: [rule] },
        ],
      },
      {
        annotations: {
          'simulation.coxswain.dev/run-duration.init': '1s',
          'simulation.coxswain.dev/run-duration.source': '20s',
          'simulation.coxswain.dev/exit-code.source': '42',
        },
      },
    );
    const before = await harness.waitForPod('web', isRunning);
    const counts = (pod: Pod): readonly number[] =>
      [...(pod.status.initContainerStatuses ?? []), ...(pod.status.containerStatuses ?? [])].map(
        ({ restartCount }) => restartCount,
      );
    const after = await harness.waitForPod(
      'web',
      (pod) =>
        counts(pod).every((count) => count === 1) &&
        (pod.status.containerStatuses ?? []).every(({ state }) => state.running !== undefined),
    );
    expect(after.status.podIP).toBe(before.status.podIP);
    expect(after.status.phase).toBe('Running');
    const terminated = after.status.containerStatuses?.[0]?.lastState.terminated;
    expect(terminated).toMatchObject({ exitCode: 137, reason: 'RestartingAllContainers' });
    expect(after.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'AllContainersRestarting', status: 'False' }) as object,
    );
  });

  test('an init container that ends at once restarts all containers, too', async () => {
    const rule = {
      action: 'RestartAllContainers',
      exitCodes: { operator: 'In' as const, values: [42] },
    };
    await harness.createPod(
      'web',
      {
        restartPolicy: 'Never',
        initContainers: [
          { ...main, name: 'init' },
          { ...main, name: 'source', restartPolicy: 'Never', restartPolicyRules: [rule] },
        ],
        containers: [main],
      },
      {
        annotations: {
          'simulation.coxswain.dev/run-duration.init': '1ms',
          'simulation.coxswain.dev/run-duration.source': '0s',
          'simulation.coxswain.dev/exit-code.source': '42',
        },
      },
    );
    const pod = await harness.waitForPod('web', ({ status }) =>
      (status.initContainerStatuses ?? []).some(({ restartCount }) => restartCount >= 2),
    );
    expect(pod.status.initContainerStatuses?.[0]?.lastState.terminated).toMatchObject({
      reason: 'RestartingAllContainers',
    });
  });

  test('a container that always ends at once restarts its pod once per second', async () => {
    const rule = {
      action: 'RestartAllContainers',
      exitCodes: { operator: 'In' as const, values: [42] },
    };
    await harness.createPod(
      'web',
      {
        restartPolicy: 'Never',
        containers: [
          main,
          { ...main, name: 'source', restartPolicyRules: [rule], restartPolicy: 'Never' },
        ],
      },
      {
        annotations: {
          'simulation.coxswain.dev/run-duration.source': '0s',
          'simulation.coxswain.dev/exit-code.source': '42',
        },
      },
    );
    await harness.clock.advance('60s');
    const pod = await harness.waitForPod('web', ({ status }) =>
      (status.containerStatuses ?? []).every(({ restartCount }) => restartCount >= 20),
    );
    for (const { restartCount } of pod.status.containerStatuses ?? [])
      expect(restartCount).toBeLessThanOrEqual(90);
  });

  test('a changed image restarts its container', async () => {
    await harness.createPod('web', { terminationGracePeriodSeconds: 1 });
    await harness.waitForPod('web', isRunning);
    await harness.client
      .resource(pods)
      .namespace('default')
      .patch('web', 'application/strategic-merge-patch+json', {
        spec: { containers: [{ name: 'main', image: 'busybox:1.37' }] },
      });
    const pod = await harness.waitForPod(
      'web',
      (candidate) => candidate.status.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(pod.status.containerStatuses?.[0]?.image).toContain('busybox:1.37');
    expect(pod.status.observedGeneration).toBe(2);
    await harness.clock.advance('1s');
    expect(await harness.eventsOf('web')).toContain(
      'Killing: Container main definition changed, will be restarted',
    );
  });

  test('a lost sandbox is created again, with its containers', async () => {
    await harness.createPod('web', { terminationGracePeriodSeconds: 1 });
    const before = await harness.waitForPod('web', isRunning);
    const [sandbox] = await harness.runtime.runtime.listPodSandbox();
    await harness.runtime.runtime.stopPodSandbox(sandbox?.id ?? '');
    const after = await harness.waitForPod(
      'web',
      (pod) => pod.status.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(after.status.podIP).not.toBe(before.status.podIP);
    await harness.clock.advance('1s');
    expect(await harness.eventsOf('web')).toContain(
      'SandboxChanged: Pod sandbox changed, it will be killed and re-created.',
    );
  });

  test('a new pod with the name of a deleted one is another pod', async () => {
    const first = await harness.createPod('web', { terminationGracePeriodSeconds: 1 });
    await harness.waitForPod('web', isRunning);
    await harness.deletePod('web', 0);
    const second = await harness.createPod('web', { terminationGracePeriodSeconds: 1 });
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    await harness.waitForPod('web', isRunning);
    await harness.clock.advance('10s');
    const sandboxes = await harness.runtime.runtime.listPodSandbox();
    expect(sandboxes.map((sandbox) => sandbox.metadata?.uid)).toEqual([second.metadata.uid]);
  });

  test('a status that another client changed is restored', async () => {
    await harness.createPod('web');
    await harness.waitForPod('web', isRunning);
    const inDefault = harness.client.resource(pods).namespace('default');
    await inDefault.patch(
      'web',
      'application/merge-patch+json',
      { status: { podIP: '6.6.6.6', containerStatuses: null } },
      { subresource: 'status' },
    );
    const pod = await harness.waitForPod(
      'web',
      (candidate) => candidate.status.podIP !== '6.6.6.6',
      '5s',
    );
    expect(pod.status.containerStatuses).toHaveLength(1);
  });

  test('an unresponsive runtime makes the node not ready, and pods continue when it responds', async () => {
    const { runtime } = harness.runtime;
    const status = runtime.status.bind(runtime);
    runtime.status = () => Promise.reject(new Error('connection refused'));
    const { nodes } = await import('#api/groups/core/v1/index.ts');
    const ready = async () =>
      (await harness.client.resource(nodes).get('node-1')).status.conditions?.find(
        ({ type }) => type === 'Ready',
      );
    await harness.clock.advance('15s');
    expect(await ready()).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'container runtime is down',
    });
    runtime.status = status;
    await harness.clock.advance('15s');
    expect(await ready()).toMatchObject({ status: 'True' });
  });
});

describe('files', () => {
  let root: string;
  let harness: Harness;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'kubelet-'));
    await mkdir(join(root, 'manifests'));
  });
  afterEach(async () => {
    await harness.stop();
    await rm(root, { recursive: true, force: true });
  });
  const start = async (): Promise<void> => {
    harness = await startHarness({
      hostFiles: true,
      rootDir: join(root, 'kubelet'),
      podLogsDir: join(root, 'logs'),
      staticPodPath: join(root, 'manifests'),
      // The disk of the machine may be nearly full.
      eviction: { hard: {} },
    });
  };
  /** Waits for file operations, which do not run on the virtual clock. */
  const eventually = async (condition: () => Promise<boolean>): Promise<void> => {
    const deadline = systemClock.monotonic() + 15_000;
    while (systemClock.monotonic() < deadline) {
      if (await condition()) return;
      await harness.clock.advance('20ms');
      // Awaits one operation of the thread pool, which runs file operations.
      await stat(root);
    }
    throw new Error('it did not come to be');
  };
  const phaseOf = async (name: string): Promise<string | undefined> =>
    (await harness.findPod(name))?.status.phase;

  test('volumes follow their config map, and are removed with the pod', async () => {
    await start();
    const maps = harness.client.resource(configMaps).namespace('default');
    await maps.create({ metadata: { name: 'colors' }, data: { sky: 'blue' } });
    const pod = await harness.createPod('web', {
      terminationGracePeriodSeconds: 1,
      containers: [{ ...main, volumeMounts: [{ name: 'colors', mountPath: '/colors' }] }],
      volumes: [{ name: 'colors', configMap: { name: 'colors' } }],
    });
    await eventually(async () => (await phaseOf('web')) === 'Running');
    const file = join(
      root,
      'kubelet/pods',
      pod.metadata.uid,
      'volumes/kubernetes.io~configmap/colors/sky',
    );
    expect(await readFile(file, 'utf8')).toBe('blue');
    expect(
      await readFile(join(root, 'kubelet/pods', pod.metadata.uid, 'etc-hosts'), 'utf8'),
    ).toContain('\tweb\n');
    await maps.patch('colors', 'application/merge-patch+json', { data: { sky: 'grey' } });
    await eventually(async () => (await readFile(file, 'utf8')) === 'grey');
    await harness.deletePod('web');
    await eventually(async () => (await harness.findPod('web')) === undefined);
    expect(await readdir(join(root, 'kubelet/pods'))).toEqual([]);
    await eventually(async () => (await readdir(join(root, 'logs'))).length === 0);
  });

  test('a missing config map delays the pod with an event, until it is created', async () => {
    await start();
    await harness.createPod('web', {
      containers: [{ ...main, volumeMounts: [{ name: 'colors', mountPath: '/colors' }] }],
      volumes: [{ name: 'colors', configMap: { name: 'colors' } }],
    });
    await eventually(async () => (await harness.eventsOf('web')).length > 0);
    expect((await harness.eventsOf('web'))[0]).toBe(
      'FailedMount: MountVolume.SetUp failed for volume "colors" : configmap "colors" not found',
    );
    expect((await harness.getPod('web')).status.containerStatuses?.[0]?.state.waiting?.reason).toBe(
      'ContainerCreating',
    );
    await harness.client
      .resource(configMaps)
      .create({ metadata: { name: 'colors', namespace: 'default' }, data: { sky: 'blue' } });
    await eventually(async () => (await phaseOf('web')) === 'Running');
  });

  test('directories of unknown pods are removed at the start', async () => {
    await mkdir(join(root, 'kubelet/pods/lost/volumes/kubernetes.io~empty-dir/data'), {
      recursive: true,
    });
    await mkdir(join(root, 'logs/default_lost_lost'), { recursive: true });
    await start();
    expect(await readdir(join(root, 'kubelet/pods'))).toEqual([]);
    expect(await readdir(join(root, 'logs'))).toEqual([]);
  });

  test('a static pod runs, has a mirror, follows its manifest, and is deleted with it', async () => {
    const manifest = (image: string): string =>
      'apiVersion: v1\nkind: Pod\nmetadata: {name: fixed}\nspec:\n' +
      `  terminationGracePeriodSeconds: 1\n  containers:\n  - {name: main, image: "${image}",` +
      ' command: [sleep, infinity]}\n';
    await writeFile(join(root, 'manifests/fixed.yaml'), manifest('busybox:1.36'));
    await writeFile(join(root, 'manifests/broken.yaml'), 'kind: Nothing');
    await start();
    await eventually(async () => (await phaseOf('fixed-node-1')) === 'Running');
    const mirror = await harness.getPod('fixed-node-1');
    expect(mirror.metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'file' });
    expect(mirror.spec.nodeName).toBe('node-1');
    expect(mirror.metadata.ownerReferences).toMatchObject([
      { kind: 'Node', name: 'node-1', controller: true },
    ]);
    const uids = async (): Promise<readonly string[]> =>
      (await harness.runtime.runtime.listPodSandbox()).map(
        (sandbox) => sandbox.metadata?.uid ?? '',
      );
    const before = await uids();
    expect(before).toHaveLength(1);
    await writeFile(join(root, 'manifests/fixed.yaml'), manifest('busybox:1.37'));
    await eventually(async () => (await uids()).length === 1 && (await uids())[0] !== before[0]);
    await eventually(async () => (await phaseOf('fixed-node-1')) === 'Running');
    // A deleted mirror is created again; the static pod itself is not deleted through the API.
    await harness.deletePod('fixed-node-1', 0);
    await eventually(async () => (await phaseOf('fixed-node-1')) === 'Running');
    await rm(join(root, 'manifests/fixed.yaml'));
    await eventually(
      async () =>
        (await uids()).length === 0 && (await harness.findPod('fixed-node-1')) === undefined,
    );
  });

  test('an unusable root directory is an error at the start', async () => {
    await writeFile(join(root, 'kubelet'), 'a file');
    await expect(start()).rejects.toThrow('EEXIST');
    // Replaces the harness: there is no kubelet to stop.
    await rm(join(root, 'kubelet'));
    await start();
    expect(
      apierrors.isNotFound(await harness.getPod('nobody').catch((error: unknown) => error)),
    ).toBe(true);
  });
});
