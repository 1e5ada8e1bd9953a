// The memory of NUMA nodes: what containers have, and what is free. The values are those of
// upstream's checkpoint.

import type { NumaNode } from '../machine-topology.ts';

/** In bytes. */
export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  reserved: number;
  free: number;
}

export interface NodeState {
  /** The number of memory blocks of containers that are on this node. */
  numberOfAssignments: number;
  /** By resource: 'memory' and 'hugepages-…'. */
  readonly memoryMap: Map<string, MemoryTable>;
  /** The nodes that containers use together with this one. */
  cells: readonly number[];
}

export type MachineState = Map<number, NodeState>;

/** Memory of a container on a group of nodes. */
export interface MemoryBlock {
  readonly nodes: readonly number[];
  readonly resource: string;
  size: number;
}

/** By node and resource: bytes that containers do not get. */
export type ReservedMemory = ReadonlyMap<number, ReadonlyMap<string, number>>;

export function initialState(nodes: readonly NumaNode[], reserved: ReservedMemory): MachineState {
  return new Map(
    nodes.map((node) => {
      const reservedOf = (resource: string): number => reserved.get(node.id)?.get(resource) ?? 0;
      const memoryMap = new Map<string, MemoryTable>();
      let pages = 0;
      for (const { pageSize, count } of node.hugePages) {
        const resource = hugePageResource(pageSize);
        memoryMap.set(resource, tableOf(pageSize * count, reservedOf(resource), 0));
        pages += pageSize * count;
      }
      memoryMap.set('memory', tableOf(node.memory, reservedOf('memory'), pages));
      return [node.id, { numberOfAssignments: 0, memoryMap, cells: [node.id] }];
    }),
  );
}

function tableOf(total: number, systemReserved: number, taken: number): MemoryTable {
  const allocatable = total - systemReserved - taken;
  return { total, systemReserved, allocatable, reserved: 0, free: allocatable };
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti'];

/** Returns the resource of pages of this size, for example 'hugepages-2Mi'. */
function hugePageResource(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size % 1024 === 0 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `hugepages-${size}${UNITS[unit]}`;
}

/** Records an allocation: the memory comes from the nodes in their order. */
export function reserve(
  state: MachineState,
  nodes: readonly number[],
  resource: string,
  size: number,
): void {
  let rest = size;
  for (const id of nodes) {
    const node = state.get(id);
    if (node === undefined) continue;
    node.numberOfAssignments++;
    node.cells = nodes;
    const table = node.memoryMap.get(resource);
    if (table === undefined) continue;
    const taken = Math.min(rest, Math.max(table.free, 0));
    table.reserved += taken;
    table.free -= taken;
    rest -= taken;
  }
}

/** Undoes an allocation. */
export function release(state: MachineState, { nodes, resource, size }: MemoryBlock): void {
  let rest = size;
  for (const id of nodes) {
    const node = state.get(id);
    if (node === undefined) continue;
    node.numberOfAssignments--;
    if (node.numberOfAssignments === 0) node.cells = [id];
    const table = node.memoryMap.get(resource);
    if (table === undefined) continue;
    const returned = Math.min(rest, table.reserved);
    table.free += returned;
    table.reserved -= returned;
    rest -= returned;
  }
}

/** Reports whether the groups have the same nodes. */
export function isSameGroup(group: readonly number[], other: readonly number[]): boolean {
  return group.length === other.length && group.every((node) => other.includes(node));
}
