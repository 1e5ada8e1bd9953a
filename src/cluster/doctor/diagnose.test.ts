import { describe, expect, test } from 'vitest';
import { diagnose } from './diagnose.ts';
import type { MachineFacts } from './facts.ts';
import {
  availableMemory,
  distributionOf,
  hasModule,
  openFilesOf,
  readFacts,
} from './read-facts.ts';

const GOOD: MachineFacts = {
  platform: 'linux',
  root: true,
  distribution: 'debian',
  missingTools: [],
  programs: { nft: true, conntrack: true, ip: true, kubectl: true, modprobe: true },
  nftObstacle: undefined,
  overlayWorks: true,
  modules: {
    overlay: 'loaded',
    br_netfilter: 'loaded',
    nf_tables: 'loaded',
    vxlan: 'available',
    sctp: 'available',
  },
  cgroups: { version: 2, controllers: ['cpu', 'memory', 'pids', 'io'] },
  inotify: { watches: 524_288, instances: 512 },
  openFiles: 1_048_576,
  disk: { dir: '/var', freeBytes: 1e11 },
  memoryAvailableBytes: 4e9,
  running: false,
  ports: [{ port: 6443, use: 'API server', address: '127.0.0.1', obstacle: undefined }],
};

/** Returns what is not ok, as 'feature: state: text', with the commands. */
const complaints = (facts: Partial<MachineFacts>): readonly (readonly string[])[] =>
  diagnose({ ...GOOD, ...facts }).flatMap(({ name, findings }) =>
    findings
      .filter(({ state }) => state !== 'ok')
      .map(({ state, text, repair }) => [`${name}: ${state}: ${text}`, ...repair]),
  );

describe('the diagnosis', () => {
  test('of a machine that has everything finds nothing', () => {
    expect(complaints({})).toEqual([]);
    expect(diagnose(GOOD).every(({ state }) => state === 'ok')).toBe(true);
  });

  test.each([
    ['debian', ['apt-get install -y conntrack']],
    ['fedora', ['dnf install -y conntrack-tools']],
    ['alpine', ['apk add conntrack-tools']],
    [
      'other',
      ['apt-get install -y conntrack', 'dnf install -y conntrack-tools', 'apk add conntrack-tools'],
    ],
  ] as const)('names the commands of %s', (distribution, commands) => {
    const programs = { ...GOOD.programs, conntrack: false };
    const [found] = complaints({ distribution, programs });
    expect(found?.slice(1)).toEqual(commands);
  });

  test.each<readonly [string, Partial<MachineFacts>, RegExp, readonly string[]]>([
    ['no root', { root: false }, /containers.*missing: not root/, ['sudo cox up']],
    [
      'no runc',
      { missingTools: ['runc'] },
      /missing: runc not installed/,
      ['apt-get install -y runc'],
    ],
    ['no Linux', { platform: 'darwin' }, /needs Linux/, []],
    [
      'no nft',
      { nftObstacle: 'the program nft is missing', programs: { ...GOOD.programs, nft: false } },
      /limited: nftables cannot be programmed/,
      ['apt-get install -y nftables'],
    ],
    [
      'no overlay',
      { overlayWorks: false },
      /limited: overlayfs does not work/,
      ['choose a --data-dir on ext4 or xfs'],
    ],
    [
      'few watches',
      { inotify: { watches: 8192, instances: 128 } },
      /inotify allows 8192/,
      [
        'sysctl -w fs.inotify.max_user_watches=524288',
        'sysctl -w fs.inotify.max_user_instances=512',
      ],
    ],
    ['few files', { openFiles: 1024 }, /1024 open files/, ['ulimit -n 65536']],
    [
      'no cgroups',
      { cgroups: { version: undefined, controllers: [] } },
      /missing: no cgroups/,
      ['mount -t cgroup2 none /sys/fs/cgroup'],
    ],
    [
      'a controller that is off',
      { cgroups: { version: 2, controllers: ['cpu', 'pids'] } },
      /without the controllers memory/,
      ["echo '+memory' > /sys/fs/cgroup/cgroup.subtree_control"],
    ],
    [
      'a full disk',
      { disk: { dir: '/d', freeBytes: 1e8 } },
      /any cluster: missing: 0\.1 GiB/,
      ['choose a --data-dir on a larger disk'],
    ],
    [
      'a port in use',
      {
        ports: [{ port: 6443, use: 'API server', address: '127.0.0.1', obstacle: 'in use' }],
      },
      /port 6443 of 127\.0\.0\.1 \(API server\): in use/,
      ['cox up --secure-port 0'],
    ],
    [
      'no sctp',
      { distribution: 'fedora', modules: { ...GOOD.modules, sctp: 'missing' } },
      /SCTP: limited/,
      ['dnf install -y kernel-modules-extra'],
    ],
  ])('of a machine with %s', (_, facts, text, repair) => {
    const [found] = complaints(facts);
    expect(found?.[0]).toMatch(text);
    expect(found?.slice(1)).toEqual(repair);
  });

  test('ports of a cluster that runs are its own', () => {
    const obstacle = { port: 6443, use: 'API server', address: '127.0.0.1', obstacle: 'in use' };
    expect(complaints({ running: true, ports: [obstacle as never] })).toEqual([]);
  });
});

describe('facts', () => {
  test('about the distribution', () => {
    expect(distributionOf('ID=ubuntu\nID_LIKE=debian\n')).toBe('debian');
    expect(distributionOf('NAME=x\nID="rocky"\nID_LIKE="rhel centos fedora"\n')).toBe('fedora');
    expect(distributionOf('ID=alpine')).toBe('alpine');
    expect(distributionOf('ID=nixos')).toBe('other');
    expect(distributionOf('')).toBe('other');
  });

  test('in files of the kernel', () => {
    expect(openFilesOf('Max open files            1024                 4096 files\n')).toBe(1024);
    expect(openFilesOf('')).toBeUndefined();
    expect(availableMemory('MemTotal: 1 kB\nMemAvailable:    2048 kB\n')).toBe(2 << 20);
    expect(availableMemory('')).toBeUndefined();
    const list = 'kernel/net/sctp/sctp.ko.xz: kernel/lib/a.ko\nkernel/net/bridge/br-netfilter.ko\n';
    expect(hasModule(list, 'sctp')).toBe(true);
    expect(hasModule(list, 'br_netfilter')).toBe(true);
    expect(hasModule(list, 'vxlan')).toBe(false);
  });

  test('of this machine can be read, without a trace', async () => {
    const facts = await readFacts('/nowhere/at/all');
    expect(facts.platform).toBe(process.platform);
    expect(facts.running).toBe(false);
    expect(diagnose(facts).length).toBeGreaterThan(4);
  });
});
