// Gathers the facts for the Node's status: those of the machine and the configuration once, and the
// state of the runtime at each check.

import type { Runtime, RuntimeFeatures, RuntimeHandler, StatusResponse } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import { outsideWork } from '#machinery/pending-work.ts';
import type { NodeAddress, ResourceList } from '../types.ts';
import { allocatableOf, type Reservations } from '../allocatable.ts';
import { machineAddresses, readCapacity, readMachineInfo, type MachineInfo } from './machine.ts';
import { RUNTIME_CONDITIONS, type NodeDeviceFacts, type NodeFacts } from './node-status.ts';

/** The configuration of the node. See KubeletConfig. */
export interface NodeSettings {
  readonly nodeName: string;
  readonly hostFiles?: boolean;
  readonly addresses?: readonly NodeAddress[];
  readonly readAddresses?: () => readonly string[];
  readonly capacity?: ResourceList;
  readonly readCapacity?: () => Promise<ResourceList>;
  readonly kubeReserved?: ResourceList;
  readonly systemReserved?: ResourceList;
  readonly allocatable?: ResourceList;
  readonly maxPods?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly externalCloudProvider?: boolean;
  readonly machine?: Partial<MachineInfo>;
  readonly kubeletVersion?: string;
}

export interface NodeFactsConfig {
  readonly kubelet: NodeSettings;
  readonly runtime: Runtime;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly rootDir: string;
  /** For example 'containerd://1.7.24'. */
  readonly runtimeVersion: string;
  /** Returns the resources of device plugins; undefined if the node cannot have any. */
  readonly devices?: () => NodeDeviceFacts | undefined;
  /** The thresholds below which pods are evicted. */
  readonly thresholds: Reservations['thresholds'];
  /** Returns the pressure that the node is under. */
  readonly pressure?: () => readonly string[];
  /** Returns a problem while the machine shuts down. */
  readonly shutdown?: () => string | undefined;
  /** Returns the monotonic time of the last relist of the runtime. */
  readonly lastRelist: () => number;
}

/** How long the runtime may take to return its status. */
const RUNTIME_DEADLINE_MS = 30_000;
/** If a runtime without events was not listed for this long, the state of pods is unknown. */
const PLEG_UNHEALTHY_MS = 180_000;

export class NodeFactsSource {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly machine: MachineInfo;
  #addresses: readonly NodeAddress[] = [];
  /** The addresses of the machine from which `#addresses` were made. */
  #machineAddresses: readonly string[] | undefined;
  readonly #config: NodeFactsConfig;
  #networkProblem: string | undefined;
  /** The result of the last check; undefined if the runtime does not count its changes. */
  #checked:
    | {
        readonly addresses: readonly NodeAddress[];
        readonly port: number;
        readonly changes: number;
      }
    | undefined;
  /** The facts of the last check, if it had no problem and the runtime counts its changes. */
  #latest: NodeFacts | undefined;
  /** The handlers and features that the runtime has reported last; undefined before. */
  #abilities: Pick<StatusResponse, 'runtimeHandlers' | 'features'> | undefined;

  static async read(config: NodeFactsConfig): Promise<NodeFactsSource> {
    const { kubelet, rootDir } = config;
    const diskOf = kubelet.hostFiles === false ? '/' : rootDir;
    const read = kubelet.readCapacity ?? (() => readCapacity(diskOf, kubelet.maxPods));
    const capacity = kubelet.capacity ?? (await outsideWork(read()));
    const machine = await outsideWork(readMachineInfo(kubelet.machine));
    return new NodeFactsSource(config, capacity, machine);
  }

  private constructor(config: NodeFactsConfig, capacity: ResourceList, machine: MachineInfo) {
    const { kubelet } = config;
    this.#config = config;
    this.#readAddresses();
    this.capacity = capacity;
    this.allocatable =
      kubelet.allocatable ??
      allocatableOf(capacity, {
        ...(kubelet.kubeReserved !== undefined && { kubeReserved: kubelet.kubeReserved }),
        ...(kubelet.systemReserved !== undefined && { systemReserved: kubelet.systemReserved }),
        thresholds: config.thresholds,
      });
    this.machine = machine;
  }

  /** The node's addresses as of the last check: a machine may get others. */
  get addresses(): readonly NodeAddress[] {
    return this.#addresses;
  }

  /** The addresses of the host, the primary one first. */
  get hostIPs(): readonly string[] {
    return this.#addresses
      .filter(({ type }) => type === 'InternalIP')
      .map(({ address }) => address);
  }

  /** The reason why pods cannot have a network, as of the last check. */
  get networkProblem(): string | undefined {
    return this.#networkProblem;
  }

  /** Returns the handlers of the runtime, as of the last check; empty if it does not report them. */
  async runtimeHandlers(): Promise<readonly RuntimeHandler[]> {
    if (this.#abilities === undefined) {
      const { runtime, signal } = this.#config;
      this.#abilities = await runtime.runtime.status({ signal, timeoutMs: RUNTIME_DEADLINE_MS });
    }
    return this.#abilities.runtimeHandlers;
  }

  /**
   * Reports, without asking the runtime, whether a check would find what the last one found. Only of
   * a node without devices and pressure, whose runtime counts its changes; false for any other.
   */
  isCurrent(port: number): boolean {
    const { runtime, devices, pressure, shutdown } = this.#config;
    const checked = this.#checked;
    if (checked === undefined || (devices ?? pressure ?? shutdown) !== undefined) return false;
    this.#readAddresses();
    return (
      checked.addresses === this.#addresses &&
      checked.port === port &&
      checked.changes === runtime.changes?.()
    );
  }

  /** The features of the runtime, as of the last check; undefined if it does not report them. */
  get runtimeFeatures(): RuntimeFeatures | undefined {
    return this.#abilities?.features;
  }

  /** The default labels of a node, and the configured ones. */
  get labels(): Readonly<Record<string, string>> {
    const { operatingSystem, architecture } = this.machine;
    return {
      'beta.kubernetes.io/arch': architecture,
      'beta.kubernetes.io/os': operatingSystem,
      'kubernetes.io/arch': architecture,
      'kubernetes.io/hostname': this.#config.kubelet.nodeName,
      'kubernetes.io/os': operatingSystem,
      ...this.#config.kubelet.labels,
    };
  }

  /**
   * Reads the runtime's state. Never rejects: problems are part of the result. `port`: the
   * kubelet's port for the Node.
   */
  async current(port: number): Promise<NodeFacts> {
    if (this.#latest !== undefined && this.isCurrent(port)) return this.#latest;
    const problems: string[] = [];
    this.#readAddresses();
    const changes = this.#config.runtime.changes?.();
    this.#checked =
      changes === undefined ? undefined : { addresses: this.#addresses, port, changes };
    const { images, runtimeConditions } = await this.#askRuntime(problems);
    this.#checkPleg(problems);
    const shutdown = this.#config.shutdown?.();
    if (shutdown !== undefined) problems.push(shutdown);
    const devices = this.#config.devices?.();
    const facts: NodeFacts = {
      addresses: this.addresses,
      ...(this.#config.kubelet.externalCloudProvider === true && { keepsAddresses: true }),
      capacity: this.capacity,
      allocatable: this.allocatable,
      ...(devices !== undefined && { devices }),
      machine: this.machine,
      containerRuntimeVersion: this.#config.runtimeVersion,
      kubeletVersion: this.#config.kubelet.kubeletVersion ?? 'v1.36.3',
      port,
      images,
      pressure: this.#config.pressure?.() ?? [],
      problems,
      runtimeConditions,
      runtimeHandlers: this.#abilities?.runtimeHandlers ?? [],
      ...(this.runtimeFeatures !== undefined && { runtimeFeatures: this.runtimeFeatures }),
    };
    this.#latest = changes === undefined || problems.length > 0 ? undefined : facts;
    return facts;
  }

  /** Equal addresses stay the same object, which costs less to compare. */
  #readAddresses(): void {
    const { addresses, nodeName, readAddresses = machineAddresses } = this.#config.kubelet;
    if (addresses !== undefined) {
      this.#addresses = addresses;
      return;
    }
    const current = readAddresses();
    if (deepEqual(current, this.#machineAddresses)) return;
    this.#machineAddresses = current;
    this.#addresses = [
      ...current.map((address) => ({ type: 'InternalIP' as const, address })),
      { type: 'Hostname' as const, address: nodeName },
    ];
  }

  async #askRuntime(
    problems: string[],
  ): Promise<Required<Pick<NodeFacts, 'images' | 'runtimeConditions'>>> {
    const { runtime, signal, logger } = this.#config;
    try {
      const options = { signal, timeoutMs: RUNTIME_DEADLINE_MS };
      const [status, images] = await Promise.all([
        runtime.runtime.status(options),
        runtime.images.listImages({}, options),
      ]);
      this.#abilities = status;
      const conditions = status.status?.conditions ?? [];
      const problemOf = (type: string): string | undefined => {
        const condition = conditions.find((candidate) => candidate.type === type);
        if (condition?.status === true) return undefined;
        return `${type}=false reason:${condition?.reason ?? ''} message:${condition?.message ?? ''}`;
      };
      const runtimeProblem = problemOf('RuntimeReady');
      if (runtimeProblem !== undefined)
        problems.push(`container runtime not ready: ${runtimeProblem}`);
      const networkProblem = problemOf('NetworkReady');
      this.#networkProblem =
        networkProblem === undefined
          ? undefined
          : `container runtime network not ready: ${networkProblem}`;
      if (this.#networkProblem !== undefined) problems.push(this.#networkProblem);
      const runtimeConditions = conditions
        .filter(({ type }) => type.startsWith(RUNTIME_CONDITIONS))
        .map(({ type, status: holds, reason, message }) => ({
          type,
          status: holds ? 'True' : 'False',
          reason,
          message,
        }));
      return { images, runtimeConditions };
    } catch (error) {
      if (!signal.aborted) logger.warn('container runtime does not answer', { err: error });
      problems.push('container runtime is down');
      return { images: [], runtimeConditions: [] };
    }
  }

  #checkPleg(problems: string[]): void {
    const { runtime, clock, lastRelist } = this.#config;
    if (runtime.runtime.containerEvents !== undefined) return;
    const silence = clock.monotonic() - lastRelist();
    if (!Number.isFinite(silence) || silence <= PLEG_UNHEALTHY_MS) return;
    problems.push(
      `PLEG is not healthy: pleg was last seen active ${Math.floor(silence / 1000)}s ago; threshold is 3m0s`,
    );
  }
}
