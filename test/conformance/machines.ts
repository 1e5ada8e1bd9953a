// The machines of a real cluster, all on this machine: each has namespaces of its own for network,
// mounts, processes and hostname, so that well-known ports, firewall rules and process 1 are its
// own. A bridge in one more network namespace is the switch between them. This machine is on that
// switch, too, and is the router to other networks.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';
import { run } from './cable.ts';

/** The root directory of each machine's kubelet: manifests of upstream's tests name it. */
export const KUBELET_ROOT = '/var/lib/kubelet';

export interface Machine {
  /** The name of the machine and of its node. */
  readonly node: string;
  /** The name of its network namespace. */
  readonly namespace: string;
  /** The address of its interface `eth0`. */
  readonly address: string;
}

/** Addresses and names of one cluster. Clusters that run at the same time have different ones. */
export interface Network {
  readonly pods: string;
  readonly services: string;
  /** The address of the Service `kube-dns`. */
  readonly dns: string;
  /** The network namespace of the switch. */
  readonly switchNamespace: string;
  /** The name of this machine's interface at the switch. */
  readonly link: string;
  /** The range of the switch, and this machine's address in it. */
  readonly links: string;
  readonly gateway: string;
  readonly machines: readonly [Machine, ...Machine[]];
}

const OTHERS = ['second', 'third', 'fourth', 'fifth', 'sixth'];

/** Returns the network with this number, from 0 to 3. */
export function networkOf(number: number): Network {
  const prefix = `cox-conformance${number === 0 ? '' : `-${number}`}`;
  const links = `10.251.${number === 0 ? 255 : 200 + number}`;
  const machine = (node: string, index: number): Machine => ({
    node,
    namespace: `${prefix}-${node}`,
    address: `${links}.${index + 2}`,
  });
  return {
    pods: `10.${number === 0 ? 250 : 240 + number}.0.0/16`,
    services: `10.${96 + number}.0.0/16`,
    dns: `10.${96 + number}.0.10`,
    switchNamespace: `${prefix}-switch`,
    link: `coxconf${number}`,
    links: `${links}.0/24`,
    gateway: `${links}.1`,
    machines: [machine('first', 0), ...OTHERS.map((node, index) => machine(node, index + 1))],
  };
}

/**
 * Makes the switch and the first `count` machines. Throws a UserError if that fails, or if processes
 * of another run are on one of the machines.
 */
export function layNetwork(network: Network, count: number): void {
  for (const program of ['ip', 'iptables', 'nsenter', 'unshare']) {
    if (findProgram(program) === undefined)
      throw new UserError(
        `machines on this one need ${program}: apt-get install iproute2 iptables util-linux`,
      );
  }
  for (const { namespace } of network.machines) checkUnused(namespace);
  removeNetwork(network);
  try {
    makeNetwork(network, count);
  } catch (error) {
    removeNetwork(network);
    throw error;
  }
}

function makeNetwork(network: Network, count: number): void {
  const { switchNamespace, link, links, gateway } = network;
  const onSwitch = (...command: readonly string[]): void =>
    void run('ip', 'netns', 'exec', switchNamespace, ...command);
  run('ip', 'netns', 'add', switchNamespace);
  onSwitch('ip', 'link', 'add', 'switch', 'type', 'bridge');
  onSwitch('ip', 'link', 'set', 'dev', 'switch', 'up');
  const plug = (name: string): void => {
    onSwitch('ip', 'link', 'set', 'dev', name, 'master', 'switch', 'up');
  };
  run(
    'ip',
    'link',
    'add',
    link,
    'type',
    'veth',
    'peer',
    'name',
    'uplink',
    'netns',
    switchNamespace,
  );
  plug('uplink');
  run('ip', 'address', 'add', `${gateway}/24`, 'dev', link);
  run('ip', 'link', 'set', link, 'up');
  run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  run('iptables', '-w', '-t', 'nat', '-A', ...masquerade(links));
  for (const { node, namespace, address } of network.machines.slice(0, count)) {
    const inside = (...command: readonly string[]): void =>
      void run('ip', 'netns', 'exec', namespace, ...command);
    run('ip', 'netns', 'add', namespace);
    onSwitch('ip', 'link', 'add', node, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
    plug(node);
    inside('ip', 'link', 'set', 'lo', 'up');
    inside('ip', 'address', 'add', `${address}/24`, 'dev', 'eth0');
    inside('ip', 'link', 'set', 'eth0', 'up');
    inside('ip', 'route', 'add', 'default', 'via', gateway);
  }
  // The suite on this machine reaches services as programs of the first machine do.
  run('ip', 'route', 'replace', network.services, 'via', network.machines[0].address);
}

/** Lets this machine reach the pods of a node. The route is gone with the network. */
export function routePods(podCidr: string, { address }: Machine): void {
  run('ip', 'route', 'replace', podCidr, 'via', address);
}

/** Removes the network, and what a killed run has left. Idempotent. */
export function removeNetwork({ link, links, switchNamespace, machines }: Network): void {
  for (const [program, ...args] of [
    ['iptables', '-w', '-t', 'nat', '-D', ...masquerade(links)],
    ['ip', 'link', 'delete', link],
    ['ip', 'netns', 'delete', switchNamespace],
    ...machines.map(({ namespace }) => ['ip', 'netns', 'delete', namespace] as const),
  ] as const)
    spawnSync(program, args);
}

function checkUnused(namespace: string): void {
  const { status, stdout } = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  if (status === 0 && stdout !== '')
    throw new UserError(
      `another run has processes in the network namespace ${namespace}; if it was ` +
        `killed, end the processes ${stdout.trim().replaceAll('\n', ' ')}`,
    );
}

/** Packets to other networks, such as a registry, get this machine's own source address. */
const masquerade = (links: string): readonly string[] =>
  `POSTROUTING -s ${links} ! -d ${links} -j MASQUERADE`.split(' ');

/** Returns the command that runs a program in the network of a machine. */
const onMachine = (
  { namespace }: Machine,
  command: readonly string[],
): readonly [string, ...string[]] => ['nsenter', `--net=/run/netns/${namespace}`, ...command];

/**
 * Process 1 of a machine. It runs one program, adopts and reaps the processes whose parents have
 * ended, and ends after the program: then the kernel ends all processes of the machine. Signals
 * come to the whole process group, so it passes none on.
 */
const INIT = `trap : TERM INT
hostname "$0" && mount --make-rshared / && mount -t proc proc /proc || exit 1
mount -t overlay -o "lowerdir=/etc,upperdir=$1,workdir=$2" etc /etc || exit 1
shift 2
while [ "$1" != -- ]; do
  [ "$1" = "$2" ] || mount --bind "$1" "$2" || exit 1
  shift 2
done
shift
"$@" &
while kill -0 $! 2>/dev/null; do wait $!; status=$?; done
exit $status`;

const UNSHARE = 'unshare --uts --mount --pid --fork --propagation slave'.split(' ');

/** The directories of a machine. */
export interface MachineFiles {
  /** A directory for the machine's own files of /etc. */
  readonly dir: string;
  /** Files and directories that appear on the machine in the place of others: from, to. */
  readonly binds: readonly (readonly [string, string])[];
  /** Files below /etc, by their path there. All others are this machine's. */
  readonly etc: Readonly<Record<string, string>>;
}

/**
 * Returns the command that starts a machine with one program, and prepares the machine's files.
 * Mounts of the program are its own; mounts of this machine appear there, too.
 */
export function asMachine(
  machine: Machine,
  { dir, binds, etc }: MachineFiles,
  command: readonly string[],
): readonly [string, ...string[]] {
  const [upper, work] = [join(dir, 'etc'), join(dir, 'etc-work')];
  mkdirSync(upper, { recursive: true });
  mkdirSync(work, { recursive: true });
  const hosts = `${readFileSync('/etc/hosts', 'utf8').trimEnd()}\n127.0.1.1 ${machine.node}\n`;
  for (const [name, text] of Object.entries({ hosts, ...etc })) {
    mkdirSync(dirname(join(upper, name)), { recursive: true });
    writeFileSync(join(upper, name), text);
  }
  const start = ['sh', '-c', INIT, machine.node, upper, work, ...binds.flat(), '--'];
  return onMachine(machine, [...UNSHARE, ...start, ...command]);
}

/**
 * Returns process 1 of a running machine, by its number on this machine. `starter`: the process of
 * the command that asMachine returned.
 */
export function initOf(starter: number): number {
  const children = readFileSync(`/proc/${starter}/task/${starter}/children`, 'utf8');
  const init = Number(children.trim().split(' ')[0]);
  if (!(init > 0)) throw new UserError(`the process ${starter} has not started a machine`);
  return init;
}

/** Returns the command that runs another on a machine. */
export type OnMachine = (command: readonly string[]) => readonly [string, ...string[]];

/** Runs programs on a running machine: with its mounts and processes. */
export const insideMachine =
  (init: number): OnMachine =>
  (command) => ['nsenter', `--target=${init}`, '--mount', '--uts', '--net', '--pid', ...command];

/** Starts a program in a process group of its own, with pipes for its output. */
export function startGroup(command: readonly [string, ...string[]], cwd?: string): ChildProcess {
  const [program, ...args] = command;
  return spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(cwd !== undefined && { cwd }),
  });
}

/** Asks all processes of the group to end. */
export function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
