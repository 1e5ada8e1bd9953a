// A real etcd cluster for tests: each member has its own directory, which is removed afterwards,
// and free ports.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '#machinery/net/testing/free-ports.ts';

/** The etcd program; the environment variable ETCD overrides it. */
const PROGRAM = process.env['ETCD'] ?? 'etcd';
export const ETCD_HINT =
  'there is no etcd here: apt-get install etcd-server, or set ETCD to the program';

export function hasEtcd(): boolean {
  try {
    execFileSync(PROGRAM, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export interface EtcdProcess {
  readonly endpoint: string;
  readonly pid: number;
  /** Sends SIGCONT, SIGKILL … */
  signal(name: NodeJS.Signals): void;
  /**
   * Sends SIGSTOP, and resolves when every thread has stopped, which is a moment after the signal.
   * Linux only.
   */
  pause(): Promise<void>;
  /** Starts the member again on its data, after it was killed. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface EtcdProcessOptions {
  /** Default: PROGRAM. */
  readonly program?: string;
  /** More arguments, which override the others. */
  readonly args?: readonly string[];
  /** For each member, its addresses and the words before its command. Default: all on 127.0.0.1. */
  readonly places?: readonly EtcdPlace[];
  /** Paths of PEM files. The member serves https and requires client certificates. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa: string };
}

export interface EtcdPlace {
  readonly clientHost: string;
  readonly peerHost: string;
  readonly command: readonly string[];
}

export async function startEtcd(options: EtcdProcessOptions = {}): Promise<EtcdProcess> {
  const [members] = await startEtcdCluster(1, options);
  return members!;
}

/** Starts the members of one cluster. */
export async function startEtcdCluster(
  size: number,
  options: EtcdProcessOptions = {},
): Promise<EtcdProcess[]> {
  const ports = await freePorts(2 * size);
  const place = (index: number): EtcdPlace =>
    options.places?.[index] ?? { clientHost: '127.0.0.1', peerHost: '127.0.0.1', command: [] };
  const scheme = options.tls === undefined ? 'http' : 'https';
  const peers = Array.from(
    { length: size },
    (_, index) => `m${index}=http://${place(index).peerHost}:${ports[2 * index + 1]}`,
  ).join(',');
  const members = Array.from({ length: size }, (_, index) => {
    const dir = mkdtempSync(join(tmpdir(), 'coxswain-etcd-'));
    const { clientHost, peerHost, command } = place(index);
    const endpoint = `${scheme}://${clientHost}:${ports[2 * index]}`;
    const peer = `http://${peerHost}:${ports[2 * index + 1]}`;
    const args = [
      ...command,
      options.program ?? PROGRAM,
      `--name=m${index}`,
      `--data-dir=${dir}`,
      `--initial-cluster=${peers}`,
      '--initial-cluster-state=new',
      `--listen-client-urls=${endpoint}`,
      `--advertise-client-urls=${endpoint}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      // Short elections allow leases of one second.
      '--heartbeat-interval=50',
      '--election-timeout=500',
      '--logger=zap',
      '--log-level=error',
      ...(options.tls === undefined
        ? []
        : [
            '--cert-file',
            options.tls.cert,
            '--key-file',
            options.tls.key,
            '--trusted-ca-file',
            options.tls.clientCa,
            '--client-cert-auth',
          ]),
      ...(options.args ?? []),
    ];
    return new Member(dir, endpoint, args);
  });
  await Promise.all(members.map((member) => member.start()));
  return members;
}

class Member implements EtcdProcess {
  readonly endpoint: string;
  /** No member outlives the process of the tests. */
  readonly #kill = (): void => this.signal('SIGKILL');
  readonly #dir: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #output = '';

  constructor(dir: string, endpoint: string, args: readonly string[]) {
    this.#dir = dir;
    this.endpoint = endpoint;
    this.#args = args;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const [program, ...args] = this.#args;
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    process.once('exit', this.#kill);
    child.once('exit', () => process.removeListener('exit', this.#kill));
    const note = (chunk: Buffer): void => {
      this.#output = (this.#output + chunk.toString()).slice(-4000);
    };
    child.stdout?.on('data', note);
    child.stderr?.on('data', note);
    const { hostname, port } = new URL(this.endpoint);
    for (;;) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`etcd ended: ${this.#output}`);
      if (await accepts(hostname, Number(port))) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async pause(): Promise<void> {
    this.signal('SIGSTOP');
    const tasks = `/proc/${this.pid}/task`;
    const runs = (task: string): boolean => {
      // A thread that has ended does not run either.
      if (!existsSync(`${tasks}/${task}`)) return false;
      const stat = readFileSync(`${tasks}/${task}/stat`, 'latin1');
      // The state follows the name, which is in parentheses and may contain some itself.
      return stat[stat.lastIndexOf(')') + 2] !== 'T';
    };
    while (readdirSync(tasks).some(runs)) await new Promise((resolve) => setImmediate(resolve));
  }

  async restart(): Promise<void> {
    await this.#ended();
    await this.start();
  }

  async stop(): Promise<void> {
    this.#child?.kill('SIGCONT');
    this.#child?.kill('SIGKILL');
    await this.#ended();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #ended(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

async function accepts(host: string, port: number): Promise<boolean> {
  const { connect } = await import('node:net');
  return await new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
