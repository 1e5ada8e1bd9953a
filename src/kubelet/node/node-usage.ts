// The CPU and memory usage of the whole node: of this machine from /proc, of a simulated node from
// its containers.

import { readFile } from 'node:fs/promises';
import type { ContainerStats } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { parsePressure, type PressureStall } from './pressure-stall.ts';

export interface NodeUsage {
  /** The wall-clock time in milliseconds. */
  readonly time: number;
  /** The CPU time since the node started. Never decreases while the kubelet runs. */
  readonly cpuNanoseconds: number;
  /** The present rate, if the source knows it, in nanoseconds per second. */
  readonly nanoCores?: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number;
  readonly availableBytes?: number;
  readonly rssBytes?: number;
  /** Absent if the node has no swap. */
  readonly swap?: { readonly usageBytes: number; readonly availableBytes: number };
  /** Absent with cgroups v1. */
  readonly pressure?: Readonly<Record<'cpu' | 'memory' | 'io', PressureStall>>;
}

export interface NodeUsageSource {
  /**
   * The rates of containers that the runtime reports are exact, as those of a simulation. Others
   * span an unknown time, and are replaced. Default: false.
   */
  readonly hasExactRates?: boolean;
  /**
   * Reads the usage. `containers`: the current statistics of all containers of the node. Resolves
   * with undefined if the usage is not available.
   */
  read(containers: readonly ContainerStats[]): Promise<NodeUsage | undefined>;
}

/** The length of a tick of /proc/stat, on every Linux that Node runs on. */
const TICK_NANOSECONDS = 10_000_000;
/** Columns of the line `cpu` in /proc/stat without work: idle and iowait. */
const IDLE_COLUMNS = new Set([3, 4]);
/** Later columns are guest time, which user and nice already contain. */
const COLUMNS = 8;

export class MachineUsage implements NodeUsageSource {
  readonly #clock: Clock;
  readonly #proc: string;
  readonly #cgroups: string;

  /** Creates a source. `proc`, `cgroups`: the mount points of procfs and cgroups v2. */
  constructor(clock: Clock, proc = '/proc', cgroups = '/sys/fs/cgroup') {
    this.#clock = clock;
    this.#proc = proc;
    this.#cgroups = cgroups;
  }

  async read(): Promise<NodeUsage | undefined> {
    let stat: string;
    let meminfo: string;
    try {
      [stat, meminfo] = await Promise.all([
        readFile(`${this.#proc}/stat`, 'utf8'),
        readFile(`${this.#proc}/meminfo`, 'utf8'),
      ]);
    } catch (error) {
      // Systems without procfs have no usage.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    const columns = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? '').split(' ').slice(0, COLUMNS).map(Number);
    const ticks = columns.reduce(
      (sum, value, column) => (IDLE_COLUMNS.has(column) ? sum : sum + value),
      0,
    );
    const bytes = (name: string): number =>
      Number(new RegExp(`^${name}: *(\\d+) kB$`, 'm').exec(meminfo)?.[1] ?? 0) * 1024;
    const usageBytes = bytes('MemTotal') - bytes('MemFree');
    const swapTotal = bytes('SwapTotal');
    // Computed as in cAdvisor for the root cgroup: the usage without the file cache that can be
    // dropped at once.
    const workingSetBytes = Math.max(0, usageBytes - bytes('Inactive\\(file\\)'));
    const pressure = await this.#readPressure();
    return {
      time: this.#clock.now(),
      cpuNanoseconds: ticks * TICK_NANOSECONDS,
      usageBytes,
      workingSetBytes,
      availableBytes: bytes('MemTotal') - workingSetBytes,
      rssBytes: bytes('AnonPages'),
      ...(swapTotal > 0 && {
        swap: { usageBytes: swapTotal - bytes('SwapFree'), availableBytes: bytes('SwapFree') },
      }),
      ...(pressure !== undefined && { pressure }),
    };
  }

  /** Reads the pressure of the root cgroup; undefined if the kernel does not measure it. */
  async #readPressure(): Promise<NodeUsage['pressure']> {
    const [cpu, memory, io] = await Promise.all(
      ['cpu', 'memory', 'io'].map(async (resource) => {
        const file = `${this.#cgroups}/${resource}.pressure`;
        return parsePressure(await readFile(file, 'utf8').catch(() => ''));
      }),
    );
    return cpu === undefined || memory === undefined || io === undefined
      ? undefined
      : { cpu, memory, io };
  }
}

/** The share of a simulated node's own services: 20 thousandths of a CPU, and 200 MiB. */
const BASE_CORES = 0.02;
const BASE_BYTES = 200 * 1024 * 1024;

/** The usage of the containers, plus a constant share of the node itself. */
export class SimulatedUsage implements NodeUsageSource {
  readonly hasExactRates = true;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #memoryCapacity: number;
  /** The CPU time of all past and present containers. */
  #containersCpu = 0;
  /** By container: the last observed CPU time. */
  #last = new Map<string, number>();

  /** Creates a source. `memoryCapacity`: in bytes. */
  constructor(clock: Clock, memoryCapacity: number) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#memoryCapacity = memoryCapacity;
  }

  read(containers: readonly ContainerStats[]): Promise<NodeUsage> {
    const current = new Map<string, number>();
    let workingSetBytes = BASE_BYTES;
    let nanoCores = BASE_CORES * 1e9;
    for (const { attributes, cpu, memory } of containers) {
      const id = attributes?.id ?? '';
      const used = cpu?.usageCoreNanoSeconds?.value ?? 0;
      current.set(id, used);
      this.#containersCpu += Math.max(0, used - (this.#last.get(id) ?? 0));
      nanoCores += cpu?.usageNanoCores?.value ?? 0;
      workingSetBytes += memory?.workingSetBytes?.value ?? 0;
    }
    this.#last = current;
    const own = (this.#clock.monotonic() - this.#startedAt + 1) * BASE_CORES * 1e6;
    return Promise.resolve({
      time: this.#clock.now(),
      cpuNanoseconds: Math.floor(own + this.#containersCpu),
      nanoCores,
      workingSetBytes,
      usageBytes: workingSetBytes,
      availableBytes: Math.max(0, this.#memoryCapacity - workingSetBytes),
      rssBytes: workingSetBytes,
    });
  }
}
