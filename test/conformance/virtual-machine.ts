// A machine with a kernel of its own, for tests of what this machine's kernel or its rights do not
// allow: Debian's kernel in an emulated computer, on the switch of the other machines. Its files are
// those of this machine, which it cannot change, with a disk of its own above them.

import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import { run } from './cable.ts';
import { importImages } from './images.ts';
import type { Machine, MachineFiles, Network, OnMachine } from './machines.ts';
import { type SshKeys, sshdSettings } from './ssh.ts';

/** The programs, and their packages. */
const PROGRAMS = {
  'qemu-system-x86_64': 'qemu-system-x86',
  modprobe: 'kmod',
  'mkfs.ext4': 'e2fsprogs',
  'mount.nfs': 'nfs-common',
  apparmor_parser: 'apparmor',
};
const MEMORY_MIB = 3072;
const DISK_MIB = 20_480;
/** The modules of the root and of the network. */
const EARLY_MODULES = [
  'virtio_pci',
  'virtio_blk',
  'virtio_net',
  '9p',
  '9pnet_virtio',
  'overlay',
  'ext4',
];
const CGROUPS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'];

/** Debian's kernel, unpacked. */
export interface Kernel {
  readonly version: string;
  /** A directory with `boot` and `lib/modules`. */
  readonly dir: string;
  readonly initrd: string;
}

/**
 * Fetches the kernel of this machine's release once, and keeps it in `cache`. `busybox`: a program
 * without libraries. Throws a UserError if a program is missing.
 */
export function ensureKernel(cache: string, busybox: string): Kernel {
  for (const [program, name] of Object.entries(PROGRAMS))
    if (findProgram(program) === undefined)
      throw new UserError(
        `a machine with a kernel of its own needs ${program}: apt-get install ${name}`,
      );
  const dir = join(cache, 'kernel');
  const versions = join(dir, 'lib', 'modules');
  if (!existsSync(dir)) {
    const made = mkdtempSync(join(cache, 'kernel-'));
    try {
      const dependencies = run('apt-cache', 'depends', 'linux-image-amd64');
      const name = /linux-image-\d\S+/.exec(dependencies)?.[0];
      if (name === undefined)
        throw new UserError('the package linux-image-amd64 is not known here');
      // apt runs as root: its own user may not write to this directory.
      run('sh', '-c', 'cd "$0" && apt-get -o APT::Sandbox::User=root download "$1"', made, name);
      const archive = readdirSync(made).find((file) => file.endsWith('.deb')) ?? '';
      run('dpkg-deb', '-x', join(made, archive), made);
      rmSync(join(made, archive));
      const [version = ''] = readdirSync(join(made, 'lib', 'modules'));
      run('depmod', '-b', made, version);
      writeInitrd(made, version, busybox);
      renameSync(made, dir);
    } finally {
      rmSync(made, { recursive: true, force: true });
    }
  }
  const [version = ''] = readdirSync(versions);
  return { version, dir, initrd: join(dir, 'initrd') };
}

/** The first program: it finds the root, and goes on with /machine.sh of that root. */
const EARLY_INIT = `#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc && $b mount -t sysfs sys /sys && $b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
$b mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose root /low
$b mount -t ext4 /dev/vda /disk
$b mkdir -p /disk/upper /disk/work
$b mount -t overlay -o lowerdir=/low,upperdir=/disk/upper,workdir=/disk/work root /new
for mount in proc sys dev disk; do $b mkdir -p /new/$mount; $b mount --move /$mount /new/$mount; done
script=$($b sed -n 's/.*machine=\\([^ ]*\\).*/\\1/p' /new/proc/cmdline)
exec $b switch_root /new /bin/sh $script
`;

function writeInitrd(kernel: string, version: string, busybox: string): void {
  const root = join(kernel, 'early');
  for (const name of ['bin', 'modules', 'proc', 'sys', 'dev', 'low', 'disk', 'new'])
    mkdirSync(join(root, name), { recursive: true });
  copyFileSync(busybox, join(root, 'bin', 'busybox'));
  chmodSync(join(root, 'bin', 'busybox'), 0o755);
  writeFileSync(join(root, 'init'), EARLY_INIT, { mode: 0o755 });
  const modules = new Set<string>();
  for (const name of EARLY_MODULES) {
    const said = run('modprobe', '-d', kernel, '-S', version, '--show-depends', name);
    for (const [, file = ''] of said.matchAll(/^insmod (\S+)/gm)) modules.add(file);
  }
  // They are loaded in the order of their names.
  for (const [index, file] of [...modules].entries()) {
    const number = String(index).padStart(3, '0');
    copyFileSync(file, join(root, 'modules', `${number}-${basename(file)}`));
  }
  const pack = 'cd "$0" && find . | "$1" cpio -o -H newc >"$2"';
  run('sh', '-c', pack, root, busybox, join(kernel, 'initrd'));
}

export interface VirtualMachineConfig {
  readonly network: Network;
  readonly machine: Machine;
  readonly files: MachineFiles;
  /** Directories that must not be above this machine's files: those of containers. */
  readonly own: readonly string[];
  readonly kernel: Kernel;
  readonly keys: SshKeys;
}

/** The file of the machine's disk. */
const diskOf = ({ dir }: MachineFiles): string => join(dir, 'disk');
/** The directory of the disk that the machine has at the place with this number in `own`. */
const ownOf = (disk: string, index: number): string => join(disk, `own-${index}`);

/**
 * Makes the disk of a machine. The first of its own directories is that of containerd, which finds
 * the images of `archives` there: an emulated computer takes minutes to unpack them.
 */
export async function makeDisk(files: MachineFiles, archives: readonly string[]): Promise<void> {
  mkdirSync(files.dir, { recursive: true });
  const disk = diskOf(files);
  run('truncate', '-s', `${DISK_MIB}M`, disk);
  run('mkfs.ext4', '-q', '-F', disk);
  const mounted = `${disk}-mounted`;
  const state = `${disk}-state`;
  mkdirSync(mounted, { recursive: true });
  run('mount', '-o', 'loop', disk, mounted);
  try {
    const socket = join(state, 'containerd.sock');
    const places = [
      '--root',
      join(ownOf(mounted, 0), 'root'),
      '--state',
      state,
      '--address',
      socket,
    ];
    const containerd = spawn('containerd', places, { stdio: 'ignore' });
    const ended = new Promise((resolve) => containerd.once('close', resolve));
    try {
      const period = { clock: systemClock, intervalMs: 200, timeoutMs: 60_000 };
      await wait.pollImmediately(period, () => existsSync(socket));
      importImages(socket, archives);
    } finally {
      containerd.kill();
      await ended;
    }
  } finally {
    run('umount', mounted);
  }
}

/**
 * Returns the command that starts the machine with one program, once there is a disk. The machine
 * ends with the program.
 */
export function asVirtualMachine(
  config: VirtualMachineConfig,
  command: readonly string[],
): readonly [string, ...string[]] {
  const { network, machine, files, kernel } = config;
  const { node } = machine;
  const { switchNamespace } = network;
  const onSwitch = ['ip', 'netns', 'exec', switchNamespace] as const;
  // The plug of the network namespace, which this machine does not use.
  run(...onSwitch, 'ip', 'link', 'delete', node);
  run(...onSwitch, 'ip', 'tuntap', 'add', 'dev', node, 'mode', 'tap');
  run(...onSwitch, 'ip', 'link', 'set', 'dev', node, 'master', 'switch', 'up');
  mkdirSync(files.dir, { recursive: true });
  const script = join(files.dir, 'machine.sh');
  writeFileSync(script, machineScript(config, command));
  const kernelArgs = `console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off machine=${script}`;
  return [
    ...onSwitch,
    'qemu-system-x86_64',
    ...'-accel tcg,thread=multi -cpu max -smp 2 -nodefaults -display none -no-reboot'.split(' '),
    '-m',
    String(MEMORY_MIB),
    '-serial',
    'stdio',
    '-kernel',
    join(kernel.dir, 'boot', `vmlinuz-${kernel.version}`),
    '-initrd',
    kernel.initrd,
    '-append',
    kernelArgs,
    '-fsdev',
    'local,id=root,path=/,security_model=none,readonly=on,multidevs=remap',
    '-device',
    'virtio-9p-pci,fsdev=root,mount_tag=root',
    '-drive',
    `file=${diskOf(files)},format=raw,if=virtio,cache=unsafe`,
    '-netdev',
    `tap,id=net,ifname=${node},script=no,downscript=no`,
    '-device',
    `virtio-net-pci,netdev=net,mac=${macOf(machine)}`,
    '-device',
    'virtio-rng-pci',
  ];
}

/** Machines have different ones: the last part is that of the address. */
const macOf = ({ address }: Machine): string =>
  `52:54:00:0a:fb:${Number(address.split('.')[3]).toString(16).padStart(2, '0')}`;

/**
 * Makes SCTP take its time to pods, as it does between computers. The suite's client writes once it is
 * connected, and its server closes the connection after its own answer: on an emulated computer the
 * client is often half a second late, and its connection gone.
 */
const SCTP_LATENCY = `
bridge=
while [ -z "$bridge" ]; do
  sleep 2
  bridge=$(ip -o link show type bridge | head -n 1 | cut -d ' ' -f 2 | tr -d :)
done
tc qdisc add dev "$bridge" root handle 1: prio bands 4
tc qdisc add dev "$bridge" parent 1:4 netem delay 250ms
tc filter add dev "$bridge" parent 1: protocol ip u32 match ip protocol 132 0xff flowid 1:4
`;

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
const line = (...words: readonly string[]): string => words.map(quoted).join(' ');

function machineScript(
  { network, machine, files, own, kernel, keys }: VirtualMachineConfig,
  command: readonly string[],
): string {
  const { node, address } = machine;
  const etc = { ...files.etc, hosts: `127.0.0.1 localhost\n127.0.1.1 ${node}\n`, hostname: node };
  const written = Object.entries(etc).flatMap(([name, text]) => {
    const file = join('/etc', name);
    return [line('mkdir', '-p', dirname(file)), `printf %s ${quoted(text)} >${quoted(file)}`];
  });
  const binds: readonly (readonly [string, string])[] = [
    [join(kernel.dir, 'lib', 'modules'), '/lib/modules'],
    ...own.map((path, index) => [ownOf('/disk', index), path] as const),
  ];
  return [
    'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root',
    // This machine has built the product already. To look at all sources takes an emulated one minutes.
    'export COXSWAIN_BUILT=1',
    'exec </dev/null',
    // This machine's file may start programs, which takes an emulated one half a minute at each login.
    ': >/root/.bashrc',
    line('hostname', node),
    'mount --make-rshared /',
    'mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /dev/shm 2>/dev/null',
    'mkdir -p /dev/pts /dev/shm /run/sshd /run/lock; mount -t devpts -o ptmxmode=666 devpts /dev/pts',
    'mount -t tmpfs tmpfs /dev/shm; mount -t mqueue mqueue /dev/mqueue 2>/dev/null',
    'mount -t securityfs securityfs /sys/kernel/security',
    'mount -t tmpfs -o mode=755 cgroups /sys/fs/cgroup',
    `for each in ${CGROUPS.join(' ')}; do mkdir /sys/fs/cgroup/$each`,
    'mount -t cgroup -o $each $each /sys/fs/cgroup/$each; done',
    'mkdir /sys/fs/cgroup/systemd; mount -t cgroup -o none,name=systemd systemd /sys/fs/cgroup/systemd',
    ...binds.flatMap(([from, to]) => [
      line('mkdir', '-p', from, to),
      line('mount', '--bind', from, to),
    ]),
    ...files.binds.flatMap(([from, to]) => [line('mount', '--bind', from, to)]),
    'ip link set lo up; ip link set eth0 up',
    line('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0'),
    line('ip', 'route', 'add', 'default', 'via', network.gateway),
    'for module in br_netfilter nf_conntrack loop xfs; do modprobe $module; done',
    // The services of clients of NFS: version 3 has locks by the node's own daemon.
    'mkdir -p /run/rpcbind && rpcbind -w && rpc.statd --no-notify',
    ...written,
    `${line('printf', '%s', sshdSettings(machine, keys))} >/run/sshd/config`,
    `${findProgram('sshd') ?? 'sshd'} -f /run/sshd/config`,
    `(${SCTP_LATENCY}) &`,
    // Not a terminal, on which programs draw.
    `${line(...command)} 2>&1 | cat`,
    'echo o >/proc/sysrq-trigger; sleep 60',
    '',
  ].join('\n');
}

/** Runs commands on the machine, once it has started. */
export const insideVirtualMachine =
  ({ address }: Machine, { clientKey }: SshKeys): OnMachine =>
  (command) => [
    'ssh',
    '-i',
    clientKey,
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
    `root@${address}`,
    line(...command),
  ];
