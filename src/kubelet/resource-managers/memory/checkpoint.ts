// The file memory_manager_state, in upstream's layout: the policy, the memory of NUMA nodes, and the
// memory blocks by pod and container. Upstream's kubelet reads what this one has written, and the
// reverse.

import { fnv32a } from '#machinery/text/hash.ts';
import { CorruptCheckpointError } from '../../checkpoints/corrupt-checkpoint-error.ts';
import { type GoValue, spew } from '../../checkpoints/go-spew.ts';
import type { MachineState, MemoryBlock, MemoryTable } from './machine-state.ts';
import type { MemoryAssignments } from './static-policy.ts';

/** The name of the file. */
export const MEMORY_CHECKPOINT = 'memory_manager_state';

export interface MemoryCheckpoint {
  readonly policy: string;
  readonly state: MachineState;
  readonly assignments: MemoryAssignments;
}

interface Node {
  readonly numberOfAssignments: number;
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  readonly cells: readonly number[];
}

interface Block {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

type Entries = Readonly<Record<string, Readonly<Record<string, readonly Block[]>>>>;

interface File {
  readonly policyName: string;
  readonly machineState: Readonly<Record<string, Node>>;
  readonly entries?: Entries;
  readonly checksum: number;
}

/** Returns the contents of the file. */
export function encodeMemoryCheckpoint(checkpoint: MemoryCheckpoint): string {
  const machineState: Record<string, Node> = {};
  for (const [id, { numberOfAssignments, memoryMap, cells }] of checkpoint.state) {
    const tables = Object.fromEntries(
      byKey(Object.fromEntries(memoryMap)).map(([resource, table]) => {
        const { total, systemReserved, allocatable, reserved, free } = table;
        return [resource, { total, systemReserved, allocatable, reserved, free }];
      }),
    );
    machineState[id] = { numberOfAssignments, memoryMap: tables, cells };
  }
  const entries: Record<string, Record<string, readonly Block[]>> = {};
  for (const [uid, containers] of checkpoint.assignments)
    for (const [name, blocks] of containers)
      (entries[uid] ??= {})[name] = blocks.map(({ nodes, resource, size }) => ({
        numaAffinity: nodes,
        type: resource,
        size,
      }));
  const file = { policyName: checkpoint.policy, machineState, entries };
  const { entries: _, ...withoutEntries } = file;
  const body = Object.keys(entries).length === 0 ? withoutEntries : file;
  return JSON.stringify({ ...body, checksum: checksum(file) });
}

/** Throws a CorruptCheckpointError. */
export function decodeMemoryCheckpoint(contents: string): MemoryCheckpoint {
  try {
    const file = JSON.parse(contents) as File;
    if (file.checksum !== 0 && file.checksum !== checksum(file)) throw new CorruptCheckpointError();
    const state: MachineState = new Map(
      Object.entries(file.machineState).map(([id, node]) => [
        Number(id),
        { ...node, memoryMap: new Map(Object.entries(node.memoryMap)) },
      ]),
    );
    const assignments: MemoryAssignments = new Map(
      Object.entries(file.entries ?? {}).map(([uid, containers]) => [
        uid,
        new Map(
          Object.entries(containers).map(([name, blocks]) => [name, blocks.map(blockOf)] as const),
        ),
      ]),
    );
    return { policy: file.policyName, state, assignments };
  } catch (error) {
    throw error instanceof CorruptCheckpointError
      ? error
      : new CorruptCheckpointError({ cause: error });
  }
}

function blockOf({ numaAffinity, type, size }: Block): MemoryBlock {
  return { nodes: numaAffinity, resource: type, size };
}

function checksum({ policyName, machineState, entries = {} }: Omit<File, 'checksum'>): number {
  return fnv32a(
    spew({
      type: '*state.MemoryManagerCheckpoint',
      fields: {
        PolicyName: { type: 'string', value: policyName },
        MachineState: {
          type: 'state.NUMANodeMap',
          entries: Object.entries(machineState)
            .toSorted(([a], [b]) => Number(a) - Number(b))
            .map(([id, node]) => [id, goNode(node)]),
        },
        Entries: {
          type: 'state.ContainerMemoryAssignments',
          entries: byKey(entries).map(([uid, containers]) => [
            uid,
            {
              type: 'map[string][]state.Block',
              entries: byKey(containers).map(([name, blocks]) => [
                name,
                { type: '[]state.Block', value: blocks.map(goBlock) },
              ]),
            },
          ]),
        },
        Checksum: { type: 'checksum.Checksum', value: '0' },
      },
    }),
  );
}

function goNode({ numberOfAssignments, memoryMap, cells }: Node): GoValue {
  return {
    type: '*state.NUMANodeState',
    isPointer: true,
    fields: {
      NumberOfAssignments: { type: 'int', value: String(numberOfAssignments) },
      MemoryMap: {
        type: 'map[v1.ResourceName]*state.MemoryTable',
        entries: byKey(memoryMap).map(([resource, table]) => [resource, goTable(table)]),
      },
      Cells: goInts(cells),
    },
  };
}

function goTable({ total, systemReserved, allocatable, reserved, free }: MemoryTable): GoValue {
  return {
    type: '*state.MemoryTable',
    isPointer: true,
    fields: {
      TotalMemSize: goSize(total),
      SystemReserved: goSize(systemReserved),
      Allocatable: goSize(allocatable),
      Reserved: goSize(reserved),
      Free: goSize(free),
    },
  };
}

function goBlock({ numaAffinity, type, size }: Block): GoValue {
  return {
    type: 'state.Block',
    fields: {
      NUMAAffinity: goInts(numaAffinity),
      Type: { type: 'v1.ResourceName', value: type },
      Size: goSize(size),
    },
  };
}

const goSize = (bytes: number): GoValue => ({ type: 'uint64', value: String(bytes) });

function goInts(list: readonly number[]): GoValue {
  return { type: '[]int', value: list.map((item) => ({ type: 'int', value: String(item) })) };
}

function byKey<T>(entries: Readonly<Record<string, T>>): readonly (readonly [string, T])[] {
  return Object.entries(entries).toSorted(([a], [b]) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  );
}
