// The conformance suite of the runtime contract. A runtime's test calls criConformance with a
// factory and with the runtime's claims. A missing claim has a reason, and its tests appear as
// skipped tests of that name.

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type ContainerConfig,
  type ContainerEvent,
  type ContainerStatus,
  CriError,
  type CriErrorReason,
  type ExecRequest,
  type ImageService,
  isCriError,
  type LogEntry,
  parseLogEntry,
  type PodSandboxConfig,
  type Runtime,
  type RuntimeService,
  type TerminalSize,
} from './index.ts';

/** A runtime under test, and the environment that a test needs. */
export interface CriHarness {
  readonly runtime: Runtime;
  /** An image with a shell and the usual small commands. */
  readonly image: string;
  /** Fields for every sandbox, for example a cgroup parent. */
  readonly sandbox?: PodSandboxConfig;
  /** Lets time pass until the condition holds; fails after a while. */
  readonly waitFor: (condition: () => boolean | Promise<boolean>) => Promise<void>;
  /** A container that ignores the stop signal. Default: a shell that traps SIGTERM and logs it. */
  readonly stubborn?: {
    readonly command: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  /** Stops the runtime and starts it again, while containers keep running. */
  readonly restart?: () => Promise<Runtime>;
  /**
   * An image that can be pulled and removed, and one whose pull fails, with the annotations that
   * both need.
   */
  readonly images?: {
    readonly pullable?: string;
    readonly missing?: {
      readonly image: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
  };
  /** Closes the runtime and removes everything that it created. */
  readonly dispose: () => Promise<void>;
}

/** `true`: the feature is claimed. Text: it is not, for this reason. */
export type Claim = true | string;

export interface CriClaims {
  /** Every pod has its own address. */
  readonly podNetwork: Claim;
  /** Commands really run: missing programs fail, signals reach their handlers, files exist. */
  readonly realProcesses: Claim;
  /** Standard input of exec and of the container's own process. */
  readonly stdin: Claim;
  /** Terminals, with sizes. */
  readonly tty: Claim;
  readonly attach: Claim;
  /** Host directories are mounted at the requested path. */
  readonly mounts: Claim;
  /** Processes run as the requested user. */
  readonly users: Claim;
  readonly portForward: Claim;
  readonly stats: Claim;
  readonly updateResources: Claim;
  readonly events: Claim;
  /** Running containers outlive the runtime's own process. */
  readonly restart: Claim;
  /** Images are pulled. */
  readonly pull: Claim;
  /** Images can be removed, and are then absent. */
  readonly removeImage: Claim;
}

const decoder = new TextDecoder();
const env = (key: string, value: string): { key: string; value: Uint8Array } => ({
  key,
  value: new TextEncoder().encode(value),
});

async function reasonOf(operation: Promise<unknown>): Promise<CriErrorReason> {
  const error: unknown = await operation.then(
    () => new Error('the operation succeeded'),
    (error_: unknown) => error_,
  );
  if (!(error instanceof CriError)) throw error;
  return error.reason;
}

/** Declares the suite. `factory` is called once; every test has its own sandboxes. */
export function criConformance(
  name: string,
  factory: () => Promise<CriHarness>,
  claims: CriClaims,
): void {
  describe(`${name}: CRI conformance`, () => {
    let harness: CriHarness;
    let runtime: RuntimeService;
    let images: ImageService;
    let directory: string;
    let lastUid = 0;

    /** Declares a test of a claimed feature. */
    const claimed = (claim: Claim, title: string, body: () => Promise<void>): void => {
      if (claim === true) test(title, body);
      else test.skip(`${title} (not claimed: ${claim})`, () => undefined);
    };

    const use = (made: Runtime): void => {
      runtime = made.runtime;
      images = made.images;
    };

    beforeAll(async () => {
      harness = await factory();
      use(harness.runtime);
    }, 120_000);
    afterAll(() => harness?.dispose(), 120_000);
    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'cri-conformance-'));
    });
    afterEach(async () => {
      for (const { id } of await runtime.listPodSandbox()) {
        await runtime.stopPodSandbox(id);
        await runtime.removePodSandbox(id);
      }
      rmSync(directory, { recursive: true, force: true });
    });

    const sandboxConfig = (config: PodSandboxConfig = {}): PodSandboxConfig => {
      const uid = `uid-${++lastUid}`;
      const logDirectory = join(directory, uid);
      // The kubelet creates this directory.
      mkdirSync(join(logDirectory, 'main'), { recursive: true });
      return {
        hostname: 'conformance',
        logDirectory,
        ...harness.sandbox,
        ...config,
        metadata: { name: 'pod', namespace: 'default', uid, attempt: 0, ...config.metadata },
        labels: { app: 'conformance', ...config.labels },
        annotations: { ...harness.sandbox?.annotations, ...config.annotations },
      };
    };

    interface Pod {
      readonly id: string;
      readonly config: PodSandboxConfig;
    }

    const runPod = async (config?: PodSandboxConfig): Promise<Pod> => {
      const full = sandboxConfig(config);
      return { id: await runtime.runPodSandbox(full), config: full };
    };

    const containerConfig = (
      command: readonly string[],
      config: ContainerConfig = {},
    ): ContainerConfig => ({
      metadata: { name: 'main', attempt: 0, ...config.metadata },
      image: { image: harness.image },
      command,
      labels: { container: 'main' },
      logPath: 'main/0.log',
      ...config,
    });

    const create = (
      pod: Pod,
      command: readonly string[],
      config?: ContainerConfig,
    ): Promise<string> =>
      runtime.createContainer(pod.id, containerConfig(command, config), pod.config);

    const start = async (
      pod: Pod,
      command: readonly string[],
      config?: ContainerConfig,
    ): Promise<string> => {
      const id = await create(pod, command, config);
      await runtime.startContainer(id);
      return id;
    };

    const status = async (id: string): Promise<ContainerStatus> =>
      (await runtime.containerStatus(id)).status!;

    const untilExited = async (id: string): Promise<ContainerStatus> => {
      await harness.waitFor(async () => (await status(id)).state === 'CONTAINER_EXITED');
      return status(id);
    };

    /** Waits for a call that needs time to pass. */
    const settled = async <T>(call: Promise<T>): Promise<T> => {
      let over = false;
      const note = (): void => void (over = true);
      call.then(note, note);
      await harness.waitFor(() => over);
      return call;
    };

    const sleeper = ['sleep', '3600'] as const;
    const shell = (script: string): string[] => ['sh', '-c', script];

    const logPath = (pod: Pod): string => join(pod.config.logDirectory!, 'main/0.log');
    const readLog = (pod: Pod): LogEntry[] => {
      const path = logPath(pod);
      if (!existsSync(path)) return [];
      const text = readFileSync(path);
      expect(text.length === 0 || text.at(-1) === 0x0a).toBe(true);
      return text
        .toString('latin1')
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const entry = parseLogEntry(Buffer.from(line, 'latin1'));
          if (entry === undefined) throw new Error(`not a log entry: ${line}`);
          return entry;
        });
    };

    const exec = async (
      id: string,
      request: Omit<ExecRequest, 'stdout'>,
      input?: string,
      resize?: AsyncIterable<TerminalSize>,
    ): Promise<{ exitCode: number; stdout: string; stderr: string }> => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const stdin = input === undefined ? undefined : new PassThrough();
      stdin?.end(input);
      const isTty = request.tty ?? false;
      const [result, out, err] = await settled(
        Promise.all([
          runtime.exec(
            id,
            { ...request, stdin: stdin !== undefined, stdout: true, stderr: !isTty },
            { stdin, stdout, stderr: isTty ? undefined : stderr, resize },
          ),
          stdout.toArray() as Promise<Buffer[]>,
          isTty ? Promise.resolve<Buffer[]>([]) : (stderr.toArray() as Promise<Buffer[]>),
        ]),
      );
      return {
        ...result,
        stdout: Buffer.concat(out).toString(),
        stderr: Buffer.concat(err).toString(),
      };
    };

    describe('the runtime', () => {
      test('says its name and version', async () => {
        const version = await runtime.version();
        expect(version.runtimeName).not.toBe('');
        expect(version.runtimeApiVersion).toMatch(/^v1/);
      });

      test('is ready, and so is its network', async () => {
        const { status: runtimeStatus } = await runtime.status();
        const conditions = Object.fromEntries(
          (runtimeStatus?.conditions ?? []).map(({ type, status: is }) => [type, is]),
        );
        expect(conditions).toMatchObject({ RuntimeReady: true, NetworkReady: true });
      });
    });

    describe('a sandbox', () => {
      test('runs, stops and goes away', async () => {
        const { id, config } = await runPod({ annotations: { note: 'kept' } });
        const running = (await runtime.podSandboxStatus(id)).status!;
        expect(running).toMatchObject({
          id,
          state: 'SANDBOX_READY',
          metadata: { name: 'pod', namespace: 'default', uid: config.metadata!.uid, attempt: 0 },
          labels: { app: 'conformance' },
        });
        expect(running.annotations['note']).toBe('kept');
        expect(running.createdAt).toBeGreaterThan(1.5e18);
        expect((await runtime.listPodSandbox()).map((sandbox) => sandbox.id)).toEqual([id]);

        await runtime.stopPodSandbox(id);
        expect((await runtime.podSandboxStatus(id)).status!.state).toBe('SANDBOX_NOTREADY');
        await runtime.removePodSandbox(id);
        expect(await runtime.listPodSandbox()).toEqual([]);
        expect(await reasonOf(runtime.podSandboxStatus(id))).toBe('NotFound');
      });

      test('can be stopped and removed again and again, there or not', async () => {
        const { id } = await runPod();
        await runtime.stopPodSandbox(id);
        await runtime.stopPodSandbox(id);
        await runtime.removePodSandbox(id);
        await runtime.removePodSandbox(id);
        await runtime.stopPodSandbox(id);
        await runtime.removePodSandbox(
          '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
        );
      });

      test('can be removed while its containers run', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper);
        await settled(runtime.removePodSandbox(pod.id));
        expect(await reasonOf(runtime.containerStatus(id))).toBe('NotFound');
      });

      test('stops its containers when it is stopped', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper);
        await settled(runtime.stopPodSandbox(pod.id));
        expect((await untilExited(id)).exitCode).not.toBe(0);
      });

      test('is there once per name, namespace, uid and attempt', async () => {
        const config = sandboxConfig();
        await runtime.runPodSandbox(config);
        expect(await reasonOf(runtime.runPodSandbox(config))).toBe('AlreadyExists');
        await runtime.runPodSandbox({ ...config, metadata: { ...config.metadata, attempt: 1 } });
        expect(await runtime.listPodSandbox()).toHaveLength(2);
      });

      test('is found by id, state and labels', async () => {
        const [ready, stopped] = [
          await runPod({ labels: { tier: 'front' } }),
          await runPod({ labels: { tier: 'back' } }),
        ];
        await runtime.stopPodSandbox(stopped.id);
        const found = async (
          filter: Parameters<RuntimeService['listPodSandbox']>[0],
        ): Promise<string[]> => (await runtime.listPodSandbox(filter)).map(({ id }) => id);
        expect(await found({ id: ready.id })).toEqual([ready.id]);
        expect(await found({ id: 'ffffffffffffffff' })).toEqual([]);
        expect(await found({ state: { state: 'SANDBOX_READY' } })).toEqual([ready.id]);
        expect(await found({ state: { state: 'SANDBOX_NOTREADY' } })).toEqual([stopped.id]);
        expect(await found({ labelSelector: { tier: 'front' } })).toEqual([ready.id]);
        expect(await found({ labelSelector: { tier: 'front', app: 'other' } })).toEqual([]);
        expect((await found({ labelSelector: { app: 'conformance' } })).toSorted()).toEqual(
          [ready.id, stopped.id].toSorted(),
        );
        expect(
          await found({ labelSelector: { tier: 'back' }, state: { state: 'SANDBOX_READY' } }),
        ).toEqual([]);
      });

      claimed(claims.podNetwork, 'has an address of its own', async () => {
        const pods = [await runPod(), await runPod()];
        const ips = await Promise.all(
          pods.map(
            async ({ id }) => (await runtime.podSandboxStatus(id)).status!.network?.ip ?? '',
          ),
        );
        expect(ips.map((ip) => isIP(ip) > 0)).toEqual([true, true]);
        expect(ips[0]).not.toBe(ips[1]);
      });

      test("has no address of its own on the host's network", async () => {
        const { id } = await runPod({
          // A pod with the host's network cannot set a host name.
          hostname: '',
          linux: {
            ...harness.sandbox?.linux,
            securityContext: { namespaceOptions: { network: 'NODE' } },
          },
        });
        const { network, linux } = (await runtime.podSandboxStatus(id)).status!;
        expect(network?.ip ?? '').toBe('');
        expect(linux?.namespaces?.options?.network).toBe('NODE');
      });
    });

    describe('a container', () => {
      test('is created, runs, stops and goes away', async () => {
        const pod = await runPod();
        const id = await create(pod, sleeper, { annotations: { note: 'kept' } });
        const created = await status(id);
        expect(created).toMatchObject({
          id,
          state: 'CONTAINER_CREATED',
          metadata: { name: 'main', attempt: 0 },
          startedAt: 0,
          finishedAt: 0,
          labels: { container: 'main' },
          annotations: { note: 'kept' },
          logPath: logPath(pod),
        });
        expect(created.imageRef).not.toBe('');
        await runtime.startContainer(id);
        const running = await status(id);
        expect(running.state).toBe('CONTAINER_RUNNING');
        expect(running.startedAt).toBeGreaterThanOrEqual(created.createdAt);
        await settled(runtime.stopContainer(id, 0));
        const exited = await untilExited(id);
        expect(exited.exitCode).toBe(137);
        expect(exited.finishedAt).toBeGreaterThanOrEqual(exited.startedAt);
        await runtime.removeContainer(id);
        expect(await runtime.listContainers()).toEqual([]);
        expect(await reasonOf(runtime.containerStatus(id))).toBe('NotFound');
      });

      test('can be stopped and removed again and again, there or not', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper);
        await settled(runtime.stopContainer(id, 0));
        await runtime.stopContainer(id, 0);
        await runtime.removeContainer(id);
        await runtime.removeContainer(id);
        await runtime.stopContainer(id, 0);
      });

      test('can be removed while it runs', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper);
        await settled(runtime.removeContainer(id));
        expect(await reasonOf(runtime.containerStatus(id))).toBe('NotFound');
      });

      test('starts only once', async () => {
        const pod = await runPod();
        const id = await start(pod, ['true']);
        expect(isCriError(await runtime.startContainer(id).catch((error: unknown) => error))).toBe(
          true,
        );
        await untilExited(id);
        expect(isCriError(await runtime.startContainer(id).catch((error: unknown) => error))).toBe(
          true,
        );
      });

      test.each([
        [['true'], 0, 'Completed'],
        [['false'], 1, 'Error'],
        [['sh', '-c', 'exit 42'], 42, 'Error'],
        [['sh', '-c', 'sleep 1; exit 3'], 3, 'Error'],
      ] as const)('%j ends with %i, %s', async (command, exitCode, reason) => {
        const pod = await runPod();
        expect(await untilExited(await start(pod, command))).toMatchObject({ exitCode, reason });
      });

      test('takes its arguments after its command', async () => {
        const pod = await runPod();
        const id = await start(pod, ['sh', '-c'], { args: ['exit 5'] });
        expect((await untilExited(id)).exitCode).toBe(5);
      });

      test('is there once per sandbox, name and attempt', async () => {
        const pod = await runPod();
        await create(pod, sleeper);
        expect(await reasonOf(create(pod, sleeper))).toBe('AlreadyExists');
        await create(pod, sleeper, { metadata: { name: 'main', attempt: 1 } });
        await create(pod, sleeper, { metadata: { name: 'other', attempt: 0 } });
      });

      test('needs a sandbox that runs, and an image that is there', async () => {
        const pod = await runPod();
        const nowhere = {
          ...pod,
          id: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
        };
        expect(await reasonOf(create(nowhere, sleeper))).toBe('NotFound');
        expect(await reasonOf(runtime.startContainer(nowhere.id))).toBe('NotFound');
        await runtime.stopPodSandbox(pod.id);
        // A runtime may notice it only when the container starts.
        const started = create(pod, sleeper).then((id) => runtime.startContainer(id));
        expect(isCriError(await started.catch((error: unknown) => error))).toBe(true);
      });

      test('is found by id, sandbox, state and labels', async () => {
        const [pod, other] = [await runPod(), await runPod()];
        const ids = {
          created: await create(pod, sleeper, {
            metadata: { name: 'created' },
            labels: { phase: 'new' },
          }),
          running: await start(pod, sleeper, {
            metadata: { name: 'running' },
            labels: { phase: 'live' },
          }),
          elsewhere: await start(other, sleeper, {
            metadata: { name: 'elsewhere' },
            labels: { phase: 'live' },
          }),
        };
        const found = async (
          filter: Parameters<RuntimeService['listContainers']>[0],
        ): Promise<string[]> =>
          (await runtime.listContainers(filter)).map(({ id }) => id).toSorted();
        expect(await found({ id: ids.running })).toEqual([ids.running]);
        expect(await found({ podSandboxId: pod.id })).toEqual(
          [ids.created, ids.running].toSorted(),
        );
        expect(await found({ state: { state: 'CONTAINER_CREATED' } })).toEqual([ids.created]);
        expect(await found({ labelSelector: { phase: 'live' } })).toEqual(
          [ids.running, ids.elsewhere].toSorted(),
        );
        expect(await found({ labelSelector: { phase: 'live' }, podSandboxId: pod.id })).toEqual([
          ids.running,
        ]);
        expect(await found({ state: { state: 'CONTAINER_EXITED' } })).toEqual([]);
      });

      test('stops at once if it wants to, and is killed after the grace period if not', async () => {
        const stubborn = harness.stubborn ?? {
          command: shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"),
        };
        const pod = await runPod({ annotations: stubborn.annotations });
        const id = await start(pod, stubborn.command);
        // A signal before the shell has set its trap would prove nothing.
        if (claims.realProcesses === true) await harness.waitFor(() => readLog(pod).length > 0);
        await settled(runtime.stopContainer(id, 1000));
        expect((await untilExited(id)).exitCode).toBe(137);
      });

      claimed(claims.realProcesses, 'gets the stop signal and may end in its own way', async () => {
        const pod = await runPod();
        const id = await start(
          pod,
          shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"),
        );
        await harness.waitFor(() => readLog(pod).length > 0);
        await settled(runtime.stopContainer(id, 30_000));
        expect((await untilExited(id)).exitCode).toBe(7);
      });

      claimed(claims.realProcesses, 'fails clearly if its program is not there', async () => {
        const pod = await runPod();
        const failure: unknown = await create(pod, ['/no/such/program'])
          .then(
            (id) => runtime.startContainer(id).then(() => new Error('it started')),
            (error: unknown) => error,
          )
          .catch((error: unknown) => error);
        expect(isCriError(failure)).toBe(true);
        expect((failure as Error).message).toContain('/no/such/program');
      });

      test('gets its environment, its working directory and its host name', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper, {
          envs: [env('GREETING', 'hello world'), env('EMPTY', '')],
          workingDir: '/tmp',
        });
        expect((await exec(id, { command: shell('echo "$GREETING|$EMPTY|"') })).stdout).toBe(
          'hello world||\n',
        );
        expect((await exec(id, { command: ['pwd'] })).stdout).toBe('/tmp\n');
        if (claims.podNetwork === true)
          expect((await exec(id, { command: ['hostname'] })).stdout).toBe('conformance\n');
      });

      claimed(claims.mounts, 'sees host directories, read-only where asked', async () => {
        const [shared, fixed] = [join(directory, 'shared'), join(directory, 'fixed')];
        for (const path of [shared, fixed]) {
          mkdirSync(path);
          writeFileSync(join(path, 'file'), 'from the host');
        }
        const pod = await runPod();
        const id = await start(pod, sleeper, {
          mounts: [
            { containerPath: '/mnt/shared', hostPath: shared },
            { containerPath: '/mnt/fixed', hostPath: fixed, readonly: true },
          ],
        });
        expect((await exec(id, { command: ['cat', '/mnt/fixed/file'] })).stdout).toBe(
          'from the host',
        );
        expect((await exec(id, { command: shell('echo back >> /mnt/shared/file') })).exitCode).toBe(
          0,
        );
        expect(readFileSync(join(shared, 'file'), 'utf8')).toBe('from the hostback\n');
        expect(
          (await exec(id, { command: shell('echo back >> /mnt/fixed/file') })).exitCode,
        ).not.toBe(0);
        expect((await status(id)).mounts).toContainEqual(
          expect.objectContaining({ containerPath: '/mnt/fixed', hostPath: fixed, readonly: true }),
        );
      });

      claimed(claims.users, 'runs as the user and groups that are asked for', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper, {
          linux: {
            securityContext: {
              runAsUser: { value: 1000 },
              runAsGroup: { value: 2000 },
              supplementalGroups: [3000],
            },
          },
        });
        expect((await exec(id, { command: ['id', '-u'] })).stdout).toBe('1000\n');
        expect((await exec(id, { command: ['id', '-g'] })).stdout).toBe('2000\n');
        expect((await exec(id, { command: ['id', '-G'] })).stdout.trim().split(' ')).toContain(
          '3000',
        );
      });

      claimed(claims.updateResources, 'can be given other resources while it runs', async () => {
        const pod = await runPod();
        const id = await start(pod, sleeper, {
          linux: { resources: { memoryLimitInBytes: 64 * 1024 * 1024 } },
        });
        await runtime.updateContainerResources(id, { memoryLimitInBytes: 128 * 1024 * 1024 });
        const resources = (await status(id)).resources?.linux;
        if (resources !== undefined) expect(resources.memoryLimitInBytes).toBe(128 * 1024 * 1024);
      });

      claimed(
        claims.restart,
        'runs on when the runtime is restarted, and what ended meanwhile is known',
        async () => {
          const pod = await runPod();
          const running = await start(pod, sleeper, { metadata: { name: 'running' } });
          const ending = await start(pod, shell('sleep 1; exit 9'), {
            metadata: { name: 'ending' },
          });
          const before = await status(running);
          use(await harness.restart!());
          expect(await status(running)).toMatchObject({
            state: 'CONTAINER_RUNNING',
            startedAt: before.startedAt,
          });
          expect((await untilExited(ending)).exitCode).toBe(9);
          expect((await exec(running, { command: ['true'] })).exitCode).toBe(0);
          await settled(runtime.stopContainer(running, 0));
          expect((await untilExited(running)).exitCode).toBe(137);
        },
      );
    });

    describe('the log', () => {
      test('has every line with its stream and time', async () => {
        const pod = await runPod();
        await untilExited(await start(pod, shell('echo one; echo two >&2; echo three; exit 0')));
        await harness.waitFor(() => readLog(pod).length >= 3);
        const entries = readLog(pod);
        const of = (stream: string): string[] =>
          entries
            .filter((entry) => entry.stream === stream)
            .map((entry) => entry.content.toString());
        expect(of('stdout')).toEqual(['one', 'three']);
        expect(of('stderr')).toEqual(['two']);
        for (const entry of entries) {
          expect(entry.partial).toBe(false);
          expect(entry.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(Z|[+-]\d\d:\d\d)$/);
        }
      });

      test('marks an end without a newline', async () => {
        const pod = await runPod();
        await untilExited(await start(pod, ['echo', '-n', 'no newline']));
        await harness.waitFor(() => readLog(pod).length > 0);
        expect(
          readLog(pod)
            .map((entry) => entry.content.toString())
            .join(''),
        ).toBe('no newline');
      });

      test('goes on in a new file after it was moved away', async () => {
        const pod = await runPod();
        const id = await start(pod, shell('while true; do echo tick; sleep 0.2; done'));
        await harness.waitFor(() => readLog(pod).length >= 2);
        renameSync(logPath(pod), `${logPath(pod)}.1`);
        await runtime.reopenContainerLog(id);
        await harness.waitFor(() => readLog(pod).length >= 2);
        expect(readLog(pod).every((entry) => entry.content.toString() === 'tick')).toBe(true);
        await settled(runtime.stopContainer(id, 0));
        await untilExited(id);
        expect(
          isCriError(await runtime.reopenContainerLog(id).catch((error: unknown) => error)),
        ).toBe(true);
      });

      test('stays when the container goes', async () => {
        const pod = await runPod();
        const id = await start(pod, ['echo', 'last words']);
        await untilExited(id);
        await harness.waitFor(() => readLog(pod).length > 0);
        await runtime.removeContainer(id);
        expect(readLog(pod)[0]!.content.toString()).toBe('last words');
      });

      claimed(claims.realProcesses, 'takes a very long line in pieces', async () => {
        const pod = await runPod();
        await untilExited(
          await start(pod, shell('head -c 40000 /dev/zero | tr "\\0" x; echo; echo after')),
        );
        await harness.waitFor(() => readLog(pod).at(-1)?.content.toString() === 'after');
        const entries = readLog(pod);
        expect(entries.length).toBeGreaterThan(2);
        expect(entries.slice(0, -2).every((entry) => entry.partial)).toBe(true);
        expect(
          entries.slice(0, -1).reduce((length, entry) => length + entry.content.length, 0),
        ).toBe(40_000);
      });
    });

    describe('exec', () => {
      test('execSync answers what a command wrote, and its exit code', async () => {
        const id = await start(await runPod(), sleeper);
        const result = await settled(runtime.execSync(id, shell('echo out; echo err >&2; exit 4')));
        expect(decoder.decode(result.stdout)).toBe('out\n');
        expect(decoder.decode(result.stderr)).toBe('err\n');
        expect(result.exitCode).toBe(4);
      });

      test('execSync gives a command up after its timeout', async () => {
        const id = await start(await runPod(), sleeper);
        expect(
          await reasonOf(settled(runtime.execSync(id, ['sleep', '60'], { timeoutMs: 1000 }))),
        ).toBe('DeadlineExceeded');
      });

      test('execSync can be called off', async () => {
        const id = await start(await runPod(), sleeper);
        const off = new AbortController();
        const call = runtime.execSync(id, ['sleep', '60'], { signal: off.signal });
        off.abort(new Error('changed my mind'));
        await expect(settled(call)).rejects.toThrow('changed my mind');
      });

      test('needs a container that runs', async () => {
        const pod = await runPod();
        const id = await start(pod, ['true']);
        await untilExited(id);
        expect(
          isCriError(await runtime.execSync(id, ['true']).catch((error: unknown) => error)),
        ).toBe(true);
        expect(await reasonOf(runtime.execSync('0123456789abcdef', ['true']))).toBe('NotFound');
      });

      test('streams output and resolves with the exit code, whatever it is', async () => {
        const id = await start(await runPod(), sleeper);
        expect(await exec(id, { command: shell('echo out; echo err >&2; exit 6') })).toEqual({
          exitCode: 6,
          stdout: 'out\n',
          stderr: 'err\n',
        });
        expect(await exec(id, { command: ['true'] })).toEqual({
          exitCode: 0,
          stdout: '',
          stderr: '',
        });
      });

      test('needs no streams at all', async () => {
        const id = await start(await runPod(), sleeper);
        const request = { command: shell('echo unheard; exit 2'), stdout: true, stderr: true };
        expect(await settled(runtime.exec(id, request, {}))).toEqual({ exitCode: 2 });
        expect(await settled(runtime.exec(id, { command: request.command }, {}))).toEqual({
          exitCode: 2,
        });
      });

      claimed(claims.realProcesses, 'rejects if the program is not there', async () => {
        const id = await start(await runPod(), sleeper);
        const failure: unknown = await exec(id, { command: ['/no/such/program'] }).then(
          // A runtime may also report the error as a shell does, by exit code.
          ({ exitCode }) =>
            exitCode === 126 || exitCode === 127 ? new CriError('Internal', 'exit code') : exitCode,
          (error: unknown) => error,
        );
        expect(failure).toBeInstanceOf(CriError);
      });

      claimed(claims.stdin, 'passes stdin, to its end', async () => {
        const id = await start(await runPod(), sleeper);
        expect(await exec(id, { command: ['cat'] }, 'over and out')).toEqual({
          exitCode: 0,
          stdout: 'over and out',
          stderr: '',
        });
      });

      claimed(claims.stdin, 'passes megabytes without losing any', async () => {
        const id = await start(await runPod(), sleeper);
        const data = '0123456789abcdef'.repeat(200_000);
        const { stdout } = await exec(id, { command: ['cat'] }, data);
        expect(stdout.length).toBe(data.length);
        expect(stdout === data).toBe(true);
      });

      test('ends when the caller hangs up', async () => {
        const id = await start(await runPod(), sleeper);
        const hangUp = new AbortController();
        const stdout = new PassThrough();
        const call = runtime.exec(
          id,
          { command: shell('echo started; sleep 3600'), stdout: true },
          { stdout },
          hangUp.signal,
        );
        stdout.once('data', () => hangUp.abort(new Error('hung up')));
        await expect(settled(call)).rejects.toThrow('hung up');
      });

      claimed(claims.tty, 'gives the command a terminal of the right size', async () => {
        const id = await start(await runPod(), sleeper);
        async function* sizes(): AsyncGenerator<TerminalSize> {
          yield { width: 101, height: 37 };
        }
        const { stdout } = await exec(
          id,
          {
            command: shell(
              'test -t 0 && test -t 1 && until [ "$(stty size 2>/dev/null)" = "37 101" ]; do ' +
                'sleep 0.05; done; stty size',
            ),
            tty: true,
          },
          undefined,
          sizes(),
        );
        expect(stdout.trim()).toBe('37 101');
      });
    });

    claimed(claims.attach, 'attach connects to the streams of the first process', async () => {
      const pod = await runPod();
      const id = await start(pod, ['cat'], { stdin: true, stdinOnce: true });
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      const attached = runtime.attach(id, { stdin: true, stdout: true }, { stdin, stdout });
      stdin.write('echo me\n');
      let seen = '';
      stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      await harness.waitFor(() => seen === 'echo me\n');
      stdin.end();
      await settled(attached);
      expect((await untilExited(id)).exitCode).toBe(0);
      expect(readLog(pod).map((entry) => entry.content.toString())).toEqual(['echo me']);
    });

    claimed(claims.attach, 'attach without stdin sees the output from then on', async () => {
      const id = await start(await runPod(), shell('while true; do echo tick; sleep 0.2; done'));
      const stdout = new PassThrough();
      const hangUp = new AbortController();
      const attached = runtime.attach(
        id,
        { stdout: true, stderr: true },
        { stdout, stderr: new PassThrough() },
        hangUp.signal,
      );
      let seen = '';
      stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      await harness.waitFor(() => seen.includes('tick\n'));
      hangUp.abort(new Error('seen enough'));
      await expect(settled(attached)).rejects.toThrow('seen enough');
      expect((await status(id)).state).toBe('CONTAINER_RUNNING');
    });

    /**
     * Returns a caller's end of a forwarded connection: the data to send, and the data received.
     */
    const connection = (): {
      stream: Duplex;
      send: (text: string) => void;
      hangUp: () => void;
      received: () => string;
    } => {
      let got = '';
      const stream = new Duplex({
        read: () => undefined,
        write: (chunk: Buffer, _encoding, done) => {
          got += chunk.toString();
          done();
        },
      });
      stream.on('error', () => undefined);
      return {
        stream,
        send: (text) => void stream.push(text),
        hangUp: () => void stream.push(null),
        received: () => got,
      };
    };

    claimed(claims.portForward, 'port-forward reaches a port inside the sandbox', async () => {
      const pod = await runPod();
      const port = 18_080 + (process.pid % 1000);
      const id = await start(pod, shell(`nc -l -p ${port} -e cat || nc -l -p ${port}`));
      await harness.waitFor(async () => {
        const hex = port.toString(16).toUpperCase().padStart(4, '0');
        const { stdout } = await runtime.execSync(
          id,
          shell(`grep -c ':${hex} .* 0A ' /proc/net/tcp /proc/net/tcp6 || true`),
        );
        return /:[1-9]/.test(decoder.decode(stdout));
      });
      const { stream, send, hangUp, received } = connection();
      const call = runtime.portForward(pod.id, port, stream);
      send('through the pod');
      await harness.waitFor(() => received() === 'through the pod');
      hangUp();
      await settled(call);
    });

    claimed(
      claims.portForward,
      'port-forward to a port on which nothing listens rejects',
      async () => {
        const pod = await runPod();
        expect(
          isCriError(
            await settled(runtime.portForward(pod.id, 1, connection().stream)).catch(
              (error: unknown) => error,
            ),
          ),
        ).toBe(true);
      },
    );

    claimed(claims.stats, 'stats tell what containers and sandboxes use', async () => {
      const pod = await runPod();
      const id = await start(pod, sleeper);
      const stats = await runtime.containerStats(id);
      expect(stats.attributes).toMatchObject({
        id,
        metadata: { name: 'main' },
        labels: { container: 'main' },
      });
      expect(stats.memory?.workingSetBytes?.value).toBeGreaterThan(0);
      expect(stats.cpu?.usageCoreNanoSeconds?.value).toBeGreaterThanOrEqual(0);
      expect(
        (await runtime.listContainerStats({ podSandboxId: pod.id })).map(
          ({ attributes }) => attributes?.id,
        ),
      ).toEqual([id]);
      expect(await runtime.listContainerStats({ labelSelector: { container: 'other' } })).toEqual(
        [],
      );
      expect(await reasonOf(runtime.containerStats('0123456789abcdef'))).toBe('NotFound');
    });

    claimed(claims.events, 'events tell of every change of a container', async () => {
      const seen: ContainerEvent[] = [];
      const stop = new AbortController();
      const events = runtime.containerEvents!(stop.signal);
      const reading = (async () => {
        for await (const event of events) seen.push(event);
      })();
      const pod = await runPod();
      const id = await start(pod, ['true']);
      await untilExited(id);
      await runtime.removeContainer(id);
      await harness.waitFor(() =>
        seen.some(
          (event) =>
            event.containerId === id && event.containerEventType === 'CONTAINER_DELETED_EVENT',
        ),
      );
      expect(
        seen.filter((event) => event.containerId === id).map((event) => event.containerEventType),
      ).toEqual([
        'CONTAINER_CREATED_EVENT',
        'CONTAINER_STARTED_EVENT',
        'CONTAINER_STOPPED_EVENT',
        'CONTAINER_DELETED_EVENT',
      ]);
      expect(seen.find((event) => event.containerId === pod.id)?.podSandboxStatus?.id).toBe(pod.id);
      stop.abort();
      await reading;
    });

    describe('images', () => {
      test('one that is there has an id, and is listed', async () => {
        const { image } = await images.imageStatus({ image: harness.image });
        expect(image?.id).toMatch(/^sha256:[0-9a-f]{64}$/);
        expect((await images.listImages()).map(({ id }) => id)).toContain(image!.id);
        expect(
          (await images.listImages({ image: { image: harness.image } })).map(({ id }) => id),
        ).toEqual([image!.id]);
      });

      test('their file system is known', async () => {
        const { imageFilesystems } = await images.imageFsInfo();
        expect(imageFilesystems.length).toBeGreaterThan(0);
        expect(imageFilesystems[0]!.fsId?.mountpoint).toMatch(/^\//);
      });

      claimed(claims.pull, 'one that is pulled is there', async () => {
        const image = harness.images!.pullable!;
        const reference = await settled(images.pullImage({ image }));
        expect((await images.imageStatus({ image: reference })).image?.id).toBe(
          (await images.imageStatus({ image })).image?.id,
        );
      });

      claimed(
        claims.pull,
        'one that does not exist cannot be pulled, and is not there',
        async () => {
          const missing = harness.images!.missing!;
          expect(['ImageNotFound', 'ImagePull', 'RegistryUnavailable']).toContain(
            await reasonOf(settled(images.pullImage(missing))),
          );
          expect((await images.imageStatus(missing)).image).toBeUndefined();
        },
      );

      claimed(
        claims.removeImage,
        'one that is removed is gone, and can be removed again',
        async () => {
          const image = harness.images!.pullable!;
          if ((await images.imageStatus({ image })).image === undefined)
            await settled(images.pullImage({ image }));
          await images.removeImage({ image });
          expect((await images.imageStatus({ image })).image).toBeUndefined();
          await images.removeImage({ image });
        },
      );
    });

    test('many pods at once', async () => {
      const pods = await settled(Promise.all(Array.from({ length: 5 }, () => runPod())));
      const ids = await settled(
        Promise.all(pods.map((pod, i) => start(pod, shell(`sleep 1; exit ${i + 1}`)))),
      );
      const ended = await Promise.all(ids.map((id) => untilExited(id)));
      expect(ended.map(({ exitCode }) => exitCode)).toEqual([1, 2, 3, 4, 5]);
      await settled(Promise.all(pods.map((pod) => runtime.removePodSandbox(pod.id))));
      expect(await runtime.listContainers()).toEqual([]);
    });

    // Text that the test appends must survive, even if a runtime buffers output.
    test('the log file is appended to, never rewritten', async () => {
      const pod = await runPod();
      appendFileSync(logPath(pod), '2026-01-01T00:00:00.000000000Z stdout F already there\n');
      await untilExited(await start(pod, ['echo', 'added']));
      await harness.waitFor(() => readLog(pod).length === 2);
      expect(readLog(pod).map((entry) => entry.content.toString())).toEqual([
        'already there',
        'added',
      ]);
    });
  });
}
