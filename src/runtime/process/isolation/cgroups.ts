// Control groups of containers: made, limited, read and removed, in version 1 and 2. The system's
// root is a parameter, so tests use a directory.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { CriError, type LinuxContainerResources } from '#cri/index.ts';

export type CgroupVersion = 'v1' | 'v2' | 'none';

const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'blkio', 'freezer', 'hugetlb'];
/** The parent of containers whose pod names none. */
const DEFAULT_PARENT = '/coxswain';
/** The values at which kernels report "no limit" in version 1. */
const UNLIMITED = 2 ** 62;

export interface CgroupUsage {
  readonly cpuNanoseconds: number;
  readonly usageBytes: number;
  readonly workingSetBytes: number;
  readonly residentBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly processes: number;
  /** Undefined without a limit. */
  readonly availableBytes: number | undefined;
}

export interface CpuDetails {
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledSeconds: number;
  /** Hundredths of a second. */
  readonly userTicks: number;
  readonly systemTicks: number;
}

export interface MemoryDetails {
  readonly cache: number;
  readonly mapped: number;
  readonly kernel: number;
  readonly swap: number;
  /** The highest usage so far. */
  readonly max: number;
  /** How often the limit was hit. */
  readonly failures: number;
}

export interface GroupLimits {
  /** Microseconds. */
  readonly cpuPeriod: number;
  readonly cpuQuota: number;
  readonly cpuShares: number;
  readonly memory: number;
  readonly memoryReservation: number;
  readonly swap: number;
  readonly threads: number;
}

export class Cgroups {
  readonly version: CgroupVersion;
  readonly #root: string;
  /** Where each controller's hierarchy is mounted; one hierarchy in version 2. */
  readonly #hierarchies: ReadonlyMap<string, string>;

  /** `root`: where the file systems are mounted. */
  constructor(root = '/sys/fs/cgroup') {
    this.#root = root;
    if (existsSync(join(root, 'cgroup.controllers'))) {
      this.version = isWritable(root) ? 'v2' : 'none';
      this.#hierarchies = new Map(this.version === 'v2' ? [['', root]] : []);
      return;
    }
    const found = CONTROLLERS.filter(
      (name) => existsSync(join(root, name, 'cgroup.procs')) && isWritable(join(root, name)),
    );
    this.version = found.includes('memory') ? 'v1' : 'none';
    this.#hierarchies = new Map(
      this.version === 'v1' ? found.map((name) => [name, join(root, name)]) : [],
    );
  }

  /** Returns the path of a container's group below each hierarchy. Throws InvalidArgument. */
  pathOf(parent: string | undefined, id: string): string {
    const path = posix.join('/', parent || DEFAULT_PARENT);
    if ((parent ?? '').split('/').includes('..'))
      throw new CriError('InvalidArgument', `invalid cgroup parent ${JSON.stringify(parent)}`);
    return posix.join(path, id);
  }

  /** Makes a group, with the limits. Throws InvalidArgument if the kernel rejects a limit. */
  create(path: string, resources: LinuxContainerResources): void {
    for (const [controller, root] of this.#hierarchies) {
      const dir = join(root, path);
      if (this.version === 'v2') this.#delegate(path);
      mkdirSync(dir, { recursive: true });
      if (controller === 'cpuset') this.#inheritCpuset(root, path);
    }
    this.update(path, resources);
  }

  /** Sets the limits that are given; others stay. Throws InvalidArgument for those that fail. */
  update(path: string, resources: LinuxContainerResources): void {
    const files = this.version === 'v1' ? limitsV1(resources) : limitsV2(resources);
    const targets = (this.version === 'none' ? [] : files).flatMap(([controller, file, value]) => {
      const root = this.version === 'v2' ? this.#root : this.#hierarchies.get(controller);
      if (root === undefined) return [];
      const target = join(root, path, file);
      // Without swap accounting there is no limit of swap to set.
      return !existsSync(target) && file.includes('sw') ? [] : [{ target, file, value }];
    });
    // A limit of memory cannot be raised above that of memory and swap, nor the latter be lowered
    // below the former: whatever fails at first is tried again after the others.
    const second = targets.filter(({ target, value }) => !tryWrite(target, value));
    for (const { target, file, value } of second) {
      try {
        writeFileSync(target, value);
      } catch (error) {
        throw new CriError(
          'InvalidArgument',
          `cannot set ${file} of the container to ${value}: ${(error as Error).message}`,
          { cause: error },
        );
      }
    }
  }

  /** Returns the files into which a process writes 0 to join the group. */
  joinFiles(path: string): readonly string[] {
    return [...this.#hierarchies.values()].map((root) => join(root, path, 'cgroup.procs'));
  }

  /** Returns the processes in the group. */
  processes(path: string): readonly number[] {
    const [file] = this.joinFiles(path);
    return file === undefined ? [] : text(file).split('\n').filter(Boolean).map(Number);
  }

  /** Returns how many processes of the group the kernel has killed for lack of memory. */
  oomKills(path: string): number {
    if (this.version === 'none') return 0;
    const file = this.version === 'v2' ? 'memory.events' : 'memory.oom_control';
    return counters(this.#read('memory', path, file)).get('oom_kill') ?? 0;
  }

  /** Returns the usage; undefined if the group is gone, or there are none. */
  usage(path: string): CgroupUsage | undefined {
    if (this.version === 'none') return undefined;
    const v2 = this.version === 'v2';
    const stat = counters(this.#read('memory', path, 'memory.stat'));
    const usageText = this.#read('memory', path, v2 ? 'memory.current' : 'memory.usage_in_bytes');
    if (usageText === '') return undefined;
    const usageBytes = Number(usageText);
    const limit = Number(this.#read('memory', path, v2 ? 'memory.max' : 'memory.limit_in_bytes'));
    const inactive = stat.get(v2 ? 'inactive_file' : 'total_inactive_file') ?? 0;
    const workingSetBytes = Math.max(0, usageBytes - inactive);
    return {
      cpuNanoseconds: v2
        ? (counters(this.#read('cpu', path, 'cpu.stat')).get('usage_usec') ?? 0) * 1000
        : Number(this.#read('cpuacct', path, 'cpuacct.usage')),
      usageBytes,
      workingSetBytes,
      residentBytes: stat.get(v2 ? 'anon' : 'total_rss') ?? 0,
      pageFaults: stat.get(v2 ? 'pgfault' : 'total_pgfault') ?? 0,
      majorPageFaults: stat.get(v2 ? 'pgmajfault' : 'total_pgmajfault') ?? 0,
      processes: this.processes(path).length,
      availableBytes:
        Number.isFinite(limit) && limit < UNLIMITED
          ? Math.max(0, limit - workingSetBytes)
          : undefined,
    };
  }

  /** Returns the scheduler's statistics of the group. */
  cpuDetails(path: string): CpuDetails {
    const stat = counters(this.#read('cpu', path, 'cpu.stat'));
    if (this.version === 'v2') {
      return {
        periods: stat.get('nr_periods') ?? 0,
        throttledPeriods: stat.get('nr_throttled') ?? 0,
        throttledSeconds: (stat.get('throttled_usec') ?? 0) / 1e6,
        userTicks: (stat.get('user_usec') ?? 0) / 1e4,
        systemTicks: (stat.get('system_usec') ?? 0) / 1e4,
      };
    }
    const ticks = counters(this.#read('cpuacct', path, 'cpuacct.stat'));
    return {
      periods: stat.get('nr_periods') ?? 0,
      throttledPeriods: stat.get('nr_throttled') ?? 0,
      throttledSeconds: (stat.get('throttled_time') ?? 0) / 1e9,
      userTicks: ticks.get('user') ?? 0,
      systemTicks: ticks.get('system') ?? 0,
    };
  }

  /** Returns parts of the group's memory, in bytes. */
  memoryDetails(path: string): MemoryDetails {
    const stat = counters(this.#read('memory', path, 'memory.stat'));
    const number = (file: string): number => Number(this.#read('memory', path, file) || 0);
    if (this.version === 'v2') {
      return {
        cache: stat.get('file') ?? 0,
        mapped: stat.get('file_mapped') ?? 0,
        kernel: stat.get('kernel') ?? 0,
        swap: number('memory.swap.current'),
        max: number('memory.peak'),
        failures: counters(this.#read('memory', path, 'memory.events')).get('max') ?? 0,
      };
    }
    return {
      cache: stat.get('total_cache') ?? 0,
      mapped: stat.get('total_mapped_file') ?? 0,
      kernel: number('memory.kmem.usage_in_bytes'),
      swap: stat.get('total_swap') ?? 0,
      max: number('memory.max_usage_in_bytes'),
      failures: number('memory.failcnt'),
    };
  }

  /** Returns the limits of the group; 0 is none. */
  limits(path: string): GroupLimits {
    const read = (controller: string, file: string): number => {
      const value = Number(this.#read(controller, path, file));
      return Number.isFinite(value) && value > 0 && value < UNLIMITED ? value : 0;
    };
    if (this.version === 'v2') {
      const [quota = 'max', period = '0'] = this.#read('cpu', path, 'cpu.max').split(' ');
      const weight = read('cpu', 'cpu.weight');
      const memory = read('memory', 'memory.max');
      return {
        cpuPeriod: Number(period),
        cpuQuota: quota === 'max' ? 0 : Number(quota),
        // The inverse of the mapping in limitsV2.
        cpuShares: weight === 0 ? 0 : Math.ceil(2 + ((weight - 1) * 262142) / 9999),
        memory,
        memoryReservation: read('memory', 'memory.low'),
        swap: memory === 0 ? 0 : memory + read('memory', 'memory.swap.max'),
        threads: read('pids', 'pids.max'),
      };
    }
    return {
      cpuPeriod: read('cpu', 'cpu.cfs_period_us'),
      cpuQuota: read('cpu', 'cpu.cfs_quota_us'),
      cpuShares: read('cpu', 'cpu.shares'),
      memory: read('memory', 'memory.limit_in_bytes'),
      memoryReservation: read('memory', 'memory.soft_limit_in_bytes'),
      swap: read('memory', 'memory.memsw.limit_in_bytes'),
      threads: read('pids', 'pids.max'),
    };
  }

  /** Reads a file of the group; '' if it does not exist. */
  #read(controller: string, path: string, file: string): string {
    const root = this.version === 'v2' ? this.#root : this.#hierarchies.get(controller);
    return root === undefined ? '' : text(join(root, path, file)).trim();
  }

  /** Removes the group. Returns false while processes are left in it. */
  remove(path: string): boolean {
    let removed = true;
    for (const root of this.#hierarchies.values()) {
      try {
        rmdirSync(join(root, path));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT') continue;
        if (code !== 'EBUSY' && code !== 'ENOTEMPTY') throw error;
        removed = false;
      }
    }
    return removed;
  }

  /** Lets groups below the path's parents have limits. */
  #delegate(path: string): void {
    const available = text(join(this.#root, 'cgroup.controllers')).trim().split(' ');
    const wanted = ['cpu', 'cpuset', 'memory', 'pids', 'io', 'hugetlb'].filter((name) =>
      available.includes(name),
    );
    const parents = dirname(path).split('/').filter(Boolean);
    let dir = this.#root;
    for (const name of ['', ...parents]) {
      dir = join(dir, name);
      mkdirSync(dir, { recursive: true });
      const file = join(dir, 'cgroup.subtree_control');
      const enabled = text(file).trim().split(' ');
      for (const controller of wanted)
        if (!enabled.includes(controller)) writeFileSync(file, `+${controller}`);
    }
  }

  /** A new cpuset is empty: it gets what its parent has, from the top down. */
  #inheritCpuset(root: string, path: string): void {
    let dir = root;
    for (const name of path.split('/').filter(Boolean)) {
      const parent = dir;
      dir = join(dir, name);
      for (const file of ['cpuset.cpus', 'cpuset.mems']) {
        if (text(join(dir, file)).trim() === '')
          writeFileSync(join(dir, file), text(join(parent, file)).trim());
      }
    }
  }
}

type Limit = readonly [controller: string, file: string, value: string];

/** Returns the files of version 1 for the resources that are set. */
export function limitsV1(resources: LinuxContainerResources): readonly Limit[] {
  const { cpuShares, cpuPeriod, cpuQuota, memoryLimitInBytes, memorySwapLimitInBytes } = resources;
  const { cpusetCpus, cpusetMems, hugepageLimits, unified } = resources;
  if (Object.keys(unified ?? {}).length > 0)
    throw new CriError('InvalidArgument', 'unified resources need cgroup v2');
  const limits: Limit[] = [];
  if (cpuShares) limits.push(['cpu', 'cpu.shares', String(cpuShares)]);
  if (cpuPeriod) limits.push(['cpu', 'cpu.cfs_period_us', String(cpuPeriod)]);
  if (cpuQuota) limits.push(['cpu', 'cpu.cfs_quota_us', String(cpuQuota)]);
  if (memoryLimitInBytes)
    limits.push(['memory', 'memory.limit_in_bytes', String(memoryLimitInBytes)]);
  if (memorySwapLimitInBytes)
    limits.push(['memory', 'memory.memsw.limit_in_bytes', String(memorySwapLimitInBytes)]);
  if (cpusetCpus) limits.push(['cpuset', 'cpuset.cpus', cpusetCpus]);
  if (cpusetMems) limits.push(['cpuset', 'cpuset.mems', cpusetMems]);
  for (const { pageSize, limit } of hugepageLimits ?? [])
    limits.push(['hugetlb', `hugetlb.${pageSize ?? ''}.limit_in_bytes`, String(limit ?? 0)]);
  return limits;
}

/** Returns the files of version 2 for the resources that are set. */
export function limitsV2(resources: LinuxContainerResources): readonly Limit[] {
  const { cpuShares, cpuPeriod, cpuQuota, memoryLimitInBytes, memorySwapLimitInBytes } = resources;
  const { cpusetCpus, cpusetMems, hugepageLimits, unified } = resources;
  const limits: Limit[] = [];
  if (cpuShares) {
    // The mapping of runc: shares 2–262144 to weights 1–10000.
    const weight = 1 + Math.floor(((cpuShares - 2) * 9999) / 262142);
    limits.push(['cpu', 'cpu.weight', String(Math.max(1, weight))]);
  }
  if (cpuQuota || cpuPeriod) {
    const quota = cpuQuota && cpuQuota > 0 ? String(cpuQuota) : 'max';
    limits.push(['cpu', 'cpu.max', `${quota} ${cpuPeriod || 100_000}`]);
  }
  if (memoryLimitInBytes) {
    limits.push([
      'memory',
      'memory.max',
      memoryLimitInBytes < 0 ? 'max' : String(memoryLimitInBytes),
    ]);
    if (memorySwapLimitInBytes && memorySwapLimitInBytes >= memoryLimitInBytes)
      limits.push([
        'memory',
        'memory.swap.max',
        String(memorySwapLimitInBytes - memoryLimitInBytes),
      ]);
  }
  if (cpusetCpus) limits.push(['cpuset', 'cpuset.cpus', cpusetCpus]);
  if (cpusetMems) limits.push(['cpuset', 'cpuset.mems', cpusetMems]);
  for (const { pageSize, limit } of hugepageLimits ?? [])
    limits.push(['hugetlb', `hugetlb.${pageSize ?? ''}.max`, String(limit ?? 0)]);
  for (const [file, value] of Object.entries(unified ?? {})) {
    if (!/^[a-z]+\.[\w.]+$/.test(file))
      throw new CriError('InvalidArgument', `invalid unified resource ${JSON.stringify(file)}`);
    limits.push([file.split('.')[0]!, file, value]);
  }
  return limits;
}

/** Only trying it tells: the root of a hierarchy may have the mode 0555, a read-only mount 0755. */
function isWritable(dir: string): boolean {
  const probe = join(dir, `coxswain-probe-${process.pid}`);
  try {
    mkdirSync(probe);
    rmdirSync(probe);
    return true;
  } catch {
    return false;
  }
}

function tryWrite(file: string, value: string): boolean {
  try {
    writeFileSync(file, value);
    return true;
  } catch {
    return false;
  }
}

/** Returns the text of a file; '' if it does not exist, or its group was removed meanwhile. */
function text(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENODEV', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return '';
    throw error;
  }
}

/** Parses lines of a name and a number. */
function counters(lines: string): ReadonlyMap<string, number> {
  return new Map(
    lines.split('\n').flatMap((line) => {
      const [name = '', value] = line.split(' ');
      return value === undefined ? [] : [[name, Number(value)] as const];
    }),
  );
}

/** Returns the groups below a parent, for those that a crash has left. */
export function childrenOf(dir: string): readonly string[] {
  return existsSync(dir)
    ? readdirSync(dir, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
    : [];
}
