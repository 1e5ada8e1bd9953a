// A RuntimeService that uses the CRI of a container runtime (containerd, or any other). Every
// method without streams is one gRPC call; exec, attach and port-forward connect to the URL in the
// runtime's response, over SPDY.

import { type Duplex, Readable, Writable } from 'node:stream';
import {
  type AttachRequest,
  type CallOptions,
  type Container,
  type ContainerConfig,
  type ContainerEvent,
  type ContainerFilter,
  type ContainerStats,
  type ContainerStatsFilter,
  type ContainerStatusResponse,
  CriError,
  type ExecRequest,
  type ExecResult,
  type ExecStreams,
  type ExecSyncResult,
  isCriError,
  type LinuxContainerResources,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStats,
  type PodSandboxStatsFilter,
  type PodSandboxStatusResponse,
  type RuntimeConfig,
  type RuntimeService,
  type StatusResponse,
  type VersionResponse,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { execOverSpdy, portForwardOverSpdy } from '#machinery/streams/remotecommand/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { CDI_DIRECTORIES, withCdiDevices } from '../cdi.ts';
import type { CriConnection } from './connection.ts';
import { withRpcCode } from './errors.ts';
import { containerEvents } from './events.ts';
import type { ImageMounts } from './image-mounts.ts';

/** The additional time for a call with its own time limit. */
const SLACK_MS = 120_000;
/** The time limit for pulling a sandbox's image and setting up its network. */
const RUN_SANDBOX_TIMEOUT_MS = 240_000;

export class ContainerdRuntime implements RuntimeService {
  readonly #connection: CriConnection;
  readonly #clock: Clock;
  readonly #imageMounts: ImageMounts;

  constructor(connection: CriConnection, clock: Clock, imageMounts: ImageMounts) {
    this.#connection = connection;
    this.#clock = clock;
    this.#imageMounts = imageMounts;
  }

  version(options?: CallOptions): Promise<VersionResponse> {
    return this.#connection.call('RuntimeService', 'Version', { version: 'v1' }, options);
  }

  status(options: CallOptions & { verbose?: boolean } = {}): Promise<StatusResponse> {
    return this.#connection.call(
      'RuntimeService',
      'Status',
      { verbose: options.verbose ?? false },
      options,
    );
  }

  async updateRuntimeConfig(runtimeConfig: RuntimeConfig, options?: CallOptions): Promise<void> {
    await this.#connection.call(
      'RuntimeService',
      'UpdateRuntimeConfig',
      { runtimeConfig },
      options,
    );
  }

  async runPodSandbox(
    config: PodSandboxConfig,
    runtimeHandler = '',
    options?: CallOptions,
  ): Promise<string> {
    const request = { config, runtimeHandler };
    const limits = { timeoutMs: RUN_SANDBOX_TIMEOUT_MS, ...options };
    try {
      return (await this.#connection.call('RuntimeService', 'RunPodSandbox', request, limits))
        .podSandboxId;
    } catch (error) {
      throw error instanceof CriError ? withRpcCode(error) : error;
    }
  }

  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void> {
    return unlessGone(
      this.#connection.call('RuntimeService', 'StopPodSandbox', { podSandboxId }, options),
    );
  }

  async removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void> {
    await unlessGone(
      this.#connection.call('RuntimeService', 'RemovePodSandbox', { podSandboxId }, options),
    );
    await this.#imageMounts.release(podSandboxId);
  }

  podSandboxStatus(
    podSandboxId: string,
    options: CallOptions & { verbose?: boolean } = {},
  ): Promise<PodSandboxStatusResponse> {
    const request = { podSandboxId, verbose: options.verbose ?? false };
    return this.#connection.call('RuntimeService', 'PodSandboxStatus', request, options);
  }

  async listPodSandbox(
    filter?: PodSandboxFilter,
    options?: CallOptions,
  ): Promise<readonly PodSandbox[]> {
    return (await this.#connection.call('RuntimeService', 'ListPodSandbox', { filter }, options))
      .items;
  }

  async createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string> {
    const withDevices = await this.#withCdiDevices(config, options);
    const prepared = await this.#imageMounts.prepare(podSandboxId, withDevices, options);
    const request = { podSandboxId, config: prepared, sandboxConfig };
    return (await this.#connection.call('RuntimeService', 'CreateContainer', request, options))
      .containerId;
  }

  /** Makes the edits of CDI devices for a containerd before 1.7, which would ignore the devices. */
  async #withCdiDevices(config: ContainerConfig, options?: CallOptions): Promise<ContainerConfig> {
    if ((config.CDIDevices ?? []).length === 0) return config;
    const { runtimeName, runtimeVersion } = await this.version(options);
    if (runtimeName !== 'containerd' || !/^v?(0|1\.[0-6])\./.test(runtimeVersion)) return config;
    return await withCdiDevices(config, {
      directories: CDI_DIRECTORIES,
      reason: `containerd ${runtimeVersion} has no CDI`,
    });
  }

  async startContainer(containerId: string, options?: CallOptions): Promise<void> {
    await this.#connection.call('RuntimeService', 'StartContainer', { containerId }, options);
  }

  stopContainer(containerId: string, graceMs: number, options?: CallOptions): Promise<void> {
    const timeout = Math.ceil(Math.max(graceMs, 0) / 1000);
    const limits = { timeoutMs: timeout * 1000 + SLACK_MS, ...options };
    return unlessGone(
      this.#connection.call('RuntimeService', 'StopContainer', { containerId, timeout }, limits),
    );
  }

  removeContainer(containerId: string, options?: CallOptions): Promise<void> {
    return unlessGone(
      this.#connection.call('RuntimeService', 'RemoveContainer', { containerId }, options),
    );
  }

  async listContainers(
    filter?: ContainerFilter,
    options?: CallOptions,
  ): Promise<readonly Container[]> {
    return (await this.#connection.call('RuntimeService', 'ListContainers', { filter }, options))
      .containers;
  }

  containerStatus(
    containerId: string,
    options: CallOptions & { verbose?: boolean } = {},
  ): Promise<ContainerStatusResponse> {
    const request = { containerId, verbose: options.verbose ?? false };
    return this.#connection.call('RuntimeService', 'ContainerStatus', request, options);
  }

  async checkpointContainer(
    containerId: string,
    location: string,
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<void> {
    await this.#connection.call(
      'RuntimeService',
      'CheckpointContainer',
      { containerId, location, timeout: timeoutSeconds },
      options,
    );
  }

  async updateContainerResources(
    containerId: string,
    linux: LinuxContainerResources,
    options?: CallOptions,
  ): Promise<void> {
    await this.#connection.call(
      'RuntimeService',
      'UpdateContainerResources',
      { containerId, linux },
      options,
    );
  }

  async reopenContainerLog(containerId: string, options?: CallOptions): Promise<void> {
    await this.#connection.call('RuntimeService', 'ReopenContainerLog', { containerId }, options);
  }

  async execSync(
    containerId: string,
    command: readonly string[],
    options: CallOptions = {},
  ): Promise<ExecSyncResult> {
    const { signal, timeoutMs } = options;
    // The runtime kills the command after its own timeout, in seconds; 0 means none.
    const timeout = timeoutMs === undefined ? 0 : Math.max(1, Math.ceil(timeoutMs / 1000));
    // Without a timeout the call may take up to a day.
    const limits = { signal, timeoutMs: timeout === 0 ? 86_400_000 : timeout * 1000 + SLACK_MS };
    const request = { containerId, cmd: command, timeout };
    const { stdout, stderr, exitCode } = await this.#connection.call(
      'RuntimeService',
      'ExecSync',
      request,
      limits,
    );
    return { stdout, stderr, exitCode };
  }

  async exec(
    containerId: string,
    request: ExecRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    const wanted = wantedStreams(request);
    const { url } = await this.#connection.call(
      'RuntimeService',
      'Exec',
      { containerId, cmd: request.command, ...wanted },
      { signal },
    );
    return this.#stream(url, wanted, streams, signal);
  }

  async attach(
    containerId: string,
    request: AttachRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<void> {
    const wanted = wantedStreams(request);
    const { url } = await this.#connection.call(
      'RuntimeService',
      'Attach',
      { containerId, ...wanted },
      { signal },
    );
    await this.#stream(url, wanted, streams, signal);
  }

  async portForward(
    podSandboxId: string,
    port: number,
    stream: Duplex,
    signal?: AbortSignal,
  ): Promise<void> {
    const { url } = await this.#connection.call(
      'RuntimeService',
      'PortForward',
      { podSandboxId, port: [port] },
      { signal },
    );
    const client = await portForwardOverSpdy({ url, clock: this.#clock, signal }).catch(
      (error: unknown) => fail(error, signal),
    );
    try {
      await client.forward(port, stream);
    } catch (error) {
      fail(error, signal);
    } finally {
      client.close();
    }
  }

  async containerStats(containerId: string, options?: CallOptions): Promise<ContainerStats> {
    const { stats } = await this.#connection.call(
      'RuntimeService',
      'ContainerStats',
      { containerId },
      options,
    );
    if (stats === undefined) throw new CriError('NotFound', `no stats of container ${containerId}`);
    return stats;
  }

  async listContainerStats(
    filter?: ContainerStatsFilter,
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]> {
    return (
      await this.#connection.call('RuntimeService', 'ListContainerStats', { filter }, options)
    ).stats;
  }

  async podSandboxStats(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStats> {
    const { stats } = await this.#connection.call(
      'RuntimeService',
      'PodSandboxStats',
      { podSandboxId },
      options,
    );
    if (stats === undefined) throw new CriError('NotFound', `no stats of sandbox ${podSandboxId}`);
    return stats;
  }

  async listPodSandboxStats(
    filter?: PodSandboxStatsFilter,
    options?: CallOptions,
  ): Promise<readonly PodSandboxStats[]> {
    return (
      await this.#connection.call('RuntimeService', 'ListPodSandboxStats', { filter }, options)
    ).stats;
  }

  containerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return containerEvents(
      { connection: this.#connection, runtime: this, clock: this.#clock },
      signal,
    );
  }

  async #stream(
    url: string,
    wanted: WantedStreams,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    // The server waits for every announced stream, so a missing one is replaced by an empty one.
    const connected = {
      tty: wanted.tty,
      stdin: wanted.stdin ? (streams.stdin ?? Readable.from([])) : undefined,
      stdout: wanted.stdout ? (streams.stdout ?? discard()) : undefined,
      stderr: wanted.stderr ? (streams.stderr ?? discard()) : undefined,
      resize: streams.resize,
    };
    try {
      return await execOverSpdy({ url, clock: this.#clock, signal }, connected);
    } catch (error) {
      return fail(error, signal);
    }
  }
}

interface WantedStreams {
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/**
 * Returns the streams to request. A runtime rejects an exec without any stream; its output is then
 * requested and discarded.
 */
function wantedStreams({
  tty = false,
  stdin = false,
  stdout = false,
  stderr = false,
}: AttachRequest): WantedStreams {
  const wanted = { tty, stdin, stdout, stderr: stderr && !tty };
  return wanted.stdin || wanted.stdout || wanted.stderr ? wanted : { ...wanted, stdout: true };
}

function discard(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isCriError(error, 'NotFound')) throw error;
  }
}

/** Throws an error of streaming as a CriError, or the signal's reason. */
function fail(err: unknown, signal: AbortSignal | undefined): never {
  signal?.throwIfAborted();
  if (err instanceof CriError) throw err;
  throw new CriError('Internal', errorMessage(err), { cause: err });
}
