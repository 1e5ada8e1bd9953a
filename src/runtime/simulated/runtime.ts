// The RuntimeService of simulated pods: sandboxes and containers are records in memory, time comes
// from the clock, and every change is published as an event, so that clients never poll. With a
// journal the records survive a restart of the process.

import type { Duplex } from 'node:stream';
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
  type ImageSpec,
  type Input,
  isCriError,
  type LinuxContainerResources,
  type MemoryLog,
  type PodSandboxConfig,
  type PodSandboxStats,
  type PodSandboxStatsFilter,
  type Runtime,
  type RuntimeConfig,
  type RuntimeOutline,
  type RuntimeService,
  type StatusResponse,
} from '#cri/index.ts';
import { type Clock, systemClock } from '#machinery/clock.ts';
import { type Random, systemRandom } from '#machinery/random.ts';
import { AddressPool } from '../address-pool.ts';
import { PodRuntime } from '../pod-runtime.ts';
import { PodTable, type Sandbox } from '../pod-table.ts';
import { NamedImages } from '../named-images.ts';
import type { ContainerRecord } from '../records.ts';
import { containerSimulation, imageSimulation } from './annotations.ts';
import type { SimulatedRuntimeConfig } from './config.ts';
import { type ContainerHost, type ContainerState, SimulatedContainer } from './container.ts';
import { entryPoint } from './entry-points.ts';
import { execProgram } from './exec.ts';
import type { NodeContents, NodeJournal } from './journal.ts';
import type { NodeSummary } from './node-records.ts';
import { NodeState, type NodeContent } from './node-state.ts';
import { type DirectoryNode, newDirectory } from './shell/file-system.ts';
import type { UnknownPolicy } from './shell/kernel.ts';
import { withSharedEnvironment } from './shared-environment.ts';
import { containerStats, sandboxStats } from './stats.ts';

/** Returns the runtime's status with this condition of its network. Kubelets ask every few seconds. */
const statusWith = (network: Input<'RuntimeCondition'>): StatusResponse =>
  complete('StatusResponse', {
    status: { conditions: [{ type: 'RuntimeReady', status: true }, network] },
    // No process exists that could tell.
    runtimeHandlers: [
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
    ],
    features: { supplementalGroupsPolicy: true },
  });
const READY = statusWith({ type: 'NetworkReady', status: true });
const WITHOUT_POD_CIDR = statusWith({
  type: 'NetworkReady',
  status: false,
  reason: 'NetworkPluginNotReady',
  message: 'the node has no pod CIDR yet',
});

/** A runtime whose state can be taken. */
export interface SimulatedNodeRuntime extends Runtime {
  /**
   * Returns the state of this moment. It costs nothing until this runtime changes or another one is
   * made from it.
   */
  freeze(): NodeState;
}

/** The label by which kubelets select the containers of a pod. */
const POD_UID = 'io.kubernetes.pod.uid';

interface UnreadPods {
  readonly uids: ReadonlySet<string>;
  /** IDs of sandboxes and containers. */
  readonly ids: ReadonlySet<string>;
  readonly addresses: readonly string[];
}

class SimulatedRuntime extends PodRuntime<SimulatedContainer> implements RuntimeService {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #images: NamedImages;
  readonly #pods: PodTable<SimulatedContainer>;
  /** By sandbox, then by the path on the host. Only sandboxes with a container that used files. */
  #volumes = new Map<string, Map<string, DirectoryNode>>();
  #addresses: AddressPool;
  #podCidr: string;
  #awaitsPodCidr: boolean;
  readonly #stopDurationMs: number;
  readonly #entryPoints: boolean;
  readonly #journal: NodeJournal | undefined;
  readonly #memoryLogs: boolean;
  readonly #containerHost: ContainerHost;
  /** The state that was taken since the last change, if it was. */
  #frozen: NodeState | undefined;
  #changes = 0;
  /** The pods that are only in the journal. */
  #unread: UnreadPods | undefined;
  readonly #firstPodCidr: string;

  constructor(config: SimulatedRuntimeConfig, images: NamedImages) {
    const clock = config.clock ?? systemClock;
    const random = config.random ?? systemRandom;
    const pods = new PodTable<SimulatedContainer>(clock);
    super({ name: 'simulated', clock, random, images, pods });
    this.#clock = clock;
    this.#random = random;
    this.#images = images;
    this.#pods = pods;
    this.#podCidr = config.podCidr ?? '10.88.0.0/16';
    this.#firstPodCidr = this.#podCidr;
    this.#addresses = new AddressPool(this.#podCidr);
    this.#awaitsPodCidr = config.awaitsPodCidr ?? false;
    this.#stopDurationMs = config.stopDurationMs ?? 0;
    this.#entryPoints = config.entryPoints ?? false;
    this.#journal = config.journal;
    this.#memoryLogs = config.memoryLogs ?? false;
    this.#containerHost = this.#makeContainerHost();
    if (this.#journal !== undefined) this.#begin(this.#journal);
  }

  /** Restores the containers of the journal: at once if they do something, else when they are needed. */
  #begin(journal: NodeJournal): void {
    const { idleImages } = journal;
    if (idleImages?.some(({ ref }) => this.#defaultCommand(ref).length > 0) !== false) {
      this.#restore(journal.read());
      return;
    }
    for (const { spec } of idleImages) this.#noteImage(spec);
    this.#pods.addLater({
      fill: () => this.#restore(journal.read()),
      lacks: (labels) => this.#isOfNewPod(journal, labels),
      has: (id) => this.#unreadPods(journal).ids.has(id),
    });
  }

  /** Reports whether the labels are those of a pod that began in this runtime. */
  #isOfNewPod(journal: NodeJournal, labels: Readonly<Record<string, string>>): boolean {
    const uid = labels[POD_UID];
    return uid !== undefined && !this.#unreadPods(journal).uids.has(uid);
  }

  outline(): RuntimeOutline | undefined {
    const journal = this.#journal;
    if (this.#pods.isFilled || journal === undefined) return undefined;
    const summary = journal.summary();
    this.#noteUnread(summary);
    return summary.outline;
  }

  /** Returns the pods that are only in the journal. Their addresses are in use. */
  #unreadPods(journal: NodeJournal): UnreadPods {
    // The first summary may have no addresses.
    while (this.#unread === undefined) this.#noteUnread(journal.summary());
    return this.#unread;
  }

  #noteUnread({ outline: { sandboxes, containers }, addresses }: NodeSummary): void {
    if (this.#unread !== undefined || addresses === undefined) return;
    const own = new Set(Array.from(this.#pods.presentSandboxes(), ({ record }) => record.id));
    const unread = sandboxes.filter(({ id }) => !own.has(id));
    for (const address of addresses) this.#addresses.reserve(address);
    this.#unread = {
      uids: new Set(unread.map(({ uid }) => uid)),
      ids: new Set([...unread, ...containers].map(({ id }) => id)),
      addresses,
    };
  }

  /**
   * Reports whether a runtime that is made of the journal later goes on just as this one would. This
   * one must not be used any more then.
   */
  release(): boolean {
    if (this.#changes > 0 && !this.#isAllInJournal()) return false;
    for (const container of this.#pods.presentContainers()) if (!container.isInert) return false;
    return this.#journal !== undefined;
  }

  #isAllInJournal(): boolean {
    return (
      this.#podCidr === this.#firstPodCidr &&
      this.#journal?.isComplete === true &&
      this.#hasImagesOf(this.#journal)
    );
  }

  /** Reports whether the images on the node are those of the journal. */
  #hasImagesOf({ idleImages }: NodeJournal): boolean {
    if (idleImages === undefined) return false;
    const noted = new NamedImages({ clock: this.#clock, simulation: imageSimulation });
    try {
      for (const { spec } of idleImages) noted.use(byName(spec));
    } catch (error) {
      // It has to be pulled in every run.
      if (!isCriError(error)) throw error;
      return false;
    }
    return this.#images.hasSameNames(noted);
  }

  #defaultCommand(imageRef: string): readonly string[] {
    return this.#entryPoints ? entryPoint(imageRef) : [];
  }

  /** Once, before anything else. */
  adopt({ sandboxes, containers, volumes, addresses, podCidr, awaitsPodCidr }: NodeContent): void {
    this.#volumes = volumes;
    this.#addresses = addresses;
    this.#podCidr = podCidr;
    this.#awaitsPodCidr = awaitsPodCidr;
    for (const record of sandboxes) this.#pods.addSandbox(record);
    const adopted = containers.map(({ record, state }) => {
      const sandbox = this.#pods.sandbox(record.podSandboxId);
      const container = this.#makeContainer(sandbox, record, state);
      this.#pods.addContainer(container);
      return container;
    });
    for (const container of adopted) container.resume();
  }

  freeze(): NodeState {
    return (this.#frozen ??= new NodeState(() => this.#content()));
  }

  /** The number of changes of the state so far. */
  get changes(): number {
    return this.#changes;
  }

  /** To be called before each change of the state: a state that was taken is copied first. */
  beforeChange(): void {
    this.#changes++;
    this.#frozen?.keep();
    this.#frozen = undefined;
  }

  /** The state itself: the caller copies it. */
  #content(): NodeContent {
    return {
      sandboxes: this.#pods.sandboxes().map(({ record }) => record),
      containers: this.#pods.containers().map((container) => ({
        record: container.record,
        state: container.state(),
      })),
      volumes: this.#volumes,
      images: this.#images.state(),
      addresses: this.#addresses,
      podCidr: this.#podCidr,
      awaitsPodCidr: this.#awaitsPodCidr,
    };
  }

  memoryLog(containerId: string): MemoryLog | undefined {
    return this.#pods.findContainer(containerId)?.log;
  }

  #restore({ sandboxes, containers }: NodeContents): void {
    this.#unread = undefined;
    for (const record of sandboxes) {
      // The journal has the pods that began here, too.
      if (this.#pods.findSandbox(record.id) !== undefined) continue;
      this.#pods.addSandbox(record);
      if (record.state === 'SANDBOX_READY') this.#addresses.reserve(record.ip);
    }
    for (const record of containers) {
      if (this.#pods.findContainer(record.id) !== undefined) continue;
      const sandbox = this.#pods.findSandbox(record.podSandboxId);
      // The container's sandbox was removed before the container's removal was recorded.
      if (sandbox === undefined) continue;
      const container = this.#makeContainer(sandbox, record);
      this.#pods.addContainer(container);
      this.#noteImage(record.config.image ?? {});
      container.resume();
    }
  }

  /**
   * Records the image of a restored container as present on the node, unless it must be pulled in
   * every run.
   */
  #noteImage(image: ImageSpec): void {
    try {
      this.#images.use(byName(image));
    } catch (error) {
      if (!isCriError(error)) throw error;
    }
  }

  status(): Promise<StatusResponse> {
    return Promise.resolve(this.#awaitsPodCidr ? WITHOUT_POD_CIDR : READY);
  }

  async updateRuntimeConfig(config: RuntimeConfig): Promise<void> {
    const cidr = config.networkConfig?.podCidr?.split(',')[0];
    if (!cidr) return;
    if (cidr === this.#podCidr && !this.#awaitsPodCidr) return;
    this.beforeChange();
    this.#awaitsPodCidr = false;
    if (cidr === this.#podCidr) return;
    this.#addresses = new AddressPool(cidr);
    this.#podCidr = cidr;
    for (const address of this.#unread?.addresses ?? []) this.#addresses.reserve(address);
    for (const { record } of this.#pods.presentSandboxes())
      if (record.state === 'SANDBOX_READY') this.#addresses.reserve(record.ip);
  }

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = ''): Promise<string> {
    this.beforeChange();
    // Addresses of pods that were not read must not be given to this one.
    if (this.#journal !== undefined && !this.#pods.isFilled) this.#unreadPods(this.#journal);
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 'NODE';
    const ip = hostNetwork ? '' : this.#addresses.allocate();
    let sandbox: Sandbox<SimulatedContainer>;
    try {
      sandbox = this.#pods.addSandbox(this.newSandboxRecord(config, runtimeHandler, ip));
      this.#journal?.sandboxAdded(sandbox.record);
    } catch (error) {
      this.#addresses.release(ip);
      throw error;
    }
    this.publishSandbox(sandbox);
    return sandbox.record.id;
  }

  async stopPodSandbox(podSandboxId: string): Promise<void> {
    const sandbox = this.#pods.findSandbox(podSandboxId);
    if (sandbox === undefined) return;
    await Promise.all(sandbox.containers.map((container) => container.stop(0)));
    if (sandbox.record.state === 'SANDBOX_NOTREADY') return;
    this.beforeChange();
    sandbox.record.state = 'SANDBOX_NOTREADY';
    this.#journal?.changed(sandbox.record);
    this.#addresses.release(sandbox.record.ip);
    this.#pods.publish(sandbox, podSandboxId, 'CONTAINER_STOPPED_EVENT');
  }

  async createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
  ): Promise<string> {
    const sandbox = this.#pods.readySandbox(podSandboxId);
    const shared = withSharedEnvironment(config);
    const record = this.newContainerRecord(podSandboxId, shared, sandboxConfig);
    const container = this.#makeContainer(sandbox, record);
    this.beforeChange();
    this.#pods.addContainer(container);
    this.#journal?.containerAdded(record);
    this.#pods.publish(sandbox, record.id, 'CONTAINER_CREATED_EVENT');
    return record.id;
  }

  #makeContainer(
    sandbox: Sandbox<SimulatedContainer>,
    record: ContainerRecord,
    state?: ContainerState,
  ): SimulatedContainer {
    return new SimulatedContainer({
      host: this.#containerHost,
      record,
      ...(state !== undefined && { state }),
      simulation: containerSimulation(
        sandbox.record.config.annotations,
        record.config.metadata?.name ?? '',
        this.#stopDurationMs,
      ),
    });
  }

  #makeContainerHost(): ContainerHost {
    return {
      clock: this.#clock,
      random: this.#random,
      memoryLogs: this.#memoryLogs,
      mounts: ({ podSandboxId, config }) => this.#mounts(podSandboxId, config),
      hostname: ({ podSandboxId }) =>
        this.#pods.findSandbox(podSandboxId)?.record.config.hostname || 'localhost',
      defaultCommand: ({ imageRef }) => this.#defaultCommand(imageRef),
      beforeChange: () => this.beforeChange(),
      exited: (record) => {
        this.#journal?.changed(record);
        const sandbox = this.#pods.findSandbox(record.podSandboxId);
        if (sandbox !== undefined)
          this.#pods.publish(sandbox, record.id, 'CONTAINER_STOPPED_EVENT');
      },
    };
  }

  async startContainer(containerId: string, options?: CallOptions): Promise<void> {
    const container = this.#pods.container(containerId);
    const sandbox = this.#pods.readySandbox(container.record.podSandboxId);
    await container.start(options?.signal);
    this.#journal?.changed(container.record);
    this.#pods.publish(sandbox, containerId, 'CONTAINER_STARTED_EVENT');
  }

  async updateContainerResources(
    containerId: string,
    resources: LinuxContainerResources,
  ): Promise<void> {
    const { record } = this.#pods.container(containerId);
    const linux = {
      ...record.config.linux,
      resources: { ...record.config.linux?.resources, ...resources },
    };
    this.beforeChange();
    Object.assign(record, { config: { ...record.config, linux } });
    this.#journal?.changed(record);
  }

  async reopenContainerLog(containerId: string): Promise<void> {
    // The log file is opened for each piece of output, so nothing has to be reopened.
    this.#pods.runningContainer(containerId);
  }

  async execSync(
    containerId: string,
    command: readonly string[],
    options?: CallOptions,
  ): Promise<ExecSyncResult> {
    // A probe or hook whose program is not simulated succeeds, because the pods of most charts have
    // one.
    return await this.collectOutput(options, (streams, signals) =>
      this.#run(containerId, { command }, streams, 'succeed', signals),
    );
  }

  async exec(
    containerId: string,
    request: ExecRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<ExecResult> {
    return await this.#run(
      containerId,
      request,
      streams,
      'fail',
      signal === undefined ? [] : [signal],
    );
  }

  async #run(
    containerId: string,
    request: ExecRequest,
    streams: ExecStreams,
    unknown: UnknownPolicy,
    signals: readonly AbortSignal[],
  ): Promise<ExecResult> {
    const container = this.#pods.runningContainer(containerId);
    const { command, tty = false } = request;
    if (command.length === 0) throw new CriError('InvalidArgument', 'a command is needed');
    const ended = new AbortController();
    const forget = container.onExit(() =>
      ended.abort(new CriError('NotFound', `container ${containerId} has exited`)),
    );
    try {
      const until = AbortSignal.any([...signals, ended.signal]);
      const exitCode = await execProgram(
        command,
        container.context(unknown),
        { ...streams, tty },
        until,
      ).catch((error: unknown) => {
        // When the container exits, all processes in it end.
        if (ended.signal.aborted && isCriError(error)) return 137;
        throw error;
      });
      return { exitCode: container.simulation.execExitCode ?? exitCode };
    } finally {
      forget();
    }
  }

  async attach(
    containerId: string,
    _request: AttachRequest,
    streams: ExecStreams,
    signal?: AbortSignal,
  ): Promise<void> {
    const container = this.#pods.runningContainer(containerId);
    signal?.throwIfAborted();
    const detached = new AbortController();
    container.feed(streams.stdin, detached.signal);
    try {
      await this.followOutput(container, streams, signal);
    } finally {
      detached.abort(new Error('the client has left'));
    }
  }

  async portForward(podSandboxId: string, port: number, stream: Duplex): Promise<void> {
    this.#pods.sandbox(podSandboxId);
    stream.destroy();
    throw new CriError(
      'Unavailable',
      `failed to connect to port ${port} in sandbox ${podSandboxId}: a simulated pod does not listen`,
    );
  }

  async containerStats(containerId: string): Promise<ContainerStats> {
    return containerStats(this.#pods.container(containerId), this.#pods.now());
  }

  async listContainerStats(filter: ContainerStatsFilter = {}): Promise<readonly ContainerStats[]> {
    return this.#pods
      .containers({ ...filter, state: { state: 'CONTAINER_RUNNING' } })
      .map((container) => containerStats(container, this.#pods.now()));
  }

  async podSandboxStats(podSandboxId: string): Promise<PodSandboxStats> {
    return sandboxStats(this.#pods.sandbox(podSandboxId), this.#pods.now());
  }

  async listPodSandboxStats(filter?: PodSandboxStatsFilter): Promise<readonly PodSandboxStats[]> {
    return this.#pods.sandboxes(filter).map((sandbox) => sandboxStats(sandbox, this.#pods.now()));
  }

  /** Cancels the timers of all containers. Their records stay as they are. */
  close(): void {
    for (const container of this.#pods.presentContainers()) container.freeze();
    this.#pods.close();
    this.#journal?.flush();
  }

  /** Returns the mounts. Volumes are directories in memory that all containers of a pod share. */
  #mounts(
    podSandboxId: string,
    config: ContainerConfig,
  ): { path: string; directory: DirectoryNode }[] {
    let volumes = this.#volumes.get(podSandboxId);
    if (volumes === undefined) {
      this.beforeChange();
      volumes = new Map();
      this.#volumes.set(podSandboxId, volumes);
    }
    const mounts: { path: string; directory: DirectoryNode }[] = [];
    for (const { containerPath = '', hostPath = '' } of config.mounts ?? []) {
      const source = hostPath || `:${containerPath}`;
      let directory = volumes.get(source);
      if (directory === undefined) {
        this.beforeChange();
        directory = newDirectory(this.#clock.now());
        volumes.set(source, directory);
      }
      mounts.push({ path: containerPath, directory });
    }
    // A mount inside another one is sorted after it.
    return mounts.sort((a, b) => a.path.length - b.path.length);
  }

  protected override sandboxRemoved(podSandboxId: string): void {
    this.beforeChange();
    this.#volumes.delete(podSandboxId);
    this.#journal?.removed(podSandboxId);
  }

  protected override containerRemoving(): void {
    this.beforeChange();
  }

  protected override containerRemoved(containerId: string): void {
    this.#journal?.removed(containerId);
  }
}

/**
 * Returns the image by the name in the pod. A kubelet makes containers from the ID that the runtime
 * gave it, which says nothing to a node that does not have the image yet.
 */
function byName(image: ImageSpec): ImageSpec {
  const { userSpecifiedImage } = image;
  return userSpecifiedImage ? { ...image, image: userSpecifiedImage } : image;
}

/**
 * Creates a runtime of simulated pods. It touches nothing outside of memory, except the journal, if
 * there is one, and the log files of containers with output.
 */
export function createSimulatedRuntime(config: SimulatedRuntimeConfig = {}): SimulatedNodeRuntime {
  const content = config.state?.content();
  const images: NamedImages = new NamedImages({
    clock: config.clock ?? systemClock,
    simulation: imageSimulation,
    ...(content !== undefined && { state: content.images }),
    beforeChange: () => runtime?.beforeChange(),
  });
  let runtime: SimulatedRuntime | undefined = undefined;
  const simulated = new SimulatedRuntime(config, images);
  runtime = simulated;
  if (content !== undefined) simulated.adopt(content);
  return {
    name: 'simulated',
    runtime: simulated,
    images,
    changes: () => simulated.changes,
    outline: () => simulated.outline(),
    release: () => simulated.release(),
    close: () => Promise.resolve(simulated.close()),
    freeze: () => simulated.freeze(),
  };
}
