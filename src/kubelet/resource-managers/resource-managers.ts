// Assigns CPUs and memory of the node to single containers, aligned with each other and with devices
// on NUMA nodes: composes the CPU manager, the memory manager and the topology manager, and brings
// changes of the shared CPUs to running containers.

import type { Clock } from '#machinery/clock.ts';
import { KeyedMutex } from '#machinery/keyed-mutex.ts';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Rejection } from '../admission.ts';
import type { Placement } from '../pod/resources.ts';
import { podUid, type Container, type Pod } from '../types.ts';
import type { CpuManager } from './cpu/cpu-manager.ts';
import { formatCpuSet, sorted } from './cpu-set.ts';
import type { MemoryBlock } from './memory/machine-state.ts';
import type { MemoryManager } from './memory/memory-manager.ts';
import { containersOf } from './requests.ts';
import type { HintProvider, TopologyManager } from './topology-manager.ts';

export interface RunningContainer {
  readonly pod: Pod;
  readonly name: string;
  /** The id in the runtime. */
  readonly id: string;
}

/** The rest of the kubelet, as the managers concern it. */
export interface ResourceHooks {
  /** Returns the pods that may have resources; undefined while it is not known which there are. */
  readonly active: () => readonly Pod[] | undefined;
  /** Returns the running containers of the active pods. */
  readonly running: () => readonly RunningContainer[];
  /** Changes the CPUs of a running container. */
  readonly setCpus: (id: string, cpus: string, signal: AbortSignal) => Promise<void>;
}

/** The devices of device plugins. */
export interface DeviceHintProvider extends HintProvider {
  /** Reports whether a container of the pod asks for devices. */
  needs(pod: Pod): boolean;
}

export interface ResourceManagersConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cpu: CpuManager;
  readonly memory: MemoryManager;
  readonly topology: TopologyManager;
  readonly reconcileMs: number;
}

/** Errors whose name is the reason of the rejection. */
const REASONS = new Set(['TopologyAffinityError', 'SMTAlignmentError']);
const DEVICES = 'devices';

export class ResourceManagers {
  readonly #config: ResourceManagersConfig;
  /** Pods with devices are admitted one after the other, as their plugins have to be waited for. */
  readonly #mutex = new KeyedMutex();
  /** By id in the runtime: the CPUs that a container has. */
  readonly #applied = new Map<string, string>();
  #hooks: ResourceHooks | undefined;

  constructor(config: ResourceManagersConfig) {
    this.#config = config;
  }

  /** Reads the state of the last run. Rejects if it does not fit the configuration or the machine. */
  async start(hooks: ResourceHooks): Promise<void> {
    this.#hooks = hooks;
    const { cpu, memory } = this.#config;
    await named('start cpu manager error', cpu.start());
    await named('start memory manager error', memory.start());
  }

  /**
   * Allocates the resources of the pod's containers. Returns, or resolves with, the reason why it
   * cannot run; undefined if there is none.
   */
  admit(
    pod: Pod,
    devices: DeviceHintProvider | undefined,
    signal: AbortSignal,
  ): Promise<Rejection | undefined> | Rejection | undefined {
    const { cpu, memory, topology } = this.#config;
    this.releaseInactive();
    if (devices?.needs(pod) === true) return this.#admitWithDevices(pod, devices, signal);
    try {
      topology.admitNow(pod, [cpu, memory], signal);
      return undefined;
    } catch (error) {
      return rejectionOf(error);
    }
  }

  async #admitWithDevices(
    pod: Pod,
    devices: HintProvider,
    signal: AbortSignal,
  ): Promise<Rejection | undefined> {
    const { cpu, memory, topology } = this.#config;
    const admit = (): Promise<void> => topology.admit(pod, [devices, cpu, memory], signal);
    try {
      // Without a policy no pod depends on the devices of others.
      await (topology.policy === 'none' ? admit() : this.#mutex.run(DEVICES, admit));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return rejectionOf(error);
    }
  }

  /** Returns where the container is to run. */
  placement(pod: Pod, container: Container): Placement {
    const { cpu } = this.#config;
    const uid = podUid(pod);
    const nodes = new Set(this.memoryOf(pod, container).flatMap((block) => block.nodes));
    return {
      cpus: formatCpuSet(cpu.cpusOf(uid, container.name)),
      memoryNodes: sorted(nodes).join(','),
      isExclusive: cpu.exclusiveOf(uid, container.name).size > 0,
    };
  }

  /** Reports whether a container of the pod has exclusive CPUs. */
  hasExclusiveCpus(pod: Pod): boolean {
    return this.#config.cpu.hasExclusive(podUid(pod));
  }

  /** Called before a container is started, when it has its placement. */
  containerStarts(pod: Pod, container: Container, id: string): void {
    const { cpus } = this.placement(pod, container);
    if (cpus !== '') this.#applied.set(id, cpus);
    this.#config.memory.containerStarts(pod, container);
  }

  /** Returns the ids of the container's exclusive CPUs. */
  cpusOf(pod: Pod, container: Container): readonly number[] {
    return sorted(this.#config.cpu.exclusiveOf(podUid(pod), container.name));
  }

  memoryOf(pod: Pod, container: Container): readonly MemoryBlock[] {
    return this.#config.memory.blocksOf(podUid(pod), container.name);
  }

  /** Returns the CPUs and the memory that containers can have exclusively. */
  allocatable(): { readonly cpus: readonly number[]; readonly memory: readonly MemoryBlock[] } {
    const { cpu, memory } = this.#config;
    return { cpus: sorted(cpu.allocatable), memory: memory.allocatable };
  }

  /** Releases the resources of containers that are gone. */
  releaseInactive(): void {
    const active = this.#hooks?.active();
    if (active === undefined) return;
    const names = new Map(
      active.map((pod) => [podUid(pod), new Set(containersOf(pod).map(({ name }) => name))]),
    );
    const remains = (uid: string, name: string): boolean => names.get(uid)?.has(name) === true;
    this.#config.cpu.retain(remains);
    this.#config.memory.retain(remains);
  }

  /** Keeps the CPUs of running containers up to date until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, reconcileMs } = this.#config;
    if (this.#config.cpu.allocatable.size === 0) return;
    while (!signal.aborted) {
      await this.reconcile(signal);
      await clock.sleep(reconcileMs, signal).catch(() => undefined);
    }
  }

  /** Gives running containers the CPUs that they should have. */
  async reconcile(signal: AbortSignal): Promise<void> {
    this.releaseInactive();
    const running = this.#hooks?.running() ?? [];
    const ids = new Set(running.map(({ id }) => id));
    for (const id of this.#applied.keys()) if (!ids.has(id)) this.#applied.delete(id);
    for (const { pod, name, id } of running) {
      const cpus = formatCpuSet(this.#config.cpu.cpusOf(podUid(pod), name));
      if (cpus === '' || this.#applied.get(id) === cpus) continue;
      try {
        await this.#hooks?.setCpus(id, cpus, signal);
        this.#applied.set(id, cpus);
      } catch (error) {
        if (signal.aborted) return;
        this.#config.logger.error('CPU manager: container not updated, will retry', {
          containerID: id,
          cpuSet: cpus,
          err: error,
        });
      }
    }
  }
}

/** The state of the last run does not fit the configuration or the machine. */
export class ResourceStateError extends Error {
  constructor(message: string, options: ErrorOptions) {
    super(message, options);
    this.name = 'ResourceStateError';
  }
}

async function named(what: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new ResourceStateError(`${what}: ${errorMessage(error)}`, { cause: error });
  }
}

function rejectionOf(error: unknown): Rejection {
  if (error instanceof Error && REASONS.has(error.name))
    return { reason: error.name, message: error.message };
  return {
    reason: 'UnexpectedAdmissionError',
    message: `Allocate failed due to ${errorMessage(error)}, which is unexpected`,
  };
}
