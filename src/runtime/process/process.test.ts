import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Claim, criConformance } from '#cri/conformance.ts';
import type { ContainerConfig, ContainerStatus, PodSandboxConfig, Runtime } from '#cri/index.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { hasPty } from './pty.ts';
import { createProcessRuntime } from './create.ts';
import { hasStats } from './stats.ts';

const waitFor = (condition: wait.Condition): Promise<void> =>
  wait.pollImmediately({ clock: systemClock, intervalMs: 10, timeoutMs: 60_000 }, condition);

const needs = (has: boolean, what: string): Claim => has || what;

criConformance(
  'process',
  async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'process-runtime-'));
    let runtime = createProcessRuntime({ stateDir });
    return {
      runtime,
      image: 'busybox',
      waitFor,
      images: { pullable: 'registry.example/team/app:v1' },
      async restart() {
        await runtime.close();
        runtime = createProcessRuntime({ stateDir });
        return runtime;
      },
      async dispose() {
        await runtime.close();
        rmSync(stateDir, { recursive: true, force: true });
      },
    };
  },
  {
    podNetwork: 'pods have the address of the host',
    realProcesses: true,
    stdin: true,
    tty: needs(hasPty(), 'this host has no script command (apt-get install bsdutils)'),
    attach: true,
    mounts: 'a process sees the files of the host where they are',
    users: needs(process.getuid?.() === 0, 'only root can become another user'),
    portForward: 'tested below: the suite needs a pod network for it',
    stats: needs(hasStats(), 'there is no /proc here'),
    updateResources: 'nothing limits what a process uses',
    events: true,
    restart: true,
    pull: 'images are only names',
    removeImage: true,
  },
);

describe('the process runtime', () => {
  let stateDir: string;
  let runtime: Runtime;
  const open: Runtime[] = [];
  let uid = 0;

  const make = (): Runtime => {
    const made = createProcessRuntime({ stateDir });
    open.push(made);
    return made;
  };
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'process-runtime-'));
    runtime = make();
  });
  afterEach(async () => {
    for (const { id } of await runtime.runtime.listPodSandbox())
      await runtime.runtime.removePodSandbox(id);
    for (const each of open.splice(0)) await each.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  const sandbox = (config: PodSandboxConfig = {}): PodSandboxConfig => ({
    metadata: { name: 'p', namespace: 'n', uid: `u${++uid}` },
    logDirectory: join(stateDir, 'logs'),
    ...config,
  });
  async function create(
    config: ContainerConfig,
    pod: PodSandboxConfig = sandbox(),
  ): Promise<string> {
    const id = await runtime.runtime.runPodSandbox(pod);
    return runtime.runtime.createContainer(
      id,
      { metadata: { name: 'c' }, image: { image: 'app' }, logPath: 'c.log', ...config },
      pod,
    );
  }
  async function start(script: string, config: ContainerConfig = {}): Promise<string> {
    const id = await create({ command: ['sh', '-c', script], ...config });
    await runtime.runtime.startContainer(id);
    return id;
  }
  const status = async (id: string): Promise<ContainerStatus> =>
    (await runtime.runtime.containerStatus(id)).status!;
  const exited = async (id: string): Promise<ContainerStatus> => {
    await waitFor(async () => (await status(id)).state === 'CONTAINER_EXITED');
    return status(id);
  };
  const log = (): string => {
    const path = join(stateDir, 'logs', 'c.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  const alive = (pid: number): boolean => existsSync(`/proc/${pid}`);

  test.each<[string, ContainerConfig, RegExp]>([
    [
      'no command',
      {},
      /image "app" has no default command here; set the container's command or args/,
    ],
    [
      'a program that is not there',
      { command: ['/no/such/program'] },
      /no executable "\/no\/such\/program"/,
    ],
    [
      'a working directory that is not there',
      { command: ['true'], workingDir: '/no/such/dir' },
      /working directory "\/no\/such\/dir"/,
    ],
    [
      'a user by name',
      { command: ['true'], linux: { securityContext: { runAsUsername: 'app' } } },
      /user "app"/,
    ],
  ])('refuses %s', async (_, config, message) => {
    await expect(create(config)).rejects.toThrow(message);
    expect(await runtime.runtime.listContainers()).toEqual([]);
  });

  test('standard input is a pipe, since a socket could block the runtime', async () => {
    // A program that copies from a socket to its output by sendfile(2) locks the output's pipe.
    await exited(await start('test -p /dev/stdin && echo pipe', { stdin: true }));
    expect(log()).toContain('pipe');
  });

  test('rejects sysctls and mappings of a port to another one', async () => {
    const mapped = sandbox({ portMappings: [{ containerPort: 80, hostPort: 8080 }] });
    await expect(runtime.runtime.runPodSandbox(mapped)).rejects.toThrow(
      /host port 8080 to container port 80/,
    );
    await expect(
      runtime.runtime.runPodSandbox(sandbox({ linux: { sysctls: { 'net.core.somaxconn': '1' } } })),
    ).rejects.toThrow(/sysctls/);
    await runtime.runtime.runPodSandbox(
      sandbox({ portMappings: [{ containerPort: 80, hostPort: 80 }] }),
    );
  });

  test('a container gets its own environment, not the runtime’s', async () => {
    process.env['SECRET_OF_THE_RUNTIME'] = 'x';
    await exited(await start('env', { envs: [{ key: 'MINE', value: Buffer.from('y') }] }));
    delete process.env['SECRET_OF_THE_RUNTIME'];
    expect(log()).toContain('MINE=y');
    expect(log()).not.toContain('SECRET_OF_THE_RUNTIME');
  });

  test('mounts are below $COXSWAIN_ROOT', async () => {
    writeFileSync(join(stateDir, 'config'), 'from the host');
    const id = await start('cat "$COXSWAIN_ROOT/etc/app/config"', {
      mounts: [{ containerPath: '/etc/app', hostPath: stateDir }],
    });
    expect((await exited(id)).exitCode).toBe(0);
    expect(log()).toContain('from the host');
  });

  test('processes that a program leaves running end with it', async () => {
    const id = await start('sleep 3600 & echo $!; exit 5');
    expect((await exited(id)).exitCode).toBe(5);
    const pid = Number(/F (\d+)/.exec(log())?.[1]);
    await waitFor(() => !alive(pid));
  });

  test('stopping kills the whole process tree', async () => {
    const id = await start(
      'sh -c "trap \'\' TERM; sleep 3600 & echo \\$!; wait; wait; wait" & wait',
    );
    await waitFor(() => log() !== '');
    const pid = Number(/F (\d+)/.exec(log())?.[1]);
    expect(alive(pid)).toBe(true);
    await runtime.runtime.stopContainer(id, 100);
    await waitFor(() => !alive(pid));
  });

  test('the container’s stop signal is sent', async () => {
    const id = await start('trap "exit 21" USR1; echo ready; while :; do sleep 0.05; done', {
      stopSignal: 'SIGUSR1',
    });
    await waitFor(() => log().includes('ready'));
    await runtime.runtime.stopContainer(id, 10_000);
    expect((await status(id)).exitCode).toBe(21);
  });

  test('a process that another program killed has its exit code nevertheless', async () => {
    const id = await start('echo $$; exec sleep 3600');
    await waitFor(() => log() !== '');
    process.kill(Number(/F (\d+)/.exec(log())?.[1]), 'SIGKILL');
    expect(await exited(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
  });

  test('output without a runtime is kept for the next one', async () => {
    const id = await start(
      'cd "$COXSWAIN_ROOT"; echo before; while [ ! -e go ]; do sleep 0.02; done; echo ' +
        'meanwhile; touch done; exec sleep 3600',
    );
    const root = join(stateDir, 'containers', id, 'root');
    await waitFor(() => log().includes('before'));
    await runtime.close();
    writeFileSync(join(root, 'go'), '');
    await waitFor(() => existsSync(join(root, 'done')));
    expect(log()).not.toContain('meanwhile');
    runtime = make();
    await waitFor(() => log().includes('meanwhile'));
    expect((await status(id)).state).toBe('CONTAINER_RUNNING');
  });

  test('a runtime that crashed between a start and its record does not start the container twice', async () => {
    const id = await start('echo started; exec sleep 3600');
    await waitFor(() => log().includes('started'));
    // Restores the record on disk from before the start.
    const file = join(stateDir, 'containers', id, 'record.json');
    const stored = JSON.parse(readFileSync(file, 'utf8')) as {
      record: Record<string, unknown>;
      supervisor?: unknown;
    };
    await runtime.close();
    writeFileSync(
      file,
      JSON.stringify({ record: { ...stored.record, state: 'CONTAINER_CREATED', startedAt: 0 } }),
    );
    runtime = make();
    expect((await status(id)).state).toBe('CONTAINER_RUNNING');
    await expect(runtime.runtime.startContainer(id)).rejects.toMatchObject({
      reason: 'FailedPrecondition',
    });
    await runtime.runtime.stopContainer(id, 0);
    expect((await status(id)).exitCode).toBe(137);
    expect(log().match(/started/g)).toHaveLength(1);
  });

  test('a reused pid is not mistaken for the container', async () => {
    const id = await start('exec sleep 3600');
    await runtime.runtime.stopContainer(id, 0);
    const file = join(stateDir, 'containers', id, 'record.json');
    const stored = JSON.parse(readFileSync(file, 'utf8')) as { record: Record<string, unknown> };
    await runtime.close();
    const supervisor = { pid: process.pid, startTime: 'another boot:1' };
    writeFileSync(
      file,
      JSON.stringify({ record: { ...stored.record, state: 'CONTAINER_RUNNING' }, supervisor }),
    );
    rmSync(join(stateDir, 'containers', id, 'exit'), { force: true });
    runtime = make();
    expect(await exited(id)).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  });

  test('removal leaves nothing on disk', async () => {
    const id = await start('exec sleep 3600');
    const { podSandboxId } = (await runtime.runtime.listContainers())[0]!;
    expect(existsSync(join(stateDir, 'containers', id))).toBe(true);
    await runtime.runtime.removePodSandbox(podSandboxId);
    expect(readdirSync(join(stateDir, 'containers'))).toEqual([]);
    expect(readdirSync(join(stateDir, 'sandboxes'))).toEqual([]);
  });

  test('port-forward reaches servers on the host', async () => {
    const server = createServer((socket) => socket.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const pod = await runtime.runtime.runPodSandbox(sandbox());
    const { Duplex } = await import('node:stream');
    let received = '';
    const stream = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        received += chunk.toString();
        done();
      },
    });
    await runtime.runtime.portForward(pod, port, stream);
    expect(received).toBe('hello');
    server.close();
    await expect(runtime.runtime.portForward(pod, port, stream)).rejects.toMatchObject({
      reason: 'Unavailable',
    });
  });
});
