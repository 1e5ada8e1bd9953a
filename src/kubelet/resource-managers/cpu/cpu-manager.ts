// The CPU manager: the policy with its assignments, kept in a checkpoint.

import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { CheckpointFile } from '../../checkpoints/checkpoint-file.ts';
import { podUid, type Container, type Pod } from '../../types.ts';
import { type CpuSet, NO_CPUS } from '../cpu-set.ts';
import type { Hint } from '../hints/hint.ts';
import type { CpuTopology } from '../machine-topology.ts';
import { exclusiveCpus } from '../requests.ts';
import type { HintProvider } from '../topology-manager.ts';
import { decodeCpuCheckpoint, encodeCpuCheckpoint } from './checkpoint.ts';
import { CpuAssignments } from './cpu-assignments.ts';
import type { CpuPolicyOptions } from './options.ts';
import { StaticCpuPolicy } from './static-policy.ts';

/** The policy 'none' assigns nothing. */
export type CpuManagerPolicy =
  | { readonly name: 'none' }
  | {
      readonly name: 'static';
      readonly options: CpuPolicyOptions;
      readonly reservedCount: number;
      readonly reserved: CpuSet;
    };

export interface CpuMetrics {
  cpusRequested(): void;
  cpusRejected(): void;
  /** Records that a container got whole cores, or CPUs of one cache; or that it could not. */
  cpusAligned(boundary: 'physical_cpu' | 'uncore_cache', isAligned: boolean): void;
  /** `exclusive`: the number of CPUs by NUMA node. */
  cpusAssigned(shared: number, exclusive: ReadonlyMap<number, number>): void;
}

export interface CpuManagerConfig {
  readonly policy: CpuManagerPolicy;
  readonly topology: CpuTopology;
  readonly file: CheckpointFile;
  /** The path of the file, for errors. */
  readonly path: string;
  readonly logger: Logger;
  readonly metrics?: CpuMetrics;
}

export class CpuManager implements HintProvider {
  readonly #config: CpuManagerConfig;
  #assignments = new CpuAssignments();
  #policy: StaticCpuPolicy | undefined;

  constructor(config: CpuManagerConfig) {
    this.#config = config;
  }

  /**
   * Reads the assignments of the last run. Rejects if they are damaged, or of another policy or
   * machine: containers that run already would get CPUs twice.
   */
  async start(): Promise<void> {
    const { policy, topology, file } = this.#config;
    const restored = await this.#restore(file);
    if (restored !== undefined) this.#assignments = restored;
    if (policy.name === 'static') {
      this.#policy = new StaticCpuPolicy({ ...policy, topology, assignments: this.#assignments });
      this.#policy.start();
      this.#measure();
    }
    await file.write(this.#encoded());
  }

  async #restore(file: CheckpointFile): Promise<CpuAssignments | undefined> {
    const { policy } = this.#config;
    try {
      const contents = await file.read();
      if (contents === undefined) return undefined;
      const { policy: former, assignments } = decodeCpuCheckpoint(contents);
      if (former !== policy.name) {
        throw new Error(
          `configured policy "${policy.name}" differs from state checkpoint policy "${former}"`,
        );
      }
      return assignments;
    } catch (error) {
      throw new Error(
        `could not restore state from checkpoint: ${errorMessage(error)}, please drain this node ` +
          `and delete the CPU manager checkpoint file "${this.#config.path}" before restarting Kubelet`,
        { cause: error },
      );
    }
  }

  hints(pod: Pod, container: Container): ReturnType<HintProvider['hints']> {
    return this.#policy?.hints(pod, container);
  }

  podHints(pod: Pod): ReturnType<HintProvider['podHints']> {
    return this.#policy?.podHints(pod);
  }

  allocate(pod: Pod, container: Container, hint: Hint): undefined {
    const { policy, metrics, topology } = this.#config;
    if (this.#policy === undefined || exclusiveCpus(pod, container) === 0) return;
    const wholeCores = policy.name === 'static' && policy.options.fullCores;
    metrics?.cpusRequested();
    const isNew = this.#assignments.exclusive(podUid(pod), container.name) === undefined;
    try {
      this.#policy.allocate(pod, container, hint.mask);
    } catch (error) {
      metrics?.cpusRejected();
      if (wholeCores) metrics?.cpusAligned('physical_cpu', false);
      throw error;
    }
    if (wholeCores) metrics?.cpusAligned('physical_cpu', true);
    if (!isNew) return;
    const cpus = this.#assignments.cpusOf(podUid(pod), container.name);
    if (new Set([...cpus].map((cpu) => topology.cpus.get(cpu)?.uncore)).size <= 1)
      metrics?.cpusAligned('uncore_cache', true);
    this.#save();
  }

  /** Returns the CPUs on which the container runs; empty: any. */
  cpusOf(uid: string, container: string): CpuSet {
    return this.#policy === undefined ? NO_CPUS : this.#assignments.cpusOf(uid, container);
  }

  exclusiveOf(uid: string, container: string): CpuSet {
    return this.#assignments.exclusive(uid, container) ?? NO_CPUS;
  }

  hasExclusive(uid: string): boolean {
    return this.#assignments.hasExclusive(uid);
  }

  /** Returns the CPUs that containers can have exclusively. */
  get allocatable(): CpuSet {
    return this.#policy?.allocatable ?? NO_CPUS;
  }

  /** Releases the CPUs of all containers that do not remain. */
  retain(remains: (uid: string, container: string) => boolean): void {
    const gone = [...this.#assignments.entries()].filter(([uid, name]) => !remains(uid, name));
    if (gone.length === 0) return;
    for (const [uid, name] of gone) this.#assignments.release(uid, name);
    this.#save();
  }

  #encoded(): string {
    return encodeCpuCheckpoint({
      policy: this.#config.policy.name,
      assignments: this.#assignments,
    });
  }

  #save(): void {
    this.#measure();
    this.#config.file
      .write(this.#encoded())
      .catch((error: unknown) =>
        this.#config.logger.error('CPU manager: checkpoint not written', { err: error }),
      );
  }

  #measure(): void {
    const { metrics, topology } = this.#config;
    const exclusive = new Map<number, number>();
    for (const cpu of this.#assignments.allExclusive) {
      const node = topology.cpus.get(cpu)?.numa ?? 0;
      exclusive.set(node, (exclusive.get(node) ?? 0) + 1);
    }
    const { allocatable } = this;
    const shared = [...this.#assignments.shared].filter((cpu) => allocatable.has(cpu)).length;
    metrics?.cpusAssigned(shared, exclusive);
  }
}
