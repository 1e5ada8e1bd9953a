import { describe, expect, test } from 'vitest';
import { criConformance } from '#cri/conformance.ts';
import { complete } from '#cri/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { entryPoint } from './entry-points.ts';
import { createSimulatedRuntime } from './runtime.ts';

criConformance(
  'simulated',
  async () => {
    const clock = new VirtualClock();
    const runtime = createSimulatedRuntime({ clock, random: new SeededRandom(1) });
    return {
      runtime,
      image: 'busybox',
      waitFor: (condition) => clock.runUntil(condition, '10m'),
      stubborn: {
        command: ['sleep', '3600'],
        annotations: { 'simulation.coxswain.dev/stop-duration': '1h' },
      },
      images: {
        pullable: 'registry.example/team/app:v1',
        missing: { image: 'registry.example/team/app:does-not-exist' },
      },
      dispose: () => runtime.close(),
    };
  },
  {
    podNetwork: true,
    realProcesses: 'commands are only looked at, not run',
    stdin: true,
    tty: 'there are no terminals',
    attach: true,
    mounts: 'there are no files',
    users: 'there are no users',
    portForward: 'simulated pods do not listen',
    stats: true,
    updateResources: true,
    events: true,
    restart: 'pods are only in memory',
    pull: true,
    removeImage: true,
  },
);

describe('simulation annotations', () => {
  const clock = new VirtualClock();
  const { runtime, images } = createSimulatedRuntime({ clock, podCidr: '10.1.2.0/30' });
  let uid = 0;

  async function start(annotations: Record<string, string>, name = 'main'): Promise<string> {
    const config = {
      metadata: { name: 'p', namespace: 'n', uid: `u${++uid}` },
      annotations,
      linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    const pod = await runtime.runPodSandbox(config);
    const id = await runtime.createContainer(
      pod,
      { metadata: { name }, image: { image: 'app' } },
      config,
    );
    void runtime.startContainer(id).catch(() => undefined);
    await clock.settle();
    return id;
  }
  const status = async (
    id: string,
  ): Promise<{
    state: string;
    exitCode: number;
    message: string;
    startedAt: number;
    finishedAt: number;
  }> => (await runtime.containerStatus(id)).status!;

  test('run-duration and exit-code end a container; a container’s own value takes precedence', async () => {
    const annotations = {
      'simulation.coxswain.dev/run-duration': '10s',
      'simulation.coxswain.dev/exit-code': '3',
      'simulation.coxswain.dev/exit-code.other': '4',
    };
    const [main, other] = [await start(annotations), await start(annotations, 'other')];
    await clock.advance('9s');
    expect((await status(main)).state).toBe('CONTAINER_RUNNING');
    await clock.advance('1s');
    expect(await status(main)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 3 });
    expect(await status(other)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 4 });
    expect((await status(main)).finishedAt - (await status(main)).startedAt).toBe(10e9);
  });

  test('start-delay and start-error', async () => {
    const slow = await start({ 'simulation.coxswain.dev/start-delay': '5s' });
    expect((await status(slow)).state).toBe('CONTAINER_CREATED');
    await clock.advance('5s');
    expect((await status(slow)).state).toBe('CONTAINER_RUNNING');
    const broken = await start({ 'simulation.coxswain.dev/start-error': 'exec: not found' });
    expect(await status(broken)).toMatchObject({
      state: 'CONTAINER_EXITED',
      exitCode: 128,
      message: 'exec: not found',
    });
  });

  test('stop-duration delays the end, up to the grace period', async () => {
    const id = await start({ 'simulation.coxswain.dev/stop-duration': '20s' });
    const stopped = runtime.stopContainer(id, 30_000);
    await clock.advance('19s');
    expect((await status(id)).state).toBe('CONTAINER_RUNNING');
    await clock.advance('1s');
    await stopped;
    expect(await status(id)).toMatchObject({ state: 'CONTAINER_EXITED', exitCode: 143 });
  });

  test('the stop duration applies unless the pod overrides it, and not without a grace period', async () => {
    const slow = createSimulatedRuntime({
      clock,
      random: new SeededRandom(2),
      stopDurationMs: 100,
    });
    const started = async (annotations: Record<string, string> = {}): Promise<string> => {
      const sandboxConfig = complete('PodSandboxConfig', {
        metadata: { name: 'p', namespace: 'ns', uid: `u${Object.keys(annotations).length}` },
        annotations,
      });
      const sandbox = await slow.runtime.runPodSandbox(sandboxConfig);
      const config = complete('ContainerConfig', {
        metadata: { name: 'c' },
        image: { image: 'i' },
        command: ['serve'],
      });
      const id = await slow.runtime.createContainer(sandbox, config, sandboxConfig);
      await slow.runtime.startContainer(id);
      return id;
    };
    const stateOf = async (id: string) => (await slow.runtime.containerStatus(id)).status?.state;
    const [plain, quick] = [
      await started(),
      await started({ 'simulation.coxswain.dev/stop-duration': '0s' }),
    ];
    const stopping = [
      slow.runtime.stopContainer(plain, 30_000),
      slow.runtime.stopContainer(quick, 30_000),
    ];
    expect([await stateOf(plain), await stateOf(quick)]).toEqual([
      'CONTAINER_RUNNING',
      'CONTAINER_EXITED',
    ]);
    await slow.runtime.stopContainer(plain, 0);
    expect(await stateOf(plain)).toBe('CONTAINER_EXITED');
    await Promise.all(stopping);
    await slow.close();
  });

  test('a base image ends at once only with entry points enabled, and without input', async () => {
    const ran = async (entryPoints: boolean, stdin: boolean): Promise<string | undefined> => {
      const played = createSimulatedRuntime({ clock, random: new SeededRandom(3), entryPoints });
      const sandboxConfig = complete('PodSandboxConfig', {
        metadata: { name: 'p', namespace: 'ns', uid: 'u' },
      });
      const sandbox = await played.runtime.runPodSandbox(sandboxConfig);
      const config = complete('ContainerConfig', {
        metadata: { name: 'c' },
        image: { image: 'busybox:1.37' },
        stdin,
      });
      const id = await played.runtime.createContainer(sandbox, config, sandboxConfig);
      await played.runtime.startContainer(id);
      await clock.advance('1s');
      const { status: after } = await played.runtime.containerStatus(id);
      await played.close();
      return after?.state;
    };
    expect(await ran(true, false)).toBe('CONTAINER_EXITED');
    expect(await ran(true, true)).toBe('CONTAINER_RUNNING');
    expect(await ran(false, false)).toBe('CONTAINER_RUNNING');
  });

  test.each([
    ['busybox', ['sh']],
    ['registry.k8s.io/e2e-test-images/busybox:1.37.0-1', ['sh']],
    ['localhost:5000/library/ubuntu@sha256:abc', ['bash']],
    ['docker.io/library/busybox-server:1', []],
    ['busybox/thing', []],
    ['constructor', []],
  ])('%s runs %j by itself', (image, command) => {
    expect(entryPoint(image)).toEqual(command);
  });

  test('exec-exit-code fails probes', async () => {
    const id = await start({ 'simulation.coxswain.dev/exec-exit-code': '1' });
    expect((await runtime.execSync(id, ['cat', '/tmp/healthy'])).exitCode).toBe(1);
  });

  test('cpu and memory are the usage of the container', async () => {
    const id = await start({
      'simulation.coxswain.dev/cpu': '250m',
      'simulation.coxswain.dev/memory': '64Mi',
    });
    await clock.advance('10s');
    const stats = await runtime.containerStats(id);
    expect(stats.cpu?.usageNanoCores?.value).toBe(250e6);
    expect(stats.cpu?.usageCoreNanoSeconds?.value).toBe(2.5e9 + 1000);
    expect(stats.memory?.workingSetBytes?.value).toBe(64 * 1024 * 1024);
    await expect(start({ 'simulation.coxswain.dev/cpu': '-1' })).rejects.toThrow(
      /cpu.*not a quantity/,
    );
  });

  test('containers of a pod share their volumes, and an exec sees the files of the container', async () => {
    const config = {
      metadata: { name: 'p', namespace: 'n', uid: `u${++uid}` },
      linux: { securityContext: { namespaceOptions: { network: 'NODE' as const } } },
    };
    const pod = await runtime.runPodSandbox(config);
    const mounts = [{ containerPath: '/data', hostPath: '/volumes/data' }];
    const run = async (name: string, script: string): Promise<string> => {
      const command = ['sh', '-c', script];
      const id = await runtime.createContainer(
        pod,
        { metadata: { name }, image: { image: 'app' }, command, mounts },
        config,
      );
      await runtime.startContainer(id);
      await clock.settle();
      return id;
    };
    await run('init', 'echo from init > /data/file');
    const id = await run('main', 'echo mine > /tmp/own; sleep infinity');
    const { stdout } = await runtime.execSync(id, ['cat', '/data/file', '/tmp/own']);
    expect(Buffer.from(stdout).toString()).toBe('from init\nmine\n');
  });

  test('image-pull-duration and image-pull-error', async () => {
    const slow = {
      image: 'slow',
      annotations: { 'simulation.coxswain.dev/image-pull-duration': '30s' },
    };
    expect((await images.imageStatus(slow)).image).toBeUndefined();
    const pulled = images.pullImage(slow);
    await clock.advance('30s');
    await pulled;
    expect((await images.imageStatus(slow)).image).toBeDefined();
    const broken = {
      image: 'broken',
      annotations: { 'simulation.coxswain.dev/image-pull-error': 'no basic auth credentials' },
    };
    await expect(images.pullImage(broken)).rejects.toMatchObject({ reason: 'ImagePull' });
  });

  test.each([
    ['webserver:404', 'docker.io/library/webserver:404: not found', 'ImageNotFound'],
    [
      'team/nonexistent@sha256:00',
      'docker.io/team/nonexistent@sha256:00: not found',
      'ImageNotFound',
    ],
    [
      'registry.invalid:5000/app:1',
      'failed to do request: Head "https://registry.invalid:5000/v2/app/manifests/1": dial ' +
        'tcp: lookup registry.invalid: no such host',
      'ImagePull',
    ],
  ])('an image whose name says that there is none: %s', async (image, message, reason) => {
    expect((await images.imageStatus({ image })).image).toBeUndefined();
    await expect(images.pullImage({ image })).rejects.toMatchObject({
      reason,
      message: expect.stringMatching(
        /^failed to pull and unpack image "\S+": failed to resolve reference "\S+": /,
      ) as string,
    });
    await expect(images.pullImage({ image })).rejects.toThrow(message);
  });

  test.each([
    'app:1.404',
    'missing-pods/exporter:1',
    'invalid.example/app',
    'app:no-such',
    'notfoundry',
  ])('a name that only looks like one of those: %s', async (image) => {
    expect((await images.imageStatus({ image })).image).toBeDefined();
  });

  test('an invalid value is an error', async () => {
    await expect(start({ 'simulation.coxswain.dev/exit-code': 'three' })).rejects.toThrow(
      /exit-code.*not an exit code/,
    );
    await expect(start({ 'simulation.coxswain.dev/run-duration': '10 parsecs' })).rejects.toThrow(
      /run-duration.*not a duration/,
    );
  });

  test('addresses are exhausted, and reusable after release', async () => {
    const config = (n: number): object => ({
      metadata: { name: 'p', namespace: 'n', uid: `ip${n}` },
    });
    const first = await runtime.runPodSandbox(config(1));
    await expect(runtime.runPodSandbox(config(2))).rejects.toMatchObject({
      reason: 'ResourceExhausted',
    });
    await runtime.stopPodSandbox(first);
    await runtime.runPodSandbox(config(2));
  });
});

test('equal seeds give equal runs', async () => {
  const run = async (): Promise<string> => {
    const { runtime } = createSimulatedRuntime({
      clock: new VirtualClock(),
      random: new SeededRandom(7),
      podCidr: 'fd00:10::/64',
    });
    const ids = [];
    for (let i = 0; i < 3; i++)
      ids.push(
        await runtime.runPodSandbox({ metadata: { name: 'p', namespace: 'n', uid: `u${i}` } }),
      );
    return JSON.stringify(await Promise.all(ids.map((id) => runtime.podSandboxStatus(id))));
  };
  expect(await run()).toBe(await run());
  expect(await run()).toContain('"fd00:10::2"');
});

test('a thousand pods are quick and small', async () => {
  const { runtime, close } = createSimulatedRuntime({ clock: new VirtualClock() });
  for (let i = 0; i < 1000; i++) {
    const config = { metadata: { name: `p${i}`, namespace: 'n', uid: `u${i}` } };
    const pod = await runtime.runPodSandbox(config);
    await runtime.startContainer(
      await runtime.createContainer(
        pod,
        { metadata: { name: 'c' }, image: { image: 'nginx' } },
        config,
      ),
    );
  }
  expect(await runtime.listContainers({ state: { state: 'CONTAINER_RUNNING' } })).toHaveLength(
    1000,
  );
  await close();
});
