// The runtime contract: what a kubelet asks of a container runtime, whichever it is.
// Implementations are in src/runtime; criConformance (conformance.ts) is the one suite that they
// all pass.
//
// Promised by every implementation:
// - stopPodSandbox, stopContainer, removePodSandbox and removeContainer are idempotent: doing them
//   again, or on something that is gone, succeeds. Status calls on something that is gone reject
//   with NotFound.
// - A container's log is a file in CRI format (`<RFC 3339 time, nanoseconds> <stdout|stderr> <F|P>
//   <content>`) at the sandbox's logDirectory joined with the container's logPath, if both are
//   given.
// - Timestamps are nanoseconds since the epoch; 0 is "not yet".
// - A call that is aborted while it waits rejects with the signal's reason. Its effect is unknown.
//   Not promised: any order of lists; that a caller learns of a state change other than by asking
//   (containerEvents is optional).

import type { Duplex, Readable, Writable } from 'node:stream';
import type {
  AuthConfig,
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerStats,
  ContainerStatsFilter,
  ContainerStatusResponse,
  Image,
  ImageFilter,
  ImageFsInfo,
  ImageSpec,
  ImageStatusResponse,
  LinuxContainerResources,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStats,
  PodSandboxStatsFilter,
  PodSandboxStatusResponse,
  RuntimeConfig,
  StatusResponse,
  VersionResponse,
} from './types.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Rejects with DeadlineExceeded after this long. Default: the implementation's own (2 minutes for
   * a call to a runtime).
   */
  readonly timeoutMs?: number | undefined;
}

export interface TerminalSize {
  /** Columns. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
}

export interface ExecRequest {
  /** Program and arguments; not run by a shell. */
  readonly command: readonly string[];
  /** With a terminal, stdout and stderr are one stream: stdout. */
  readonly tty?: boolean | undefined;
  /**
   * Which streams to connect. A stream that is not connected is empty, or its output is thrown
   * away.
   */
  readonly stdin?: boolean | undefined;
  readonly stdout?: boolean | undefined;
  readonly stderr?: boolean | undefined;
}

export type AttachRequest = Omit<ExecRequest, 'command'>;

/**
 * The caller's ends of the streams. The runtime reads stdin to its end, and writes to stdout and
 * stderr honouring their back-pressure. It ends both when the process has closed them, before the
 * returned promise resolves.
 */
export interface ExecStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** Terminal sizes, first the initial one; only with a terminal. */
  readonly resize?: AsyncIterable<TerminalSize> | undefined;
}

export interface ExecResult {
  readonly exitCode: number;
}

export interface ExecSyncResult extends ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

export interface RuntimeService {
  version(options?: CallOptions): Promise<VersionResponse>;
  /**
   * Conditions RuntimeReady and NetworkReady, and with `verbose` what the runtime says about
   * itself.
   */
  status(options?: CallOptions & { verbose?: boolean }): Promise<StatusResponse>;
  /**
   * Tells the runtime the node's pod CIDR. Ignored by runtimes whose network is configured
   * elsewhere.
   */
  updateRuntimeConfig(config: RuntimeConfig, options?: CallOptions): Promise<void>;

  /**
   * Creates and starts a sandbox with its network; resolves with its id. AlreadyExists if metadata
   * (name, namespace, uid, attempt) is taken.
   */
  runPodSandbox(
    config: PodSandboxConfig,
    runtimeHandler?: string,
    options?: CallOptions,
  ): Promise<string>;
  /** Stops every container in it and gives its network back. Idempotent. */
  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  /** Removes it and its containers, by force if they run. Idempotent. */
  removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  podSandboxStatus(
    podSandboxId: string,
    options?: CallOptions & { verbose?: boolean },
  ): Promise<PodSandboxStatusResponse>;
  listPodSandbox(filter?: PodSandboxFilter, options?: CallOptions): Promise<readonly PodSandbox[]>;

  /** Creates a container that does not run yet; resolves with its id. */
  createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  /** Starts a created container; a container starts once in its life. */
  startContainer(containerId: string, options?: CallOptions): Promise<void>;
  /**
   * Sends the stop signal, waits up to `graceMs` (whole seconds count), then kills. Resolves when
   * it has stopped. Idempotent.
   */
  stopContainer(containerId: string, graceMs: number, options?: CallOptions): Promise<void>;
  /** Removes it, by force if it runs. Its log file stays. Idempotent. */
  removeContainer(containerId: string, options?: CallOptions): Promise<void>;
  listContainers(filter?: ContainerFilter, options?: CallOptions): Promise<readonly Container[]>;
  containerStatus(
    containerId: string,
    options?: CallOptions & { verbose?: boolean },
  ): Promise<ContainerStatusResponse>;
  updateContainerResources(
    containerId: string,
    resources: LinuxContainerResources,
    options?: CallOptions,
  ): Promise<void>;
  /**
   * Closes and opens the log file again, after it was moved away. FailedPrecondition if the
   * container does not run.
   */
  reopenContainerLog(containerId: string, options?: CallOptions): Promise<void>;

  /**
   * Runs a command to its end and answers what it wrote. With timeoutMs, the command is killed and
   * DeadlineExceeded thrown.
   */
  execSync(
    containerId: string,
    command: readonly string[],
    options?: CallOptions,
  ): Promise<ExecSyncResult>;
  /**
   * Runs a command with streams. Resolves with its exit code, whatever it is; rejects if it could
   * not be run. Abort: hangs up.
   */
  exec(
    containerId: string,
    request: ExecRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<ExecResult>;
  /**
   * Connects to the streams of a running container's first process. Resolves when it ends or the
   * streams are closed.
   */
  attach(
    containerId: string,
    request: AttachRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<void>;
  /**
   * Connects `stream` to a TCP port inside the sandbox. Resolves when either side has closed;
   * rejects if nothing listens.
   */
  portForward(
    podSandboxId: string,
    port: number,
    stream: Duplex,
    signal?: AbortSignal,
  ): Promise<void>;

  containerStats(containerId: string, options?: CallOptions): Promise<ContainerStats>;
  listContainerStats(
    filter?: ContainerStatsFilter,
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]>;
  podSandboxStats(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStats>;
  listPodSandboxStats(
    filter?: PodSandboxStatsFilter,
    options?: CallOptions,
  ): Promise<readonly PodSandboxStats[]>;

  /**
   * Every container event from the call on, until the signal aborts (iteration then completes).
   * Events are hints, and may come late or twice; a runtime without the method must be polled. A
   * stream that fails rejects, and the caller relists.
   */
  containerEvents?(signal: AbortSignal): AsyncIterable<ContainerEvent>;
}

export interface ImageService {
  listImages(filter?: ImageFilter, options?: CallOptions): Promise<readonly Image[]>;
  /** `image` is absent from the answer if the runtime does not have it (that is no error). */
  imageStatus(
    image: ImageSpec,
    options?: CallOptions & { verbose?: boolean },
  ): Promise<ImageStatusResponse>;
  /**
   * Resolves with the reference of the image that is now there. Rejects with one of the image
   * reasons of CriError.
   */
  pullImage(
    image: ImageSpec,
    auth?: AuthConfig,
    sandboxConfig?: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  /** Idempotent. */
  removeImage(image: ImageSpec, options?: CallOptions): Promise<void>;
  imageFsInfo(options?: CallOptions): Promise<ImageFsInfo>;
}

/** A runtime as the composition hands it to a kubelet. */
export interface Runtime {
  /**
   * 'containerd', 'process' or 'simulated': for logs and `--runtime`. What status answers is the
   * runtime's own name.
   */
  readonly name: string;
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  /**
   * Lets go of connections, timers and processes of the runtime itself. Containers keep running
   * where they can. Idempotent.
   */
  close(): Promise<void>;
}
