// The memory manager: the policy with its assignments, kept in a checkpoint.

import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { CheckpointFile } from '../../checkpoints/checkpoint-file.ts';
import { qosClass } from '../../pod/resources.ts';
import { isSidecar } from '../../pod/restart-policy.ts';
import { podUid, type Container, type Pod } from '../../types.ts';
import type { Hint } from '../hints/hint.ts';
import type { NumaNode } from '../machine-topology.ts';
import type { HintProvider } from '../topology-manager.ts';
import { decodeMemoryCheckpoint, encodeMemoryCheckpoint } from './checkpoint.ts';
import {
  initialState,
  type MachineState,
  type MemoryBlock,
  type ReservedMemory,
  reserve,
} from './machine-state.ts';
import { type MemoryAssignments, StaticMemoryPolicy } from './static-policy.ts';

/** The policy 'None' assigns nothing. */
export type MemoryManagerPolicy =
  | { readonly name: 'None' }
  | { readonly name: 'Static'; readonly reserved: ReservedMemory };

export interface MemoryMetrics {
  memoryRequested(): void;
  memoryRejected(): void;
}

export interface MemoryManagerConfig {
  readonly policy: MemoryManagerPolicy;
  readonly nodes: readonly NumaNode[];
  readonly file: CheckpointFile;
  /** The path of the file, for errors. */
  readonly path: string;
  readonly logger: Logger;
  readonly metrics?: MemoryMetrics;
}

export class MemoryManager implements HintProvider {
  readonly #config: MemoryManagerConfig;
  #state: MachineState = new Map();
  #assignments: MemoryAssignments = new Map();
  #policy: StaticMemoryPolicy | undefined;

  constructor(config: MemoryManagerConfig) {
    this.#config = config;
  }

  /** Reads the assignments of the last run. Rejects if they are damaged, or do not fit this machine. */
  async start(): Promise<void> {
    const { policy, nodes, file } = this.#config;
    await this.#restore(file);
    if (policy.name === 'Static') {
      const expected = initialState(nodes, policy.reserved);
      if (this.#state.size === 0) this.#state = expected;
      else this.#check(expected);
      this.#policy = new StaticMemoryPolicy(this.#state, this.#assignments);
    }
    await file.write(this.#encoded());
  }

  async #restore(file: CheckpointFile): Promise<void> {
    const { policy } = this.#config;
    try {
      const contents = await file.read();
      if (contents === undefined) return;
      const checkpoint = decodeMemoryCheckpoint(contents);
      if (checkpoint.policy !== policy.name) {
        throw new Error(
          `[memorymanager] configured policy "${policy.name}" differs from state checkpoint ` +
            `policy "${checkpoint.policy}"`,
        );
      }
      this.#state = checkpoint.state;
      this.#assignments = checkpoint.assignments;
    } catch (error) {
      throw new Error(
        `could not restore state from checkpoint: ${errorMessage(error)}, please drain this node ` +
          `and delete the memory manager checkpoint file "${this.#config.path}" before restarting Kubelet`,
        { cause: error },
      );
    }
  }

  /** Throws if the state is not what the assignments make of this machine. */
  #check(expected: MachineState): void {
    for (const [uid, containers] of this.#assignments)
      for (const [name, blocks] of containers)
        for (const { nodes, resource, size } of blocks) {
          for (const node of nodes) {
            const tables = expected.get(node)?.memoryMap;
            if (tables?.has(resource) === true) continue;
            throw new Error(
              `[memorymanager] (pod: ${uid}, container: ${name}) the memory assignment uses ` +
                (tables === undefined
                  ? 'the NUMA that does not exist'
                  : 'memory resource that does not exist'),
            );
          }
          reserve(expected, nodes, resource, size);
        }
    if (!isDeepStrictEqual(summary(this.#state), summary(expected)))
      throw new Error('[memorymanager] the expected machine state is different from the real one');
  }

  hints(pod: Pod, container: Container): ReturnType<HintProvider['hints']> {
    return this.#policy?.hints(pod, container);
  }

  podHints(pod: Pod): ReturnType<HintProvider['podHints']> {
    return this.#policy?.podHints(pod);
  }

  allocate(pod: Pod, container: Container, hint: Hint): undefined {
    const { metrics } = this.#config;
    if (this.#policy === undefined || qosClass(pod) !== 'Guaranteed') return;
    metrics?.memoryRequested();
    try {
      if (this.#policy.allocate(pod, container, hint)) this.#save();
    } catch (error) {
      metrics?.memoryRejected();
      throw error;
    }
  }

  /** Returns the container's memory on certain nodes; none if it may use all nodes. */
  blocksOf(uid: string, container: string): readonly MemoryBlock[] {
    return this.#policy?.blocks(uid, container) ?? [];
  }

  /** Returns the memory of each node that containers can have. */
  get allocatable(): readonly MemoryBlock[] {
    if (this.#policy === undefined) return [];
    return [...this.#state].flatMap(([node, { memoryMap }]) =>
      [...memoryMap].flatMap(([resource, { allocatable }]) =>
        allocatable === 0 ? [] : [{ nodes: [node], resource, size: allocatable }],
      ),
    );
  }

  /** Releases the memory of the init containers that have ended before this container starts. */
  containerStarts(pod: Pod, container: Container): void {
    if (this.#policy === undefined) return;
    const init = pod.spec.initContainers ?? [];
    const index = init.findIndex(({ name }) => name === container.name);
    const ended = (index < 0 ? init : init.slice(0, index)).filter((one) => !isSidecar(one));
    const uid = podUid(pod);
    const released = ended.filter(({ name }) => this.#policy?.blocks(uid, name) !== undefined);
    for (const { name } of released) this.#policy.release(uid, name);
    if (released.length > 0) this.#save();
  }

  /** Releases the memory of all containers that do not remain. */
  retain(remains: (uid: string, container: string) => boolean): void {
    const gone = [...this.#assignments].flatMap(([uid, containers]) =>
      [...containers.keys()]
        .filter((name) => !remains(uid, name))
        .map((name) => [uid, name] as const),
    );
    for (const [uid, name] of gone) this.#policy?.release(uid, name);
    if (gone.length > 0) this.#save();
  }

  #encoded(): string {
    return encodeMemoryCheckpoint({
      policy: this.#config.policy.name,
      state: this.#state,
      assignments: this.#assignments,
    });
  }

  #save(): void {
    this.#config.file
      .write(this.#encoded())
      .catch((error: unknown) =>
        this.#config.logger.error('memory manager: checkpoint not written', { err: error }),
      );
  }
}

/**
 * Returns what has to be equal: the nodes of a group may have divided its memory in another way, as
 * releases do not undo allocations in their order.
 */
function summary(state: MachineState): unknown {
  return [...state]
    .toSorted(([a], [b]) => a - b)
    .map(([id, { numberOfAssignments, memoryMap, cells }]) => ({
      id,
      numberOfAssignments,
      cells: cells.toSorted((a, b) => a - b),
      tables: [...memoryMap]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([resource, { total, systemReserved, allocatable }]) => ({
          resource,
          total,
          systemReserved,
          allocatable,
          free: sumOf(state, cells, resource, 'free'),
          reserved: sumOf(state, cells, resource, 'reserved'),
        })),
    }));
}

function sumOf(
  state: MachineState,
  nodes: readonly number[],
  resource: string,
  field: 'free' | 'reserved',
): number {
  return nodes.reduce(
    (sum, node) => sum + (state.get(node)?.memoryMap.get(resource)?.[field] ?? 0),
    0,
  );
}
