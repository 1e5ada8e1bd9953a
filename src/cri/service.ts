// The runtime contract: the methods that a kubelet calls on a container runtime. Implementations
// are in src/runtime; criConformance (conformance.ts) is the one suite that they all pass.
//
// Every implementation guarantees:
// - stopPodSandbox, stopContainer, removePodSandbox and removeContainer are idempotent: a repeated
//   call, or a call for an object that is gone, succeeds. Status calls for an object that is gone
//   reject with NotFound.
// - A container's log is a file in CRI format (`<RFC 3339 time, nanoseconds> <stdout|stderr> <F|P>
//   <content>`) at the sandbox's logDirectory joined with the container's logPath, if both are
//   given. A runtime in the kubelet's own process may have it in memory instead (memoryLog).
// - Timestamps are nanoseconds since the epoch; 0 is "not yet".
// - A call that is aborted while it waits rejects with the signal's reason. Its effect is unknown.
//
// Not guaranteed: any order of lists, and notification of state changes: the caller polls
// (containerEvents is optional).

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
  MetricDescriptor,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxMetrics,
  PodSandboxState,
  PodSandboxStats,
  PodSandboxStatsFilter,
  PodSandboxStatusResponse,
  RuntimeConfig,
  StatusResponse,
  VersionResponse,
} from './types.ts';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /**
   * The time limit: the call rejects with DeadlineExceeded after it. Default: the implementation's
   * own (2 minutes for a call to a runtime).
   */
  readonly timeoutMs?: number;
}

export interface TerminalSize {
  /** The number of columns. */
  readonly width: number;
  /** The number of rows. */
  readonly height: number;
}

export interface ExecRequest {
  /** The program and its arguments, which no shell interprets. */
  readonly command: readonly string[];
  /** Allocates a terminal. Its stdout and stderr are one stream: stdout. */
  readonly tty?: boolean;
  /**
   * The streams to connect. A stream that is not connected is empty, and its output is discarded.
   */
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
}

export type AttachRequest = Omit<ExecRequest, 'command'>;

/**
 * The caller's ends of the streams. The runtime reads stdin to its end, and respects the
 * back-pressure of stdout and stderr. It ends both when the process has closed them, before the
 * returned promise resolves.
 */
export interface ExecStreams {
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** Terminal sizes, beginning with the initial one; only with a terminal. */
  readonly resize?: AsyncIterable<TerminalSize>;
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
   * Returns the conditions RuntimeReady and NetworkReady, and with `verbose` information about the
   * runtime.
   */
  status(options?: CallOptions & { verbose?: boolean }): Promise<StatusResponse>;
  /**
   * Passes the node's pod CIDR to the runtime. Ignored by runtimes whose network is configured
   * elsewhere.
   */
  updateRuntimeConfig(config: RuntimeConfig, options?: CallOptions): Promise<void>;

  /**
   * Creates and starts a sandbox with its network; resolves with its id. Rejects with AlreadyExists
   * if metadata (name, namespace, uid, attempt) is taken.
   */
  runPodSandbox(
    config: PodSandboxConfig,
    runtimeHandler?: string,
    options?: CallOptions,
  ): Promise<string>;
  /** Stops every container in the sandbox and releases its network. Idempotent. */
  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  /** Removes the sandbox and its containers, by force if they run. Idempotent. */
  removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void>;
  podSandboxStatus(
    podSandboxId: string,
    options?: CallOptions & { verbose?: boolean },
  ): Promise<PodSandboxStatusResponse>;
  listPodSandbox(filter?: PodSandboxFilter, options?: CallOptions): Promise<readonly PodSandbox[]>;

  /** Creates a container without starting it; resolves with its id. */
  createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  /** Starts a created container. A container can be started only once. */
  startContainer(containerId: string, options?: CallOptions): Promise<void>;
  /**
   * Sends the stop signal, waits up to `graceMs` (rounded to whole seconds), then kills the
   * container. Resolves when it has stopped. Idempotent.
   */
  stopContainer(containerId: string, graceMs: number, options?: CallOptions): Promise<void>;
  /** Removes the container, by force if it runs. Its log file stays. Idempotent. */
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
   * Writes the state of a running container to the file, an archive, and lets it run on. Absent: the
   * runtime cannot.
   */
  checkpointContainer?(
    containerId: string,
    location: string,
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<void>;
  /**
   * Closes and reopens the log file after it was moved away. Rejects with FailedPrecondition if the
   * container does not run.
   */
  reopenContainerLog(containerId: string, options?: CallOptions): Promise<void>;

  /**
   * Runs a command to its end and returns its output. After timeoutMs, the command is killed and
   * the call rejects with DeadlineExceeded.
   */
  execSync(
    containerId: string,
    command: readonly string[],
    options?: CallOptions,
  ): Promise<ExecSyncResult>;
  /**
   * Runs a command with streams. Resolves with its exit code, also if it is not zero; rejects if
   * the command could not be run. An abort hangs up.
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
   * rejects if no process listens on the port.
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

  /** Describes the metrics of listPodSandboxMetrics. Runtimes have both methods or none. */
  listMetricDescriptors?(options?: CallOptions): Promise<readonly MetricDescriptor[]>;
  /** Returns the metrics of all pods and their containers. */
  listPodSandboxMetrics?(options?: CallOptions): Promise<readonly PodSandboxMetrics[]>;

  /**
   * Returns every container event from the call on, until the signal aborts (iteration then
   * completes). Events are hints, and may arrive late or twice; a runtime without the method must
   * be polled. A failed stream rejects, and the caller relists.
   */
  containerEvents?(signal: AbortSignal): AsyncIterable<ContainerEvent>;

  /**
   * Returns the log of a container that has it in memory; undefined for others, and if there is no
   * such container.
   */
  memoryLog?(containerId: string): MemoryLog | undefined;
}

/** A log that is not in a file. Positions count all bytes that were ever written. */
export interface MemoryLog {
  /** The position of the oldest byte that is kept. */
  readonly start: number;
  readonly end: number;
  /**
   * Returns at most so many bytes from the position on; none at the end. They must not be changed.
   */
  read(position: number, length: number): Buffer;
}

export interface ImageService {
  listImages(filter?: ImageFilter, options?: CallOptions): Promise<readonly Image[]>;
  /**
   * Returns the image's status. `image` is absent if the runtime does not have the image, which is
   * not an error.
   */
  imageStatus(
    image: ImageSpec,
    options?: CallOptions & { verbose?: boolean },
  ): Promise<ImageStatusResponse>;
  /**
   * Pulls the image and resolves with its reference. Rejects with one of the image reasons of
   * CriError.
   */
  pullImage(
    image: ImageSpec,
    auth?: AuthConfig,
    sandboxConfig?: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string>;
  /** Removes the image. Idempotent. */
  removeImage(image: ImageSpec, options?: CallOptions): Promise<void>;
  imageFsInfo(options?: CallOptions): Promise<ImageFsInfo>;
}

/** The sandboxes and containers of a runtime in short. */
export interface RuntimeOutline {
  readonly sandboxes: readonly {
    readonly id: string;
    /** The UID of the pod. */
    readonly uid: string;
    readonly state: PodSandboxState;
  }[];
  readonly containers: readonly Pick<Container, 'id' | 'podSandboxId' | 'state'>[];
}

/** A runtime as the composition passes it to a kubelet. */
export interface Runtime {
  /**
   * 'containerd', 'process' or 'simulated': for logs and `--runtime`. The runtime's own name is in
   * the response of its `version`.
   */
  readonly name: string;
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  /**
   * Returns a number that has grown if `status` or `listImages` might answer otherwise than before,
   * without waiting. Undefined: it is not known. Only a runtime in the kubelet's own process has it.
   */
  changes?(): number | undefined;
  /**
   * Returns the sandboxes and containers in short, without reading more of them. Undefined: all were
   * read already, so that lists cost no more. Only a runtime of which a process may have thousands
   * has it.
   */
  outline?(): RuntimeOutline | undefined;
  /**
   * Frees the memory of a runtime that can be made again just as it is, and returns true: a later
   * call makes it. Callers must not read its events at that time. Absent, or false: nothing is freed.
   */
  release?(): boolean;
  /**
   * Releases connections, timers and processes of the runtime itself. Containers keep running if
   * the runtime can leave them. Idempotent.
   */
  close(): Promise<void>;
}
