// A machine of its own for tests: a network namespace, and a mount namespace whose /etc and /var/lib
// are laid over this machine's. Whatever programs write there is gone with it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { isRoot, missingTools } from '#cluster/machine/install.ts';
import { run, type RunResult, temporaryDir } from '../harness.ts';

/** Returns why there can be no such machine here; undefined if there can. */
export function hostIsMissing(): string | undefined {
  if (process.platform !== 'linux' || !isRoot()) return 'namespaces need Linux and root';
  const { status } = spawnSync('unshare', ['--mount', '--net', 'true']);
  if (status !== 0) return 'namespaces cannot be made here';
  return missingTools().includes('containerd') ? 'containerd is missing' : undefined;
}

const SET_UP = `
mount -t tmpfs tmpfs "$0"
for path in /etc /var/lib; do
  upper="$0$path"; work="$0/work$path"
  mkdir -p "$upper" "$work"
  mount -t overlay overlay -o "lowerdir=$path,upperdir=$upper,workdir=$work" "$path"
done
ip link set lo up
echo made
exec sleep infinity
`;

export interface Program {
  readonly process: ChildProcess;
  /** Everything that it has written. */
  readonly output: () => string;
  readonly hasEnded: () => boolean;
}

export class Host {
  readonly address: string;
  readonly #holder: ChildProcess;
  readonly #dir: ReturnType<typeof temporaryDir>;
  readonly #programs: Program[] = [];

  private constructor(address: string, holder: ChildProcess, dir: ReturnType<typeof temporaryDir>) {
    this.address = address;
    this.#holder = holder;
    this.#dir = dir;
  }

  /** `peer`: the machine that this one is connected with. Absent: it is the first. */
  static async start(address: string, peer?: Host): Promise<Host> {
    const dir = temporaryDir();
    const holder = spawn(
      'unshare',
      ['--mount', '--net', '--propagation', 'private', 'sh', '-e', '-c', SET_UP, dir.path],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const host = new Host(address, holder, dir);
    const [made] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [
      unknown,
    ];
    if (String(made).trim() !== 'made') throw new Error('the namespaces were not made');
    if (peer === undefined) await host.#ip('link add near type veth peer name far');
    else await peer.#ip(`link set far netns ${holder.pid}`);
    const link = peer === undefined ? 'near' : 'far';
    await host.#ip(`addr add ${address}/24 dev ${link}`);
    await host.#ip(`link set ${link} up`);
    // Programs look for their address at the default route.
    await host.#ip(`route add default via ${address.replace(/\d+$/, '1')}`);
    return host;
  }

  /** Runs a program to its end, whatever its status is. */
  run(program: string, args: readonly string[], timeoutMs = 120_000): Promise<RunResult> {
    return run('nsenter', [...this.#entering, program, ...args], { timeoutMs });
  }

  /** Starts a program, which is killed with the machine. */
  start(program: string, args: readonly string[]): Program {
    const child = spawn('nsenter', [...this.#entering, program, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
    const started = {
      process: child,
      output: () => output,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    };
    this.#programs.push(started);
    return started;
  }

  has(path: string): boolean {
    return existsSync(this.#inside(path));
  }

  read(path: string): string {
    return readFileSync(this.#inside(path), 'utf8');
  }

  write(path: string, text: string): void {
    writeFileSync(this.#inside(path), text);
  }

  async stop(): Promise<void> {
    for (const { process: child, hasEnded } of this.#programs.toReversed()) {
      if (hasEnded()) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    const ended = once(this.#holder, 'exit');
    this.#holder.kill('SIGKILL');
    await ended;
    this.#dir.remove();
  }

  get #entering(): readonly string[] {
    return ['--target', String(this.#holder.pid), '--mount', '--net', '--wdns=/var/lib'];
  }

  #inside(path: string): string {
    return `/proc/${this.#holder.pid}/root${path}`;
  }

  async #ip(command: string): Promise<void> {
    const { status, stderr } = await this.run('ip', command.split(' '));
    if (status !== 0) throw new Error(`ip ${command}: ${stderr}`);
  }
}
