// The static CPU policy: a container of a Guaranteed pod that asks for whole CPUs gets them for
// itself. All others share the rest. Reserved CPUs are never exclusive.
//
// The decisions are upstream's, so that pods keep their CPUs when one kubelet replaces the other.

import {
  type CpuSet,
  difference,
  formatCpuSet,
  intersection,
  isSameSet,
  NO_CPUS,
  union,
} from '../cpu-set.ts';
import type { Hint, Hints } from '../hints/hint.ts';
import { countOf, hasNode, nodesOf, subsetsOf } from '../hints/numa-mask.ts';
import { type CpuTopology, cpusPerCore, numaNodesOf } from '../machine-topology.ts';
import { containersOf, exclusiveCpus, isEndingInit, podExclusiveCpus } from '../requests.ts';
import { podUid, type Container, type Pod } from '../../types.ts';
import type { CpuAssignments } from './cpu-assignments.ts';
import { type CpuPolicyOptions, PolicyOptionError } from './options.ts';
import { takeDistributed } from './take-distributed.ts';
import { takePacked } from './take-cpus.ts';

/** The container asks for part of a core, or not enough whole cores are free. */
export class SmtAlignmentError extends Error {
  constructor(problem: string) {
    super(`SMT Alignment Error: ${problem}`);
    this.name = 'SMTAlignmentError';
  }
}

/** The assignments of the last run do not fit this machine or configuration. */
class CpuStateError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CpuStateError';
  }
}

export interface StaticCpuPolicyConfig {
  readonly topology: CpuTopology;
  readonly options: CpuPolicyOptions;
  /** The number of CPUs that are reserved. */
  readonly reservedCount: number;
  /** The reserved CPUs. Empty: the policy chooses them. */
  readonly reserved: CpuSet;
  readonly assignments: CpuAssignments;
}

export class StaticCpuPolicy {
  readonly #config: StaticCpuPolicyConfig;
  readonly #reserved: CpuSet;
  /** The reserved CPUs, and the others of their cores. */
  readonly #reservedCores: CpuSet;
  /** The pod whose containers get CPUs now, and the CPUs of its init containers that have ended. */
  #reusable: { readonly uid: string; readonly cpus: CpuSet } = { uid: '', cpus: NO_CPUS };

  /** Throws PolicyOptionError if the machine cannot have the options or the reserved CPUs. */
  constructor(config: StaticCpuPolicyConfig) {
    this.#config = config;
    const { topology, options, reservedCount, reserved } = config;
    if (options.alignBySocket && topology.sockets > numaNodesOf(topology).length) {
      throw new PolicyOptionError(
        'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
      );
    }
    this.#reserved =
      reserved.size > 0 || reservedCount > topology.cpus.size
        ? reserved
        : this.#take(this.#allCpus, reservedCount);
    if (this.#reserved.size !== reservedCount) {
      throw new PolicyOptionError(
        '[cpumanager] unable to reserve the required amount of CPUs ' +
          `(size of ${formatCpuSet(this.#reserved)} did not equal ${reservedCount})`,
      );
    }
    const cores = new Set<number>();
    for (const cpu of this.#reserved) {
      const info = topology.cpus.get(cpu);
      if (info === undefined) {
        throw new PolicyOptionError(
          '[cpumanager] unable to build the reserved physical CPUs from the reserved set: ' +
            `unknown CPU ID: ${cpu}`,
        );
      }
      cores.add(info.core);
    }
    this.#reservedCores = new Set(
      [...topology.cpus].flatMap(([cpu, { core }]) => (cores.has(core) ? [cpu] : [])),
    );
  }

  get #allCpus(): CpuSet {
    return new Set(this.#config.topology.cpus.keys());
  }

  /** The CPUs that containers can have exclusively. */
  get allocatable(): CpuSet {
    return difference(this.#allCpus, this.#reserved);
  }

  /** Takes the assignments of the last run. Throws a CpuStateError if they are not valid here. */
  start(): void {
    const { assignments, options } = this.#config;
    const all = options.strictReservation ? this.allocatable : this.#allCpus;
    const { shared, allExclusive } = assignments;
    if (shared.size === 0) {
      if (allExclusive.size > 0) throw new CpuStateError('default cpuset cannot be empty');
      assignments.shared = all;
      return;
    }
    const reservedShared = intersection(this.#reserved, shared);
    if (options.strictReservation && reservedShared.size > 0) {
      throw new CpuStateError(
        `some of strictly reserved cpus: "${formatCpuSet(reservedShared)}" are present in ` +
          `defaultCpuSet: "${formatCpuSet(shared)}"`,
      );
    }
    if (!options.strictReservation && !isSameSet(reservedShared, this.#reserved)) {
      throw new CpuStateError(
        `not all reserved cpus: "${formatCpuSet(this.#reserved)}" are present in ` +
          `defaultCpuSet: "${formatCpuSet(shared)}"`,
      );
    }
    for (const [uid, container, cpus] of assignments.entries()) {
      if (intersection(cpus, shared).size > 0) {
        throw new CpuStateError(
          `pod: ${uid}, container: ${container} cpuset: "${formatCpuSet(cpus)}" overlaps with ` +
            `default cpuset "${formatCpuSet(shared)}"`,
        );
      }
    }
    const known = union(shared, allExclusive);
    if (!isSameSet(known, all)) {
      throw new CpuStateError(
        `current set of available CPUs "${formatCpuSet(all)}" doesn't match with CPUs in state ` +
          `"${formatCpuSet(known)}"`,
      );
    }
  }

  /** Returns the NUMA nodes on which the container's exclusive CPUs can be. */
  hints(pod: Pod, container: Container): Hints {
    const requested = exclusiveCpus(pod, container);
    if (requested === 0) return undefined;
    const uid = podUid(pod);
    const present = this.#config.assignments.exclusive(uid, container.name);
    if (present === undefined)
      return this.#hints(this.#available, this.#reusableFor(uid), requested);
    return present.size === requested
      ? this.#hints(present, NO_CPUS, requested)
      : new Map([['cpu', []]]);
  }

  /** Returns the NUMA nodes on which the exclusive CPUs of all containers of the pod can be. */
  podHints(pod: Pod): Hints {
    const requested = podExclusiveCpus(pod);
    if (requested === 0) return undefined;
    const uid = podUid(pod);
    let present = NO_CPUS;
    for (const container of containersOf(pod)) {
      const own = this.#config.assignments.exclusive(uid, container.name);
      if (own === undefined) continue;
      if (own.size !== exclusiveCpus(pod, container)) return new Map([['cpu', []]]);
      present = union(present, own);
    }
    if (present.size === requested) return this.#hints(present, NO_CPUS, requested);
    return this.#hints(this.#available, union(this.#reusableFor(uid), present), requested);
  }

  /**
   * Assigns exclusive CPUs to the container, if it asks for them: from the NUMA nodes of `mask`
   * first. Reports whether it has some. Throws the reason if they are not available.
   */
  allocate(pod: Pod, container: Container, mask: number | undefined): boolean {
    const { assignments } = this.#config;
    const requested = exclusiveCpus(pod, container);
    if (requested === 0) return false;
    const uid = podUid(pod);
    this.#checkCores(requested);
    const present = assignments.exclusive(uid, container.name);
    const cpus = present ?? this.#choose(requested, mask, this.#reusableFor(uid));
    if (present === undefined) {
      assignments.shared = difference(assignments.shared, cpus);
      assignments.assign(uid, container.name, cpus);
    }
    const before = this.#reusableFor(uid);
    this.#reusable = {
      uid,
      cpus: isEndingInit(pod, container) ? union(before, cpus) : difference(before, cpus),
    };
    return true;
  }

  #reusableFor(uid: string): CpuSet {
    return this.#reusable.uid === uid ? this.#reusable.cpus : NO_CPUS;
  }

  get #available(): CpuSet {
    return difference(this.#config.assignments.shared, this.#reserved);
  }

  #checkCores(requested: number): void {
    const { topology, options, assignments } = this.#config;
    if (!options.fullCores) return;
    const perCore = cpusPerCore(topology);
    if (requested % perCore !== 0) {
      throw new SmtAlignmentError(
        `requested ${requested} cpus not multiple cpus per core = ${perCore}`,
      );
    }
    // A CPU whose core has a reserved one is no part of a whole free core.
    const available = difference(assignments.shared, this.#reservedCores).size;
    if (requested > available) {
      throw new SmtAlignmentError(
        `not enough free physical CPUs: available physical CPUs = ${available}, ` +
          `requested CPUs = ${requested}, CPUs per core = ${perCore}`,
      );
    }
  }

  #choose(requested: number, mask: number | undefined, reusable: CpuSet): CpuSet {
    const free = union(this.#available, reusable);
    let cpus = NO_CPUS;
    if (mask !== undefined) {
      const aligned = this.#alignedWith(mask, free);
      cpus = this.#take(aligned, Math.min(requested, aligned.size));
    }
    return union(cpus, this.#take(difference(free, cpus), requested - cpus.size));
  }

  /** Returns the CPUs on the NUMA nodes, or on their sockets. */
  #alignedWith(mask: number, free: CpuSet): CpuSet {
    const { topology, options } = this.#config;
    const sockets = this.#socketsOf(mask);
    return new Set(
      [...free].filter((cpu) => {
        const info = topology.cpus.get(cpu);
        if (info === undefined) return false;
        return options.alignBySocket ? sockets.has(info.socket) : hasNode(mask, info.numa);
      }),
    );
  }

  #socketsOf(mask: number): ReadonlySet<number> {
    const infos = [...this.#config.topology.cpus.values()];
    return new Set(infos.flatMap(({ numa, socket }) => (hasNode(mask, numa) ? [socket] : [])));
  }

  #take(available: CpuSet, count: number): CpuSet {
    const { topology, options } = this.#config;
    const order = options.acrossCores ? 'spread' : 'packed';
    if (!options.acrossNuma)
      return takePacked(topology, available, count, {
        order,
        alignByUncore: options.alignByUncore,
      });
    const groupSize = options.fullCores ? cpusPerCore(topology) : 1;
    return takeDistributed(topology, available, count, groupSize, order);
  }

  #hints(available: CpuSet, reusable: CpuSet, requested: number): Hints {
    const { topology, options } = this.#config;
    const total = perNode(topology, this.#allCpus);
    const free = perNode(topology, available);
    const reused = [...perNode(topology, reusable).keys()];
    const nodes = numaNodesOf(topology);
    let fewest = nodes.length;
    const masks: number[] = [];
    for (const mask of subsetsOf(nodes)) {
      const count = (sizes: ReadonlyMap<number, number>): number =>
        nodesOf(mask).reduce((sum, node) => sum + (sizes.get(node) ?? 0), 0);
      if (count(total) >= requested) fewest = Math.min(fewest, countOf(mask));
      // CPUs that are reused come first, so all of their nodes are needed.
      if (reused.every((node) => hasNode(mask, node)) && reusable.size + count(free) >= requested)
        masks.push(mask);
    }
    const isPreferred = (mask: number): boolean =>
      (options.alignBySocket && this.#hasFewestSockets(mask, fewest)) || countOf(mask) === fewest;
    const hints: readonly Hint[] = masks.map((mask) => ({ mask, preferred: isPreferred(mask) }));
    return new Map([['cpu', hints]]);
  }

  #hasFewestSockets(mask: number, fewestNodes: number): boolean {
    const { topology } = this.#config;
    const nodesPerSocket = Math.floor(numaNodesOf(topology).length / topology.sockets);
    if (nodesPerSocket === 0) return false;
    return this.#socketsOf(mask).size === Math.ceil(fewestNodes / nodesPerSocket);
  }
}

/** Returns the number of CPUs of the set by NUMA node. */
function perNode({ cpus }: CpuTopology, set: CpuSet): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const cpu of set) {
    const node = cpus.get(cpu)?.numa;
    if (node !== undefined) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}
