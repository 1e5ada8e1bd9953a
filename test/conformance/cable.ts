// A network namespace that plays another machine, and the pair of interfaces that is the cable to
// it.

import { spawnSync } from 'node:child_process';
import { findProgram } from '#cluster/machine/install.ts';
import { UserError } from '#cluster/user-error.ts';

export interface Cable {
  /** Name of the network namespace. */
  readonly namespace: string;
  /** Name of the interface on this machine; the other machine's is `eth0`. */
  readonly name: string;
  /** Addresses of the two ends, in one network of four addresses. */
  readonly firstAddress: string;
  readonly secondAddress: string;
}

/**
 * Lays the cable. This machine is the router of the other: packets from it to other addresses, such
 * as a registry, get this machine's own source address. Throws a UserError if that fails, or if
 * processes of another run are in the namespace.
 */
export function layCable(cable: Cable): void {
  for (const program of ['ip', 'iptables', 'nsenter']) {
    if (findProgram(program) === undefined) {
      throw new UserError(
        `another machine on this one needs ${program}: apt-get install iproute2 iptables util-linux`,
      );
    }
  }
  const { namespace, name, firstAddress, secondAddress } = cable;
  const { status, stdout } = spawnSync('ip', ['netns', 'pids', namespace], { encoding: 'utf8' });
  if (status === 0 && stdout !== '') {
    throw new UserError(
      `another run has processes in the network namespace ${namespace}; if it was ` +
        `killed, end the processes ${stdout.trim().replaceAll('\n', ' ')}`,
    );
  }
  removeCable(cable);
  const inside = (...command: readonly string[]): void =>
    void run('ip', 'netns', 'exec', namespace, ...command);
  run('ip', 'netns', 'add', namespace);
  run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
  run('ip', 'address', 'add', `${firstAddress}/30`, 'dev', name);
  run('ip', 'link', 'set', name, 'up');
  run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
  run('iptables', '-w', '-t', 'nat', '-A', ...masqueraded(cable));
  inside('ip', 'link', 'set', 'lo', 'up');
  inside('ip', 'address', 'add', `${secondAddress}/30`, 'dev', 'eth0');
  inside('ip', 'link', 'set', 'eth0', 'up');
  inside('ip', 'route', 'add', 'default', 'via', firstAddress);
}

/** Removes the cable, and what a killed run has left. Idempotent. */
export function removeCable(cable: Cable): void {
  for (const [program, ...args] of [
    ['iptables', '-w', '-t', 'nat', '-D', ...masqueraded(cable)],
    ['ip', 'link', 'delete', cable.name],
    ['ip', 'netns', 'delete', cable.namespace],
  ] as const)
    spawnSync(program, args);
}

/** Returns the command that runs a program on the other machine. */
export const onOtherMachine = (
  { namespace }: Cable,
  command: readonly string[],
): readonly [string, ...string[]] => ['nsenter', `--net=/run/netns/${namespace}`, ...command];

const masqueraded = ({ secondAddress, name }: Cable): readonly string[] => [
  'POSTROUTING',
  '-s',
  secondAddress,
  '!',
  '-o',
  name,
  '-j',
  'MASQUERADE',
];

/** Runs a program to its end. Throws a UserError with what it printed if it fails. */
export function run(program: string, ...args: readonly string[]): string {
  const { status, error, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined) throw new UserError(`${program} could not be run: ${error.message}`);
  if (status !== 0)
    throw new UserError(
      `${program} ${args.join(' ')} ended with ${status}: ${(stderr || stdout).trim()}`,
    );
  return stdout;
}
