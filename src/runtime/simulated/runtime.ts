// The RuntimeService of pods that only pretend: sandboxes and containers are records in memory, time is the clock's, and
// every change is told by an event, so that nobody has to poll.

import type { Duplex } from 'node:stream';
import { PassThrough } from 'node:stream';
import { complete, CriError, isCriError, toNanoseconds } from '../../cri/index.ts';
import type {
  AttachRequest,
  CallOptions,
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerEventType,
  ContainerFilter,
  ContainerStats,
  ContainerStatsFilter,
  ContainerStatusResponse,
  ExecRequest,
  ExecResult,
  ExecStreams,
  ExecSyncResult,
  LinuxContainerResources,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStats,
  PodSandboxStatsFilter,
  PodSandboxStatusResponse,
  Runtime,
  RuntimeConfig,
  RuntimeService,
  StatusResponse,
  VersionResponse,
} from '../../cri/index.ts';
import { systemClock } from '../../machinery/clock.ts';
import type { Clock } from '../../machinery/clock.ts';
import { systemRandom } from '../../machinery/random.ts';
import type { Random } from '../../machinery/random.ts';
import { AddressPool } from '../address-pool.ts';
import { Broadcast } from '../broadcast.ts';
import {
  containerKey,
  containerLogPath,
  matchesContainer,
  matchesSandbox,
  sandboxKey,
  toContainer,
  toContainerStatus,
  toPodSandbox,
  toPodSandboxStatus,
} from '../records.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import { containerSimulation } from './annotations.ts';
import { SimulatedContainer } from './container.ts';
import { runProgram } from './exec.ts';
import { SimulatedImages } from './images.ts';
import { program } from './program.ts';

export interface SimulatedRuntimeConfig {
  /** Default: the system's. A virtual clock works. */
  readonly clock?: Clock;
  /** Where ids come from. Default: the system's. */
  readonly random?: Random;
  /** Where pod addresses come from until updateRuntimeConfig says otherwise. Default: 10.88.0.0/16. */
  readonly podCidr?: string;
}

/** What a simulated container is said to use. */
const MEMORY_BYTES = 8 * 1024 * 1024;

interface Sandbox {
  readonly record: SandboxRecord;
  readonly key: string;
  /** By id. */
  readonly containers: Map<string, SimulatedContainer>;
}

export class SimulatedRuntime implements RuntimeService {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #images: SimulatedImages;
  #addresses: AddressPool;
  #podCidr: string;
  /** By id. */
  readonly #sandboxes = new Map<string, Sandbox>();
  /** By id; the same containers that hang in their sandboxes. */
  readonly #containers = new Map<string, SimulatedContainer>();
  /** The unique identities that are taken, of sandboxes and of containers. */
  readonly #keys = new Set<string>();
  readonly #events = new Broadcast<ContainerEvent>();

  constructor(config: SimulatedRuntimeConfig, images: SimulatedImages) {
    this.#clock = config.clock ?? systemClock;
    this.#random = config.random ?? systemRandom;
    this.#images = images;
    this.#podCidr = config.podCidr ?? '10.88.0.0/16';
    this.#addresses = new AddressPool(this.#podCidr);
  }

  version(): Promise<VersionResponse> {
    return Promise.resolve({ version: '0.1.0', runtimeName: 'simulated', runtimeVersion: '1.0.0', runtimeApiVersion: 'v1' });
  }

  status(): Promise<StatusResponse> {
    return Promise.resolve(
      complete('StatusResponse', {
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true },
            { type: 'NetworkReady', status: true },
          ],
        },
        runtimeHandlers: [{ name: '' }],
      }),
    );
  }

  async updateRuntimeConfig(config: RuntimeConfig): Promise<void> {
    const cidr = config.networkConfig?.podCidr?.split(',')[0];
    if (!cidr || cidr === this.#podCidr) return;
    this.#addresses = new AddressPool(cidr);
    this.#podCidr = cidr;
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = ''): Promise<string> {
    const key = this.#claim(sandboxKey(config), 'sandbox');
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
    try {
      const record: SandboxRecord = {
        id: this.#newId(),
        config,
        runtimeHandler,
        createdAt: this.#now(),
        ip: hostNetwork ? '' : this.#addresses.allocate(),
        state: 'SANDBOX_READY',
      };
      const sandbox = { record, key, containers: new Map<string, SimulatedContainer>() };
      this.#sandboxes.set(record.id, sandbox);
      this.#publish(sandbox, record.id, 'CONTAINER_CREATED_EVENT');
      this.#publish(sandbox, record.id, 'CONTAINER_STARTED_EVENT');
      return record.id;
    } catch (err) {
      this.#keys.delete(key);
      throw err;
    }
  }

  async stopPodSandbox(podSandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(podSandboxId);
    if (sandbox === undefined) return;
    await Promise.all([...sandbox.containers.values()].map((container) => container.stop(0)));
    if (sandbox.record.state === 'SANDBOX_NOTREADY') return;
    sandbox.record.state = 'SANDBOX_NOTREADY';
    this.#addresses.release(sandbox.record.ip);
    this.#publish(sandbox, podSandboxId, 'CONTAINER_STOPPED_EVENT');
  }

  async removePodSandbox(podSandboxId: string): Promise<void> {
    const sandbox = this.#sandboxes.get(podSandboxId);
    if (sandbox === undefined) return;
    await this.stopPodSandbox(podSandboxId);
    for (const id of sandbox.containers.keys()) this.#remove(sandbox, id);
    if (!this.#sandboxes.delete(podSandboxId)) return;
    this.#keys.delete(sandbox.key);
    this.#publish(sandbox, podSandboxId, 'CONTAINER_DELETED_EVENT');
  }

  async podSandboxStatus(podSandboxId: string): Promise<PodSandboxStatusResponse> {
    const sandbox = this.#sandbox(podSandboxId);
    return complete('PodSandboxStatusResponse', {
      status: toPodSandboxStatus(sandbox.record),
      containersStatuses: [...sandbox.containers.values()].map(({ record }) => toContainerStatus(record)),
      timestamp: this.#now(),
    });
  }

  async listPodSandbox(filter?: PodSandboxFilter): Promise<readonly PodSandbox[]> {
    return [...this.#sandboxes.values()]
      .filter(({ record }) => matchesSandbox(record, filter))
      .map(({ record }) => toPodSandbox(record));
  }

  async createContainer(podSandboxId: string, config: ContainerConfig, sandboxConfig: PodSandboxConfig): Promise<string> {
    const sandbox = this.#sandbox(podSandboxId);
    if (sandbox.record.state !== 'SANDBOX_READY') {
      throw new CriError('FailedPrecondition', `sandbox ${podSandboxId} is not ready`);
    }
    const simulation = containerSimulation(sandbox.record.config.annotations, config.metadata?.name ?? '');
    const imageRef = this.#images.use(config.image ?? {});
    this.#claim(containerKey(podSandboxId, config), 'container');
    const record: ContainerRecord = {
      id: this.#newId(),
      podSandboxId,
      config,
      imageRef,
      logPath: containerLogPath(sandboxConfig, config),
      createdAt: this.#now(),
      state: 'CONTAINER_CREATED',
      startedAt: 0,
      finishedAt: 0,
      exitCode: 0,
      reason: '',
      message: '',
    };
    const container = new SimulatedContainer({
      clock: this.#clock,
      record,
      simulation,
      hostname: sandbox.record.config.hostname || 'localhost',
      onExit: () => this.#publish(sandbox, record.id, 'CONTAINER_STOPPED_EVENT'),
    });
    sandbox.containers.set(record.id, container);
    this.#containers.set(record.id, container);
    this.#publish(sandbox, record.id, 'CONTAINER_CREATED_EVENT');
    return record.id;
  }

  async startContainer(containerId: string, options?: CallOptions): Promise<void> {
    const container = this.#container(containerId);
    const sandbox = this.#sandbox(container.record.podSandboxId);
    if (sandbox.record.state !== 'SANDBOX_READY') {
      throw new CriError('FailedPrecondition', `sandbox ${sandbox.record.id} is not ready`);
    }
    await container.start(options?.signal);
    this.#publish(sandbox, containerId, 'CONTAINER_STARTED_EVENT');
  }

  async stopContainer(containerId: string, graceMs: number): Promise<void> {
    await this.#containers.get(containerId)?.stop(graceMs);
  }

  async removeContainer(containerId: string): Promise<void> {
    const container = this.#containers.get(containerId);
    if (container === undefined) return;
    await container.stop(0);
    const sandbox = this.#sandboxes.get(container.record.podSandboxId);
    if (sandbox !== undefined) this.#remove(sandbox, containerId);
  }

  async listContainers(filter?: ContainerFilter): Promise<readonly Container[]> {
    return [...this.#containers.values()]
      .filter(({ record }) => matchesContainer(record, filter))
      .map(({ record }) => toContainer(record));
  }

  async containerStatus(containerId: string): Promise<ContainerStatusResponse> {
    return complete('ContainerStatusResponse', { status: toContainerStatus(this.#container(containerId).record) });
  }

  async updateContainerResources(containerId: string, resources: LinuxContainerResources): Promise<void> {
    const { record } = this.#container(containerId);
    const linux = { ...record.config.linux, resources: { ...record.config.linux?.resources, ...resources } };
    Object.assign(record, { config: { ...record.config, linux } });
  }

  async reopenContainerLog(containerId: string): Promise<void> {
    // The log file is opened anew for every piece of output, so there is nothing to do for one that runs.
    this.#running(containerId);
  }

  async execSync(containerId: string, command: readonly string[], options?: CallOptions): Promise<ExecSyncResult> {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const deadline = options?.timeoutMs === undefined ? undefined : this.#deadline(options.timeoutMs);
    const signals = [options?.signal, deadline?.signal].filter((signal) => signal !== undefined);
    try {
      const [out, err, { exitCode }] = await Promise.all([
        stdout.toArray(),
        stderr.toArray(),
        this.exec(containerId, { command }, { stdout, stderr }, signals.length === 0 ? undefined : AbortSignal.any(signals)),
      ]);
      return { stdout: Buffer.concat(out as Buffer[]), stderr: Buffer.concat(err as Buffer[]), exitCode };
    } finally {
      stdout.destroy();
      stderr.destroy();
      deadline?.cancel();
    }
  }

  async exec(containerId: string, request: ExecRequest, streams: ExecStreams, signal?: AbortSignal): Promise<ExecResult> {
    const container = this.#running(containerId);
    if (request.command.length === 0) throw new CriError('InvalidArgument', 'a command is needed');
    const steps = program(request.command, container.context(0));
    const ended = new AbortController();
    const forget = container.onExit(() => ended.abort(new CriError('NotFound', `container ${containerId} has exited`)));
    try {
      const until = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
      const exitCode = await runProgram(steps, { ...streams, tty: request.tty }, this.#clock, until).catch((err: unknown) => {
        // The container's end takes every process in it along.
        if (ended.signal.aborted && isCriError(err)) return 137;
        throw err;
      });
      return { exitCode: container.simulation.execExitCode ?? exitCode };
    } finally {
      forget();
    }
  }

  async attach(containerId: string, _request: AttachRequest, streams: ExecStreams, signal?: AbortSignal): Promise<void> {
    const container = this.#running(containerId);
    signal?.throwIfAborted();
    streams.stdin?.resume();
    const stopListening = container.onOutput((stream, text) => {
      const target = stream === 'stdout' ? streams.stdout : streams.stderr;
      if (target && !target.destroyed) target.write(text);
    });
    try {
      await new Promise<void>((resolve, reject) => {
        container.onExit(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    } finally {
      stopListening();
      streams.stdout?.end();
      streams.stderr?.end();
    }
  }

  async portForward(podSandboxId: string, port: number, stream: Duplex): Promise<void> {
    this.#sandbox(podSandboxId);
    stream.destroy();
    throw new CriError(
      'Unavailable',
      `failed to connect to port ${port} in sandbox ${podSandboxId}: a simulated pod does not listen`,
    );
  }

  async containerStats(containerId: string): Promise<ContainerStats> {
    return this.#stats(this.#container(containerId));
  }

  async listContainerStats(filter: ContainerStatsFilter = {}): Promise<readonly ContainerStats[]> {
    const running = { ...filter, state: { state: 'CONTAINER_RUNNING' as const } };
    return [...this.#containers.values()]
      .filter(({ record }) => matchesContainer(record, running))
      .map((container) => this.#stats(container));
  }

  async podSandboxStats(podSandboxId: string): Promise<PodSandboxStats> {
    return this.#sandboxStats(this.#sandbox(podSandboxId));
  }

  async listPodSandboxStats(filter: PodSandboxStatsFilter = {}): Promise<readonly PodSandboxStats[]> {
    return [...this.#sandboxes.values()]
      .filter(({ record }) => matchesSandbox(record, filter))
      .map((sandbox) => this.#sandboxStats(sandbox));
  }

  containerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.#events.subscribe(signal);
  }

  /** Stops the clock for every container. Their records stay as they are. */
  close(): void {
    for (const container of this.#containers.values()) container.freeze();
    this.#events.close();
  }

  #now(): number {
    return toNanoseconds(this.#clock.now());
  }

  #newId(): string {
    return Buffer.from(this.#random.bytes(32)).toString('hex');
  }

  #claim(key: string, what: string): string {
    if (this.#keys.has(key)) throw new CriError('AlreadyExists', `${what} ${key} exists already`);
    this.#keys.add(key);
    return key;
  }

  #sandbox(id: string): Sandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new CriError('NotFound', `sandbox ${JSON.stringify(id)} not found`);
    return sandbox;
  }

  #container(id: string): SimulatedContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new CriError('NotFound', `container ${JSON.stringify(id)} not found`);
    return container;
  }

  #running(id: string): SimulatedContainer {
    const container = this.#container(id);
    if (!container.running) throw new CriError('FailedPrecondition', `container ${id} is not running`);
    return container;
  }

  #remove(sandbox: Sandbox, containerId: string): void {
    const container = sandbox.containers.get(containerId);
    if (container === undefined) return;
    sandbox.containers.delete(containerId);
    this.#containers.delete(containerId);
    this.#keys.delete(containerKey(sandbox.record.id, container.record.config));
    this.#publish(sandbox, containerId, 'CONTAINER_DELETED_EVENT');
  }

  #deadline(timeoutMs: number): { signal: AbortSignal; cancel: () => void } {
    const controller = new AbortController();
    const timer = this.#clock.setTimer(timeoutMs, () =>
      controller.abort(new CriError('DeadlineExceeded', `command timed out after ${timeoutMs} ms`)),
    );
    return { signal: controller.signal, cancel: () => timer.cancel() };
  }

  #publish(sandbox: Sandbox, containerId: string, containerEventType: ContainerEventType): void {
    if (!this.#events.hasListeners) return;
    this.#events.publish({
      containerId,
      containerEventType,
      createdAt: this.#now(),
      podSandboxStatus: toPodSandboxStatus(sandbox.record),
      containersStatuses: [...sandbox.containers.values()].map(({ record }) => toContainerStatus(record)),
    });
  }

  #stats({ record, running }: SimulatedContainer): ContainerStats {
    const timestamp = this.#now();
    const memory = { value: running ? MEMORY_BYTES : 0 };
    return complete('ContainerStats', {
      attributes: {
        id: record.id,
        metadata: record.config.metadata,
        labels: record.config.labels,
        annotations: record.config.annotations,
      },
      cpu: { timestamp, usageCoreNanoSeconds: { value: 0 }, usageNanoCores: { value: 0 } },
      memory: { timestamp, workingSetBytes: memory, usageBytes: memory, rssBytes: memory },
      writableLayer: { timestamp, fsId: { mountpoint: '/' }, usedBytes: { value: 0 }, inodesUsed: { value: 0 } },
    });
  }

  #sandboxStats({ record, containers }: Sandbox): PodSandboxStats {
    const timestamp = this.#now();
    const running = [...containers.values()].filter((container) => container.running);
    const memory = { value: running.length * MEMORY_BYTES };
    return complete('PodSandboxStats', {
      attributes: {
        id: record.id,
        metadata: record.config.metadata,
        labels: record.config.labels,
        annotations: record.config.annotations,
      },
      linux: {
        cpu: { timestamp, usageCoreNanoSeconds: { value: 0 }, usageNanoCores: { value: 0 } },
        memory: { timestamp, workingSetBytes: memory, usageBytes: memory, rssBytes: memory },
        process: { timestamp, processCount: { value: running.length } },
        containers: running.map((container) => this.#stats(container)),
      },
    });
  }
}

/** Pods that only pretend. Nothing outside memory is touched but the log files of containers that write something. */
export function createSimulatedRuntime(config: SimulatedRuntimeConfig = {}): Runtime {
  const images = new SimulatedImages(config.clock ?? systemClock);
  const runtime = new SimulatedRuntime(config, images);
  return {
    name: 'simulated',
    runtime,
    images,
    close: () => Promise.resolve(runtime.close()),
  };
}
