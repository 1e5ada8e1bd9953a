// Reads the files of a cgroup of version 1, which are in one directory for each controller
// (Documentation/admin-guide/cgroup-v1/). Pure.

import { defined, keyedNumbers, numberOf, numberPerLine, scaled, workingSet } from './parse.ts';
import type {
  CgroupFiles,
  CgroupStats,
  CpuCounters,
  DeviceCounters,
  MemoryCounters,
} from './types.ts';

/** The files that `parseV1` reads, by controller. */
export const V1_FILES = {
  cpuacct: ['cpuacct.usage', 'cpuacct.stat'],
  cpu: ['cpu.stat'],
  memory: [
    'memory.stat',
    'memory.usage_in_bytes',
    'memory.max_usage_in_bytes',
    'memory.failcnt',
    'memory.kmem.usage_in_bytes',
    'memory.oom_control',
    'cgroup.procs',
  ],
  blkio: ['blkio.throttle.io_service_bytes', 'blkio.throttle.io_serviced'],
  pids: ['pids.current', 'pids.max'],
} as const;

/** A tick of cpuacct.stat, on every Linux that Node runs on. */
const TICK_NANOSECONDS = 10_000_000;

export function parseV1(files: CgroupFiles): CgroupStats {
  const pids = numberOf(files.get('pids.current'));
  const pidsLimit = numberOf(files.get('pids.max'));
  const processes = numberPerLine(files.get('cgroup.procs'));
  return {
    cpu: cpuOf(files),
    memory: memoryOf(files),
    devices: devicesOf(files),
    ...(pids !== undefined && { pids }),
    ...(pidsLimit !== undefined && { pidsLimit }),
    ...(processes !== undefined && { processes }),
    pressure: {},
  };
}

function cpuOf(files: CgroupFiles): CpuCounters {
  const ticks = keyedNumbers(files.get('cpuacct.stat'));
  const stat = keyedNumbers(files.get('cpu.stat'));
  return defined<CpuCounters>({
    usageNanoseconds: numberOf(files.get('cpuacct.usage')),
    userNanoseconds: scaled(ticks.get('user'), TICK_NANOSECONDS),
    systemNanoseconds: scaled(ticks.get('system'), TICK_NANOSECONDS),
    periods: stat.get('nr_periods'),
    throttledPeriods: stat.get('nr_throttled'),
    throttledNanoseconds: stat.get('throttled_time'),
  });
}

/** Values of `total_…` include the cgroups below, as the usage does. */
function memoryOf(files: CgroupFiles): MemoryCounters {
  const stat = keyedNumbers(files.get('memory.stat'));
  const total = (name: string): number | undefined => stat.get(`total_${name}`) ?? stat.get(name);
  const usage = numberOf(files.get('memory.usage_in_bytes'));
  const inactiveFile = total('inactive_file');
  return defined<MemoryCounters>({
    usage,
    maxUsage: numberOf(files.get('memory.max_usage_in_bytes')),
    workingSet: workingSet(defined<MemoryCounters>({ usage, inactiveFile })),
    cache: total('cache'),
    rss: total('rss'),
    mappedFile: total('mapped_file'),
    swap: total('swap'),
    kernel: numberOf(files.get('memory.kmem.usage_in_bytes')),
    activeFile: total('active_file'),
    inactiveFile,
    failures: numberOf(files.get('memory.failcnt')),
    pageFaults: total('pgfault'),
    majorPageFaults: total('pgmajfault'),
    oomKills: keyedNumbers(files.get('memory.oom_control')).get('oom_kill'),
  });
}

/** Lines 'MAJOR:MINOR Read N' and 'MAJOR:MINOR Write N', with further operations. */
function devicesOf(files: CgroupFiles): readonly DeviceCounters[] {
  const bytes = operations(files.get('blkio.throttle.io_service_bytes'));
  const counts = operations(files.get('blkio.throttle.io_serviced'));
  return Array.from(bytes, ([device, { Read = 0, Write = 0 }]) => {
    const [major = 0, minor = 0] = device.split(':').map(Number);
    const { Read: reads = 0, Write: writes = 0 } = counts.get(device) ?? {};
    return { major, minor, readBytes: Read, writtenBytes: Write, reads, writes };
  });
}

type Operations = Partial<Record<'Read' | 'Write', number>>;

function operations(text: string | undefined): ReadonlyMap<string, Operations> {
  const devices = new Map<string, Operations>();
  for (const line of (text ?? '').split('\n')) {
    const [, device, operation, value] = /^(\d+:\d+) (Read|Write) (\d+)$/.exec(line) ?? [];
    if (device === undefined || operation === undefined) continue;
    const known = devices.get(device) ?? {};
    devices.set(device, { ...known, [operation]: Number(value) });
  }
  return devices;
}
