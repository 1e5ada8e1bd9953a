// The RuntimeService of pods whose containers are processes of this host: no root, no images, no
// isolation. Features that it cannot provide are rejected (requirements.ts) or listed in the
// README.

import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  type AttachRequest,
  type CallOptions,
  complete,
  type ContainerConfig,
  type ContainerStats,
  type ContainerStatsFilter,
  CriError,
  type ExecRequest,
  type ExecResult,
  type ExecStreams,
  type ExecSyncResult,
  type LinuxContainerResources,
  type PodSandboxConfig,
  type PodSandboxStats,
  type PodSandboxStatsFilter,
  type RuntimeService,
  type StatusResponse,
} from '#cri/index.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { type Logger, silentLogger } from '#machinery/log.ts';
import { type Random, systemRandom } from '#machinery/random.ts';
import { PodRuntime, type UsableImages } from '../pod-runtime.ts';
import { PodTable } from '../pod-table.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { CDI_DIRECTORIES, withCdiDevices } from '../cdi.ts';
import { ProcessContainer } from './container.ts';
import { execProcess } from './exec.ts';
import type { Isolation } from './isolation/isolation.ts';
import { metricDescriptors } from './isolation/metrics.ts';
import { programOf } from './isolation/plan.ts';
import { forwardInNamespace } from './isolation/port-forward.ts';
import type { Tools } from './program.ts';
import { followSizes, hasPty, onPty } from './pty.ts';
import { checkContainer, checkSandbox, findExecutable } from './requirements.ts';
import { ProcessState } from './state.ts';
import { restore } from './restore.ts';
import { ProcessStats } from './runtime-stats.ts';
import {
  absoluteOnly,
  ID_VARIABLE,
  type Launchable,
  prepareContainerDir,
  trustedEnvironment,
  withUserAndEnvironment,
} from './supervisor.ts';

export interface ProcessRuntimeConfig {
  /** The directory for records of containers, which no other runtime may use. */
  readonly stateDir: string;
  /** The address that all pods have. Default: 127.0.0.1. */
  readonly hostIp?: string;
  /** The PATH for programs. Default: this process's PATH. */
  readonly path?: string;
  /** Directories of CDI specifications. Default: /etc/cdi and /var/run/cdi. */
  readonly cdiDirectories?: readonly string[];
  readonly clock?: Clock;
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
}

export class ProcessRuntime extends PodRuntime<ProcessContainer> implements RuntimeService {
  /** Only with isolation. */
  readonly listMetricDescriptors?: RuntimeService['listMetricDescriptors'];
  readonly listPodSandboxMetrics?: RuntimeService['listPodSandboxMetrics'];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #state: ProcessState;
  readonly #hostIp: string;
  readonly #cdiDirectories: readonly string[];
  readonly #path: string;
  readonly #tools: Tools;
  readonly #pods: PodTable<ProcessContainer>;
  readonly #isolation: Isolation | undefined;
  readonly #stats: ProcessStats;

  constructor(config: ProcessRuntimeConfig, images: UsableImages, isolation?: Isolation) {
    const clock = config.clock ?? systemClock;
    const pods = new PodTable<ProcessContainer>(clock);
    super({ name: 'process', clock, random: config.random ?? systemRandom, images, pods });
    this.#pods = pods;
    this.#isolation = isolation;
    this.#stats = new ProcessStats(pods, isolation);
    this.#cdiDirectories = config.cdiDirectories ?? CDI_DIRECTORIES;
    this.#clock = clock;
    this.#logger = config.logger ?? silentLogger;
    this.#hostIp = config.hostIp ?? '127.0.0.1';
    this.#path = config.path ?? process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin';
    this.#tools = findTools(this.#path);
    this.#state = new ProcessState(config.stateDir, this.#logger);
    restore({
      logger: this.#logger,
      state: this.#state,
      pods,
      adoptSandbox: (record) => isolation?.pods.adopt(record) !== false,
      containerOf: (record, sandbox) => this.#containerOf(record, sandbox),
    });
    if (isolation === undefined) return;
    this.listMetricDescriptors = () => Promise.resolve(metricDescriptors());
    this.listPodSandboxMetrics = () =>
      Promise.all(
        this.#pods.sandboxes({ state: { state: 'SANDBOX_READY' } }).map((sandbox) =>
          isolation.metrics(
            sandbox.record,
            sandbox.containers.filter(({ running }) => running).map(({ record }) => record),
            this.#pods.now(),
          ),
        ),
      );
    isolation.leftovers.watchImages(
      () => new Set(this.#pods.containers().map(({ record }) => record.imageRef)),
    );
  }

  status(): Promise<StatusResponse> {
    return Promise.resolve(
      complete('StatusResponse', {
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true },
            { type: 'NetworkReady', status: true },
            ...(this.#isolation === undefined ? [NO_ISOLATION] : []),
          ],
        },
        runtimeHandlers: [
          {
            name: '',
            ...(this.#isolation !== undefined && { features: { recursiveReadOnlyMounts: true } }),
          },
        ],
        ...(this.#isolation !== undefined && { features: { supplementalGroupsPolicy: true } }),
      }),
    );
  }

  /** Nothing to configure: pods are on the host's network. */
  updateRuntimeConfig(): Promise<void> {
    return Promise.resolve();
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = ''): Promise<string> {
    if (runtimeHandler !== '')
      throw new CriError(
        'InvalidArgument',
        `no runtime handler ${JSON.stringify(runtimeHandler)} is configured`,
      );
    if (this.#isolation !== undefined)
      return this.#runIsolatedSandbox(this.#isolation, config, runtimeHandler);
    checkSandbox(config);
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
    const sandbox = this.#pods.addSandbox(
      this.newSandboxRecord(config, runtimeHandler, hostNetwork ? '' : this.#hostIp),
    );
    this.#state.saveSandbox(sandbox.record);
    this.publishSandbox(sandbox);
    return sandbox.record.id;
  }

  async #runIsolatedSandbox(
    isolation: Isolation,
    config: PodSandboxConfig,
    runtimeHandler: string,
  ): Promise<string> {
    isolation.pods.check(config);
    const sandbox = this.#pods.addSandbox(
      this.newSandboxRecord(config, runtimeHandler, isolation.pods.allocateAddress(config)),
    );
    const { record } = sandbox;
    record.state = 'SANDBOX_NOTREADY';
    try {
      await isolation.pods.start(record);
      record.state = 'SANDBOX_READY';
      this.#state.saveSandbox(record);
    } catch (error) {
      this.#pods.removeSandbox(record.id);
      throw error;
    }
    this.publishSandbox(sandbox);
    return record.id;
  }

  async stopPodSandbox(podSandboxId: string): Promise<void> {
    const sandbox = this.#pods.findSandbox(podSandboxId);
    if (sandbox === undefined) return;
    const wasReady = sandbox.record.state === 'SANDBOX_READY';
    // Set first, so that no container is started in it any more.
    sandbox.record.state = 'SANDBOX_NOTREADY';
    this.#state.saveSandbox(sandbox.record);
    await Promise.all(sandbox.containers.map((container) => container.stop(0)));
    await this.#isolation?.pods.stop(sandbox.record);
    if (wasReady) this.#pods.publish(sandbox, podSandboxId, 'CONTAINER_STOPPED_EVENT');
  }

  async createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
  ): Promise<string> {
    this.#pods.readySandbox(podSandboxId);
    const withDevices = await withCdiDevices(config, {
      directories: this.#cdiDirectories,
      reason: 'the process runtime runs host processes',
      logger: this.#logger,
    });
    // The sandbox may have been stopped meanwhile.
    const sandbox = this.#pods.readySandbox(podSandboxId);
    const wanted = this.#isolation?.withImageRefs(withDevices) ?? withDevices;
    const record = this.newContainerRecord(podSandboxId, wanted, sandboxConfig);
    const container = this.#containerOf(record, sandbox.record);
    if (this.#isolation !== undefined) {
      this.#isolation.checkContainer(withDevices);
      const image = this.#isolation.imageOf(record);
      programOf(withDevices, image.config);
      const { uid, gid, groups } = this.#isolation.accountOf(withDevices, image);
      record.user = { uid, gid, supplementalGroups: [...groups] };
    } else {
      this.#check(container);
    }
    this.#pods.addContainer(container);
    try {
      this.#isolation?.createContainer(record, sandbox.record.config);
      const hidden = await prepareContainerDir(
        container.dir,
        this.#isolation === undefined ? withDevices : {},
      );
      if (hidden.length > 0) {
        this.#logger.warn('container mounts are hidden by existing files', {
          container: record.id,
          paths: hidden.join(', '),
        });
      }
      container.save();
    } catch (error) {
      this.#pods.removeContainer(record.id);
      this.#state.removeContainer(record.id);
      if (error instanceof CriError) throw error;
      throw new CriError('Internal', `cannot create the container's directory: ${String(error)}`, {
        cause: error,
      });
    }
    this.#pods.publish(sandbox, record.id, 'CONTAINER_CREATED_EVENT');
    return record.id;
  }

  async startContainer(containerId: string): Promise<void> {
    const container = this.#pods.container(containerId);
    const sandbox = this.#pods.readySandbox(container.record.podSandboxId);
    await container.start(this.#launchable(container, sandbox.record));
    this.#pods.publish(sandbox, containerId, 'CONTAINER_STARTED_EVENT');
  }

  /** Returns how the container's program is run: on the host, or in namespaces. */
  #launchable(container: ProcessContainer, sandbox: SandboxRecord): Launchable {
    const { record, dir, env, cwd } = container;
    if (this.#isolation !== undefined) {
      const targetId = record.config.linux?.securityContext?.namespaceOptions?.targetId;
      const target = targetId ? this.#pods.runningContainer(targetId).programPid : undefined;
      const placed = this.#isolation.placement.place(record, sandbox, dir, target);
      const tty = record.config.tty === true;
      if (tty && !hasPty())
        throw new CriError(
          'Unimplemented',
          'a container with a terminal needs the script command of util-linux',
        );
      return {
        ...placed,
        ...(tty && { command: onPty(placed.command, terminalOf(dir)) }),
        cwd: '/',
        reports: true,
        needsInput: tty,
      };
    }
    const program = this.#check(container);
    return {
      command: withUserAndEnvironment(program, this.#tools, dir),
      env,
      owner: program.runAs?.uid,
      cwd,
      reports: false,
    };
  }

  async updateContainerResources(
    containerId: string,
    resources: LinuxContainerResources = {},
  ): Promise<void> {
    const container = this.#pods.container(containerId);
    const { record } = container;
    if (this.#isolation !== undefined) {
      const { config } = this.#pods.sandbox(record.podSandboxId).record;
      this.#isolation.updateContainer(record, config, resources);
      const { linux } = record.config;
      record.config = {
        ...record.config,
        linux: { ...linux, resources: { ...linux?.resources, ...resources } },
      };
      container.save();
      return;
    }
    throw new CriError('Unimplemented', 'the process runtime does not limit what a process uses');
  }

  async reopenContainerLog(containerId: string): Promise<void> {
    this.#pods.runningContainer(containerId).reopenLog();
  }

  async execSync(
    containerId: string,
    command: readonly string[],
    options?: CallOptions,
  ): Promise<ExecSyncResult> {
    return await this.collectOutput(options, (streams, signals) =>
      this.exec(
        containerId,
        { command, stdout: true, stderr: true },
        streams,
        signals.length === 0 ? undefined : AbortSignal.any([...signals]),
      ),
    );
  }

  async exec(
    containerId: string,
    request: ExecRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    const container = this.#pods.runningContainer(containerId);
    const inContainer = this.#execCommand(container);
    // When the container exits, all processes in it end.
    const ended = new AbortController();
    const forget = container.onExit(() =>
      ended.abort(new CriError('NotFound', `container ${containerId} has exited`)),
    );
    const until = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
    try {
      const config = {
        clock: this.#clock,
        trustedEnv: trustedEnvironment(this.#path),
        env: container.env,
        cwd: this.#isolation === undefined ? container.cwd : '/',
        dir: container.dir,
        id: this.newId().slice(0, 12),
        onHost: this.#isolation === undefined,
        inContainer,
      };
      return { exitCode: await execProcess(config, request, streams, until) };
    } catch (error) {
      if (ended.signal.aborted && signal?.aborted !== true) return { exitCode: 137 };
      throw error;
    } finally {
      forget();
    }
  }

  /** Returns the function that makes a command run in the container. */
  #execCommand(
    container: ProcessContainer,
  ): (command: readonly [string, ...string[]]) => readonly string[] {
    const { record, dir } = container;
    const isolation = this.#isolation;
    if (isolation === undefined) {
      const { runAs } = this.#check(container);
      return (command) => withUserAndEnvironment({ command, runAs }, this.#tools, dir);
    }
    const pid = container.programPid;
    if (pid === undefined)
      throw new CriError('FailedPrecondition', `container ${record.id} is not running`);
    const sandbox = this.#pods.sandbox(record.podSandboxId).record;
    return (command) => isolation.placement.placeExec(record, sandbox, dir, pid, command);
  }

  async attach(
    containerId: string,
    request: AttachRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<void> {
    const container = this.#pods.runningContainer(containerId);
    signal?.throwIfAborted();
    const { stdin } = container;
    if (request.stdin && streams.stdin) {
      if (stdin === undefined)
        throw new CriError(
          'FailedPrecondition',
          `container ${containerId} has no standard input, or lost it when the runtime was restarted`,
        );
      streams.stdin.pipe(stdin, { end: container.record.config.stdinOnce ?? false });
    }
    if (this.#isolation !== undefined && container.record.config.tty && streams.resize) {
      // Ends with the caller's sizes, or with the terminal.
      void followSizes(terminalOf(container.dir), streams.resize, () => Promise.resolve()).catch(
        () => undefined,
      );
    }
    try {
      await this.followOutput(container, streams, signal);
    } finally {
      if (stdin) streams.stdin?.unpipe(stdin);
    }
  }

  async portForward(
    podSandboxId: string,
    port: number,
    stream: Duplex,
    signal?: AbortSignal,
  ): Promise<void> {
    const { record } = this.#pods.readySandbox(podSandboxId);
    if (this.#isolation !== undefined && record.ip !== '') {
      await forwardInNamespace(
        this.#isolation.placement.enterNetwork(record),
        port,
        stream,
        signal,
      );
      return;
    }
    // A port-forward reaches servers on loopback, as in a pod with its own network.
    const socket = connect({ port, host: '127.0.0.1', ...(signal && { signal }) });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (err) =>
        reject(
          new CriError('Unavailable', `cannot connect to port ${port}: ${err.message}`, {
            cause: err,
          }),
        ),
      );
    });
    // Either side may end first; if one side is aborted, the other is, too.
    socket.on('error', () => stream.destroy());
    stream.on('error', () => socket.destroy());
    socket.once('close', () => !stream.writableEnded && stream.end());
    stream.once('close', () => socket.destroy());
    stream.pipe(socket).pipe(stream);
    await finished(socket).catch(() => undefined);
    signal?.throwIfAborted();
  }

  async containerStats(containerId: string): Promise<ContainerStats> {
    return await this.#stats.ofContainer(this.#pods.container(containerId));
  }

  async listContainerStats(filter: ContainerStatsFilter = {}): Promise<readonly ContainerStats[]> {
    const running = { ...filter, state: { state: 'CONTAINER_RUNNING' } } as const;
    return await this.#stats.ofContainers(this.#pods.containers(running));
  }

  async podSandboxStats(podSandboxId: string): Promise<PodSandboxStats> {
    return await this.#stats.ofSandbox(this.#pods.sandbox(podSandboxId));
  }

  async listPodSandboxStats(filter?: PodSandboxStatsFilter): Promise<readonly PodSandboxStats[]> {
    return await this.#stats.ofSandboxes(this.#pods.sandboxes(filter));
  }

  /** Releases every container; they keep running. */
  close(): void {
    for (const container of this.#pods.containers()) container.release();
    this.#pods.close();
  }

  #containerOf(record: ContainerRecord, sandbox: SandboxRecord): ProcessContainer {
    const root = join(this.#state.containerDir(record.id), 'root');
    const decoder = new TextDecoder();
    const env: Record<string, string> = {
      PATH: this.#path,
      HOSTNAME: sandbox.config.hostname ?? '',
      HOME: root,
    };
    for (const { key, value } of record.config.envs ?? [])
      if (key) env[key] = value === undefined ? '' : decoder.decode(value);
    return new ProcessContainer({
      clock: this.#clock,
      logger: this.#logger,
      path: this.#path,
      state: this.#state,
      record,
      ...(this.#isolation !== undefined && {
        reasonOf: (ended: ContainerRecord, exitCode: number) =>
          this.#isolation!.exited(ended, sandbox.config, exitCode),
      }),
      env: { ...env, COXSWAIN_ROOT: root, [ID_VARIABLE]: record.id },
      cwd: record.config.workingDir || root,
      onExit: () => {
        const open = this.#pods.findSandbox(record.podSandboxId);
        if (open !== undefined) this.#pods.publish(open, record.id, 'CONTAINER_STOPPED_EVENT');
      },
    });
  }

  #check(container: ProcessContainer): ReturnType<typeof checkContainer> {
    const { config } = container.record;
    return checkContainer(config, container.env['PATH'] ?? this.#path, container.cwd, this.#tools);
  }

  protected override sandboxRemoved(podSandboxId: string): void {
    this.#isolation?.pods.remove(podSandboxId);
    this.#state.removeSandbox(podSandboxId);
  }

  protected override containerRemoving({ record }: ProcessContainer): void {
    if (this.#isolation === undefined) return;
    const { config } = this.#pods.sandbox(record.podSandboxId).record;
    this.#isolation.removeContainer(record, config);
  }

  protected override containerRemoved(containerId: string): void {
    this.#isolation?.leftovers.discard(this.#state.containerDir(containerId));
    this.#state.removeContainer(containerId);
  }
}

/**
 * A condition of the node: this runtime does not enforce the restrictions of a namespace's Pod
 * Security level.
 */
const NO_ISOLATION = {
  type: 'coxswain.dev/ContainerIsolation',
  status: false,
  reason: 'HostProcesses',
  message:
    'containers are processes of this host: limits, read-only file systems, capabilities and ' +
    'namespaces are not enforced, and Pod Security levels protect nothing',
};

/** Returns the file that names a container's terminal. */
const terminalOf = (dir: string): string => join(dir, 'terminal');

/** Finds the programs that run with the rights of this process. Throws if env(1) is missing. */
function findTools(path: string): Tools {
  const trusted = absoluteOnly(path);
  const env = findExecutable('env', trusted, '/');
  if (env === undefined)
    throw new Error(`the process runtime needs the program env, which is not on PATH (${trusted})`);
  return { env, setpriv: findExecutable('setpriv', trusted, '/') };
}
