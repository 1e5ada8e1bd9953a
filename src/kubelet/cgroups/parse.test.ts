import { describe, expect, test } from 'vitest';

import { parseV1 } from './v1.ts';
import { parseV2 } from './v2.ts';

const files = (values: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(values));

// From Linux 6.1 with containerd.
const V2 = files({
  'cpu.stat':
    'usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\nnr_periods 50\nnr_throttled 7\n' +
    'throttled_usec 420\nnr_bursts 0\nburst_usec 0\n',
  'memory.current': '20971520\n',
  'memory.peak': '31457280\n',
  'memory.swap.current': '4096\n',
  'memory.stat':
    'anon 8388608\nfile 10485760\nkernel 2097152\nfile_mapped 1048576\ninactive_file 4194304\n' +
    'active_file 6291456\npgfault 1234\npgmajfault 5\n',
  'memory.events': 'low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n',
  'io.stat':
    '8:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n' +
    '253:0 \n254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=50331648 dios=3021\n',
  'pids.current': '9\n',
  'pids.max': 'max\n',
  'cgroup.procs': '1\n2\n3\n',
  'cpu.pressure':
    'some avg10=0.00 avg60=0.00 avg300=0.00 total=148\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n',
  'memory.pressure': 'some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n',
});

// From Linux 5.10 with separate hierarchies.
const V1 = files({
  'cpuacct.usage': '1234567890\n',
  'cpuacct.stat': 'user 100\nsystem 23\n',
  'cpu.stat': 'nr_periods 50\nnr_throttled 7\nthrottled_time 420000\n',
  'memory.usage_in_bytes': '20971520\n',
  'memory.max_usage_in_bytes': '31457280\n',
  'memory.failcnt': '12\n',
  'memory.kmem.usage_in_bytes': '2097152\n',
  'memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
  'memory.stat':
    'cache 1\nrss 2\ninactive_file 3\ntotal_cache 10485760\ntotal_rss 8388608\n' +
    'total_mapped_file 1048576\ntotal_swap 4096\ntotal_inactive_file 4194304\n' +
    'total_active_file 6291456\ntotal_pgfault 1234\ntotal_pgmajfault 5\n',
  'cgroup.procs': '1\n2\n3\n',
  'blkio.throttle.io_service_bytes':
    '8:0 Read 1459200\n8:0 Write 314773504\n8:0 Sync 1\n8:0 Total 316232704\nTotal 316232704\n',
  'blkio.throttle.io_serviced': '8:0 Read 192\n8:0 Write 353\n8:0 Total 545\nTotal 545\n',
  'pids.current': '9\n',
  'pids.max': '100\n',
});

const MEMORY = {
  usage: 20_971_520,
  maxUsage: 31_457_280,
  workingSet: 16_777_216,
  cache: 10_485_760,
  rss: 8_388_608,
  mappedFile: 1_048_576,
  swap: 4096,
  kernel: 2_097_152,
  activeFile: 6_291_456,
  inactiveFile: 4_194_304,
  failures: 12,
  pageFaults: 1234,
  majorPageFaults: 5,
  oomKills: 1,
};
const DISK = { readBytes: 1_459_200, writtenBytes: 314_773_504, reads: 192, writes: 353 };

describe('version 2', () => {
  test('has all counters', () => {
    expect(parseV2(V2)).toEqual({
      cpu: {
        usageNanoseconds: 1_234_567_000,
        userNanoseconds: 1_000_000_000,
        systemNanoseconds: 234_567_000,
        periods: 50,
        throttledPeriods: 7,
        throttledNanoseconds: 420_000,
      },
      memory: MEMORY,
      devices: [
        { major: 8, minor: 0, ...DISK },
        { major: 253, minor: 0, readBytes: 0, writtenBytes: 0, reads: 0, writes: 0 },
        { major: 254, minor: 0, readBytes: 1, writtenBytes: 2, reads: 3, writes: 4 },
      ],
      pids: 9,
      pidsLimit: Number.POSITIVE_INFINITY,
      processes: [1, 2, 3],
      pressure: {
        cpu: { someMicroseconds: 148, fullMicroseconds: 12 },
        memory: { someMicroseconds: 7, fullMicroseconds: 0 },
      },
    });
  });

  test.each([
    ['no file', {}],
    ['broken files', { 'cpu.stat': 'usage_usec -\n\n x', 'memory.current': '', 'io.stat': 'a b' }],
  ])('%s gives no counters', (_, values) => {
    expect(parseV2(files(values))).toEqual({ cpu: {}, memory: {}, devices: [], pressure: {} });
  });
});

describe('version 1', () => {
  test('has all counters, of the cgroups below as well', () => {
    expect(parseV1(V1)).toEqual({
      cpu: {
        usageNanoseconds: 1_234_567_890,
        userNanoseconds: 1_000_000_000,
        systemNanoseconds: 230_000_000,
        periods: 50,
        throttledPeriods: 7,
        throttledNanoseconds: 420_000,
      },
      memory: MEMORY,
      devices: [{ major: 8, minor: 0, ...DISK }],
      pids: 9,
      pidsLimit: 100,
      processes: [1, 2, 3],
      pressure: {},
    });
  });

  test('without a file there is no counter', () => {
    expect(parseV1(new Map())).toEqual({ cpu: {}, memory: {}, devices: [], pressure: {} });
  });
});
