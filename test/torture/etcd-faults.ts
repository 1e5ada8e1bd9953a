// Faults of etcd members that the system has to help with: a network that is cut, a disk that is slow.

import { execFileSync, spawn } from 'node:child_process';
import { systemClock } from '#machinery/clock.ts';
import { systemRandom } from '#machinery/random.ts';
import type { EtcdPlace } from '#storage/etcd/testing/etcd-process.ts';

/** How long a sync of a slow disk takes: longer than some attempts of a server to write. */
const SLOW_SYNC_MS = 700;

/** Returns whether network namespaces can be created here, which partitions need. */
export function canPartition(): boolean {
  return (
    process.getuid?.() === 0 && succeeds('ip', 'netns', 'list') && succeeds('unshare', '-n', 'true')
  );
}

/** Returns whether system calls of other processes can be delayed here, as slow disks do. */
export function canSlowDown(): boolean {
  return succeeds(
    'strace',
    '-qq',
    '-f',
    '-o',
    '/dev/null',
    '-e',
    'inject=fdatasync:delay_enter=1',
    'true',
  );
}

/**
 * A network namespace for each member, with two links: one to this process, one to a bridge between
 * the members. A partition takes the second link down: the member still answers this process, but
 * is disconnected from the other members.
 */
export class Network {
  readonly places: readonly EtcdPlace[];
  readonly #tag = systemRandom.nameSuffix(4);

  constructor(members: number) {
    ip('link', 'add', `cxb${this.#tag}`, 'type', 'bridge');
    ip('link', 'set', `cxb${this.#tag}`, 'up');
    this.places = Array.from({ length: members }, (_, index) => this.#addMember(index));
  }

  cut(index: number): void {
    ip('link', 'set', `cxp${this.#tag}${index}`, 'down');
  }

  mend(index: number): void {
    ip('link', 'set', `cxp${this.#tag}${index}`, 'up');
  }

  remove(): void {
    // Deleting a namespace deletes its links, with their other ends.
    for (const index of this.places.keys()) ip('netns', 'delete', this.#namespace(index));
    ip('link', 'delete', `cxb${this.#tag}`);
  }

  #namespace(index: number): string {
    return `coxswain-${this.#tag}-${index}`;
  }

  #addMember(index: number): EtcdPlace {
    const namespace = this.#namespace(index);
    const [ours, peers] = [`cxc${this.#tag}${index}`, `cxp${this.#tag}${index}`];
    const inside = (...args: string[]): void => ip('-n', namespace, ...args);
    const clientNet = `169.254.${201 + index}`;
    const peerHost = `169.254.200.${2 + index}`;
    ip('netns', 'add', namespace);
    inside('link', 'set', 'lo', 'up');
    ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', 'client', 'netns', namespace);
    ip('address', 'add', `${clientNet}.1/30`, 'dev', ours);
    ip('link', 'set', ours, 'up');
    inside('address', 'add', `${clientNet}.2/30`, 'dev', 'client');
    inside('link', 'set', 'client', 'up');
    ip('link', 'add', peers, 'type', 'veth', 'peer', 'name', 'peers', 'netns', namespace);
    ip('link', 'set', peers, 'master', `cxb${this.#tag}`, 'up');
    inside('address', 'add', `${peerHost}/24`, 'dev', 'peers');
    inside('link', 'set', 'peers', 'up');
    return { clientHost: `${clientNet}.2`, peerHost, command: ['ip', 'netns', 'exec', namespace] };
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function succeeds(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Delays each sync of the process's files for a while. */
export async function slowDown(pid: number, durationMs: number): Promise<void> {
  const inject = `inject=fdatasync,fsync:delay_enter=${SLOW_SYNC_MS * 1000}`;
  const args = ['-qq', '-f', '-o', '/dev/null', '-e', inject, '-p', String(pid)];
  const strace = spawn('strace', args, { stdio: 'ignore' });
  const ended = new Promise((resolve) => strace.once('exit', resolve));
  await systemClock.sleep(durationMs);
  if (strace.exitCode !== null) throw new Error(`strace ended with ${strace.exitCode}`);
  // It lets the process go on.
  strace.kill('SIGTERM');
  await ended;
}
