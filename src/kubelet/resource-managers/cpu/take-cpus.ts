// Chooses CPUs: whole sockets, NUMA nodes and cores as far as possible, and those that are used most
// before others, so that large free parts stay free. The choice is upstream's.

import { type CpuInfo, cpusPerCore, type CpuTopology, numaNodesOf } from '../machine-topology.ts';
import { type CpuSet, sorted } from '../cpu-set.ts';

/** Not enough CPUs are free. */
export class CpuShortageError extends Error {
  constructor(requested: number, available: number) {
    super(
      `not enough cpus available to satisfy request: requested=${requested}, available=${available}`,
    );
    this.name = 'CpuShortageError';
  }
}

/** The order of single CPUs: those of a core together, or by id within a socket. */
export type CpuOrder = 'packed' | 'spread';

export interface TakeOptions {
  readonly order: CpuOrder;
  /** Prefer CPUs that share a last-level cache. */
  readonly alignByUncore: boolean;
}

type Level = keyof CpuInfo;

/** Takes `count` of the available CPUs. Throws a CpuShortageError. */
export function takePacked(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { order, alignByUncore }: TakeOptions,
): CpuSet {
  const taking = new Taking(topology, available, count);
  const steps: (() => void)[] = [
    () => taking.takeWhole(taking.levels[0]),
    () => taking.takeWhole(taking.levels[1]),
    ...(alignByUncore ? [() => taking.takeUncores()] : []),
    ...(order === 'packed' ? [() => taking.takeWhole('core')] : []),
    () => taking.takeSingle(order),
  ];
  for (const step of steps) {
    if (taking.isDone) break;
    step();
  }
  return taking.taken;
}

/** Returns the NUMA nodes with available CPUs, in the order in which they are used. */
export function orderedNumaNodes(topology: CpuTopology, available: CpuSet): readonly number[] {
  return new Taking(topology, available, 0).ordered('numa');
}

class Taking {
  readonly #topology: CpuTopology;
  readonly #free: Map<number, CpuInfo>;
  #needed: number;
  readonly taken = new Set<number>();
  /** Sockets and NUMA nodes: the larger one first. */
  readonly levels: readonly [Level, Level];

  constructor(topology: CpuTopology, available: CpuSet, count: number) {
    this.#topology = topology;
    this.#free = new Map([...topology.cpus].filter(([cpu]) => available.has(cpu)));
    this.#needed = count;
    if (count > this.#free.size) throw new CpuShortageError(count, available.size);
    this.levels =
      topology.sockets >= numaNodesOf(topology).length ? ['numa', 'socket'] : ['socket', 'numa'];
  }

  get isDone(): boolean {
    return this.#needed < 1;
  }

  /** Takes parts of the level that are wholly free, as long as a whole one is needed. */
  takeWhole(level: Level): void {
    const whole = this.ordered(level).filter((id) => this.#isFree(level, id));
    for (const id of whole) {
      const cpus = cpusIn(this.#topology.cpus, level, id);
      if (this.#needed >= cpus.length) this.#take(cpus);
    }
  }

  /** Takes whole caches, and the rest from one cache if possible. */
  takeUncores(): void {
    const { cpus, uncores } = this.#topology;
    const size = uncores === 0 ? 0 : Math.floor(cpus.size / uncores);
    for (const uncore of this.ordered('uncore')) {
      if (this.#needed >= size) this.takeWhole('uncore');
      if (this.isDone) return;
      this.#takePartOf(uncore);
      if (this.isDone) return;
    }
  }

  /** Takes all that is needed from one cache, or nothing. */
  #takePartOf(uncore: number): void {
    const perCore = cpusPerCore(this.#topology);
    const cores = this.#idsIn('core', 'uncore', uncore)
      .toSorted((a, b) => a - b)
      .slice(0, Math.ceil(this.#needed / perCore));
    let cpus = sorted(cores.flatMap((core) => cpusIn(this.#free, 'core', core)));
    // Half of the last core is enough for an odd number.
    if (this.#needed % 2 !== 0 && perCore > 1 && cpus.length > this.#needed)
      cpus = cpus.slice(0, -1);
    if (cpus.length === this.#needed) this.#take(cpus);
  }

  takeSingle(order: CpuOrder): void {
    const [level, ids]: [Level, readonly number[]] =
      order === 'packed' ? ['core', this.ordered('core')] : ['socket', this.ordered('socket')];
    const cpus = ids.flatMap((id) => sorted(cpusIn(this.#free, level, id)));
    this.#take(cpus.slice(0, this.#needed));
  }

  /** Returns the parts of the level with free CPUs: those with the fewest first. */
  ordered(level: Level): readonly number[] {
    const [outer, inner] = this.levels;
    switch (level) {
      case outer:
        return this.#sorted(outer, [...new Set([...this.#free.values()].map((cpu) => cpu[outer]))]);
      case inner:
        return this.#nested(inner, outer);
      case 'core':
        return this.#nested('core', inner);
      default:
        return this.#nested('uncore', 'numa');
    }
  }

  #nested(level: Level, parent: Level): readonly number[] {
    return this.ordered(parent).flatMap((id) =>
      this.#sorted(level, this.#idsIn(level, parent, id)),
    );
  }

  /** Returns the parts of `level` that have free CPUs in the part `id` of `parent`. */
  #idsIn(level: Level, parent: Level, id: number): readonly number[] {
    const infos = [...this.#free.values()].filter((cpu) => cpu[parent] === id);
    return [...new Set(infos.map((cpu) => cpu[level]))];
  }

  #sorted(level: Level, ids: readonly number[]): readonly number[] {
    const sizes = new Map(ids.map((id) => [id, cpusIn(this.#free, level, id).length]));
    return ids.toSorted((a, b) => sizes.get(a)! - sizes.get(b)! || a - b);
  }

  #isFree(level: Level, id: number): boolean {
    const { cpus, sockets } = this.#topology;
    const free = cpusIn(this.#free, level, id).length;
    if (level === 'socket') return free === Math.floor(cpus.size / sockets);
    if (level === 'core') return free === cpusPerCore(this.#topology);
    return free === cpusIn(cpus, level, id).length;
  }

  #take(cpus: readonly number[]): void {
    for (const cpu of cpus) {
      this.taken.add(cpu);
      this.#free.delete(cpu);
    }
    this.#needed -= cpus.length;
  }
}

function cpusIn(cpus: ReadonlyMap<number, CpuInfo>, level: Level, id: number): readonly number[] {
  return [...cpus].flatMap(([cpu, info]) => (info[level] === id ? [cpu] : []));
}
