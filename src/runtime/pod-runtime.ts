// The common part of the runtimes process and simulated: the methods of RuntimeService that depend
// only on records of sandboxes and containers.

import { PassThrough, type Readable } from 'node:stream';
import {
  type CallOptions,
  type Container,
  type ContainerConfig,
  type ContainerEvent,
  type ContainerFilter,
  type ContainerStatusResponse,
  CriError,
  type ExecResult,
  type ExecStreams,
  type ExecSyncResult,
  type ImageSpec,
  type LogStream,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStatusResponse,
  type VersionResponse,
} from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { PodTable, Recorded, Sandbox } from './pod-table.ts';
import {
  containerLogPath,
  type ContainerRecord,
  notStarted,
  type SandboxRecord,
} from './records.ts';

/** The maximum number of bytes of each stream that execSync returns. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** The images of a node, as far as containers need them. */
export interface UsableImages {
  /**
   * Returns the reference of the image for a container to be made from. Throws ImageNotFound if it
   * is not there.
   */
  use(spec: ImageSpec): string;
}

/** A container that the runtime manages. */
export interface ManagedContainer extends Recorded {
  /**
   * Sends SIGTERM, and SIGKILL after the grace period. Resolves when the container has exited; at
   * once if it has already.
   */
  stop(graceMs: number): Promise<void>;
  /**
   * Calls back on exit, at once if the container has exited. Returns a function that removes the
   * callback.
   */
  onExit(callback: () => void): () => void;
  /** Calls back for all output from now on. Returns a function that removes the callback. */
  onOutput(listener: (stream: LogStream, chunk: Buffer) => void): () => void;
}

export interface PodRuntimeConfig<C extends ManagedContainer> {
  /** For example 'process'. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly images: UsableImages;
  readonly pods: PodTable<C>;
}

export abstract class PodRuntime<C extends ManagedContainer> {
  readonly #config: PodRuntimeConfig<C>;
  readonly #pods: PodTable<C>;

  constructor(config: PodRuntimeConfig<C>) {
    this.#config = config;
    this.#pods = config.pods;
  }

  abstract stopPodSandbox(podSandboxId: string): Promise<void>;

  /** Deletes state of a sandbox outside of the table. Its containers are removed already. */
  protected abstract sandboxRemoved(podSandboxId: string): void;

  /** Called before a container is removed. */
  protected containerRemoving(_container: C): void {
    // Most runtimes have nothing to do.
  }

  /** Deletes what the runtime keeps of a container outside of the table. */
  protected abstract containerRemoved(containerId: string): void;

  version(): Promise<VersionResponse> {
    const { name } = this.#config;
    return Promise.resolve({
      version: '0.1.0',
      runtimeName: name,
      runtimeVersion: '1.0.0',
      runtimeApiVersion: 'v1',
    });
  }

  async removePodSandbox(podSandboxId: string): Promise<void> {
    const sandbox = this.#pods.findSandbox(podSandboxId);
    if (sandbox === undefined) return;
    await this.stopPodSandbox(podSandboxId);
    for (const id of sandbox.containers.map(({ record }) => record.id)) this.#remove(sandbox, id);
    // Another call may have removed the sandbox meanwhile.
    if (this.#pods.findSandbox(podSandboxId) === undefined) return;
    this.sandboxRemoved(podSandboxId);
    this.#pods.removeSandbox(podSandboxId);
    this.#pods.publish(sandbox, podSandboxId, 'CONTAINER_DELETED_EVENT');
  }

  async podSandboxStatus(podSandboxId: string): Promise<PodSandboxStatusResponse> {
    return this.#pods.podSandboxStatus(podSandboxId);
  }

  async listPodSandbox(filter?: PodSandboxFilter): Promise<readonly PodSandbox[]> {
    return this.#pods.listPodSandbox(filter);
  }

  async stopContainer(containerId: string, graceMs: number): Promise<void> {
    await this.#pods.findContainer(containerId)?.stop(graceMs);
  }

  async removeContainer(containerId: string): Promise<void> {
    const container = this.#pods.findContainer(containerId);
    if (container === undefined) return;
    await container.stop(0);
    const sandbox = this.#pods.findSandbox(container.record.podSandboxId);
    if (sandbox !== undefined) this.#remove(sandbox, containerId);
  }

  async listContainers(filter?: ContainerFilter): Promise<readonly Container[]> {
    return this.#pods.listContainers(filter);
  }

  async containerStatus(containerId: string): Promise<ContainerStatusResponse> {
    return this.#pods.containerStatus(containerId);
  }

  containerEvents(signal: AbortSignal): AsyncIterable<ContainerEvent> {
    return this.#pods.events(signal);
  }

  /** Returns the record of a ready sandbox. `ip`: empty in the host's network. */
  protected newSandboxRecord(
    config: PodSandboxConfig,
    runtimeHandler: string,
    ip: string,
  ): SandboxRecord {
    return {
      id: this.newId(),
      config,
      runtimeHandler,
      createdAt: this.#pods.now(),
      ip,
      state: 'SANDBOX_READY',
    };
  }

  /**
   * Returns the record of a container before its start. Throws NotFound if its image is not on the
   * node.
   */
  protected newContainerRecord(
    podSandboxId: string,
    config: ContainerConfig,
    sandbox: PodSandboxConfig,
  ): ContainerRecord {
    return {
      id: this.newId(),
      podSandboxId,
      config,
      imageRef: this.#config.images.use(config.image ?? {}),
      logPath: containerLogPath(sandbox, config),
      createdAt: this.#pods.now(),
      ...notStarted,
    };
  }

  /** Publishes that a sandbox was created and runs. */
  protected publishSandbox(sandbox: Sandbox<C>): void {
    const { id } = sandbox.record;
    this.#pods.publish(sandbox, id, 'CONTAINER_CREATED_EVENT');
    this.#pods.publish(sandbox, id, 'CONTAINER_STARTED_EVENT');
  }

  protected newId(): string {
    return Buffer.from(this.#config.random.bytes(32)).toString('hex');
  }

  /**
   * Runs a command by `exec` and returns its output, at most MAX_OUTPUT_BYTES of each stream.
   * `exec` must end both streams, and reject when one of the signals aborts. Rejects with
   * DeadlineExceeded after `options.timeoutMs`.
   */
  protected async collectOutput(
    options: CallOptions | undefined,
    exec: (streams: ExecStreams, signals: readonly AbortSignal[]) => Promise<ExecResult>,
  ): Promise<ExecSyncResult> {
    const { signal, timeoutMs } = options ?? {};
    const signals = signal === undefined ? [] : [signal];
    const late = new AbortController();
    if (timeoutMs !== undefined) signals.push(late.signal);
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.#config.clock.setTimer(timeoutMs, () =>
            late.abort(new CriError('DeadlineExceeded', `command timed out after ${timeoutMs} ms`)),
          );
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    try {
      const [out, err, { exitCode }] = await Promise.all([
        readUpTo(stdout, MAX_OUTPUT_BYTES),
        readUpTo(stderr, MAX_OUTPUT_BYTES),
        exec({ stdout, stderr }, signals),
      ]);
      return { stdout: out, stderr: err, exitCode };
    } finally {
      timer?.cancel();
      stdout.destroy();
      stderr.destroy();
    }
  }

  /**
   * Copies the output of a running container from now on, until it exits. Ends the streams. Rejects
   * when the signal aborts.
   */
  protected async followOutput(
    container: C,
    { stdout, stderr }: ExecStreams,
    signal?: AbortSignal,
  ): Promise<void> {
    const stopListening = container.onOutput((stream, chunk) => {
      const target = stream === 'stdout' ? stdout : stderr;
      if (target && !target.destroyed && !target.writableEnded) target.write(chunk);
    });
    try {
      await new Promise<void>((resolve, reject) => {
        container.onExit(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    } finally {
      stopListening();
      stdout?.end();
      stderr?.end();
    }
  }

  #remove(sandbox: Sandbox<C>, containerId: string): void {
    const container = this.#pods.findContainer(containerId);
    if (container !== undefined) this.containerRemoving(container);
    if (!this.#pods.removeContainer(containerId)) return;
    this.containerRemoved(containerId);
    this.#pods.publish(sandbox, containerId, 'CONTAINER_DELETED_EVENT');
  }
}

/** Reads the stream to its end, and returns its first `limit` bytes. */
async function readUpTo(stream: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    if (size < limit) chunks.push((chunk as Buffer).subarray(0, limit - size));
    size += (chunk as Buffer).length;
  }
  return Buffer.concat(chunks);
}
