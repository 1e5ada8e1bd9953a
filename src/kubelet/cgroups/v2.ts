// Reads the files of a cgroup of version 2 (Documentation/admin-guide/cgroup-v2.rst). Pure.

import { defined, keyedNumbers, numberOf, numberPerLine, scaled, workingSet } from './parse.ts';
import type {
  CgroupFiles,
  CgroupStats,
  CpuCounters,
  DeviceCounters,
  MemoryCounters,
  Pressure,
} from './types.ts';

/** The files that `parseV2` reads. */
export const V2_FILES = [
  'cpu.stat',
  'memory.stat',
  'memory.current',
  'memory.peak',
  'memory.swap.current',
  'memory.events',
  'io.stat',
  'pids.current',
  'pids.max',
  'cgroup.procs',
  'cpu.pressure',
  'memory.pressure',
  'io.pressure',
] as const;

export function parseV2(files: CgroupFiles): CgroupStats {
  const pids = numberOf(files.get('pids.current'));
  const pidsLimit = numberOf(files.get('pids.max'));
  const processes = numberPerLine(files.get('cgroup.procs'));
  return {
    cpu: cpuOf(files),
    memory: memoryOf(files),
    devices: devicesOf(files.get('io.stat')),
    ...(pids !== undefined && { pids }),
    ...(pidsLimit !== undefined && { pidsLimit }),
    ...(processes !== undefined && { processes }),
    pressure: defined({
      cpu: pressureOf(files.get('cpu.pressure')),
      memory: pressureOf(files.get('memory.pressure')),
      io: pressureOf(files.get('io.pressure')),
    }),
  };
}

function cpuOf(files: CgroupFiles): CpuCounters {
  const stat = keyedNumbers(files.get('cpu.stat'));
  return defined<CpuCounters>({
    usageNanoseconds: scaled(stat.get('usage_usec'), 1000),
    userNanoseconds: scaled(stat.get('user_usec'), 1000),
    systemNanoseconds: scaled(stat.get('system_usec'), 1000),
    periods: stat.get('nr_periods'),
    throttledPeriods: stat.get('nr_throttled'),
    throttledNanoseconds: scaled(stat.get('throttled_usec'), 1000),
  });
}

function memoryOf(files: CgroupFiles): MemoryCounters {
  const stat = keyedNumbers(files.get('memory.stat'));
  const events = keyedNumbers(files.get('memory.events'));
  const usage = numberOf(files.get('memory.current'));
  const inactiveFile = stat.get('inactive_file');
  const bytes = { ...defined<MemoryCounters>({ usage, inactiveFile }) };
  return defined<MemoryCounters>({
    usage,
    maxUsage: numberOf(files.get('memory.peak')),
    workingSet: workingSet(bytes),
    cache: stat.get('file'),
    rss: stat.get('anon'),
    mappedFile: stat.get('file_mapped'),
    swap: numberOf(files.get('memory.swap.current')),
    kernel: stat.get('kernel'),
    activeFile: stat.get('active_file'),
    inactiveFile,
    failures: events.get('max'),
    pageFaults: stat.get('pgfault'),
    majorPageFaults: stat.get('pgmajfault'),
    oomKills: events.get('oom_kill'),
  });
}

/** Lines 'MAJOR:MINOR rbytes=N wbytes=N rios=N wios=N dbytes=N dios=N'. */
function devicesOf(text: string | undefined): readonly DeviceCounters[] {
  return (text ?? '').split('\n').flatMap((line) => {
    const [, major, minor, rest] = /^(\d+):(\d+) (.*)$/.exec(line) ?? [];
    if (rest === undefined) return [];
    const values = keyedNumbers(rest.replaceAll('=', ' ').replaceAll(/(\d) /g, '$1\n'));
    return [
      {
        major: Number(major),
        minor: Number(minor),
        readBytes: values.get('rbytes') ?? 0,
        writtenBytes: values.get('wbytes') ?? 0,
        reads: values.get('rios') ?? 0,
        writes: values.get('wios') ?? 0,
      },
    ];
  });
}

/** Lines 'some avg10=0.00 avg60=0.00 avg300=0.00 total=N', and the same with 'full'. */
function pressureOf(text: string | undefined): Pressure | undefined {
  const total = (kind: string): number | undefined =>
    numberOf(new RegExp(`^${kind} .*total=(\\d+)$`, 'm').exec(text ?? '')?.[1]);
  const some = total('some');
  return some === undefined
    ? undefined
    : { someMicroseconds: some, fullMicroseconds: total('full') ?? 0 };
}
