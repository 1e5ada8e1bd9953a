// Runs the built program as a user does: `node dist/cox.js up …` in a process of its own, with a
// data directory that is removed afterwards.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYaml } from '#api/machinery/codec/yaml.ts';
import { systemClock } from '#machinery/clock.ts';
import { endedWithRun, temporaryDirectory } from './clean-up.ts';
import { NODE_PROGRAM } from './node-program.ts';

/** Node's flags, the same as in bin/cox.js. */
export const NODE_FLAGS: readonly string[] = [
  '--max-semi-space-size=64',
  '--use-largepages=silent',
];
/** The built command. */
export const PROGRAM = fileURLToPath(new URL(process.env.COX ?? '../dist/cox.js', import.meta.url));

export interface BuiltClusterOptions {
  /** Flags of `cox up`, beside those for the data directory and the port. */
  readonly flags: readonly string[];
  /** Default: a new directory, which `stop` removes. A directory that is given stays. */
  readonly dataDir?: string;
  /** The path of Node. Default: NODE_PROGRAM. */
  readonly node?: string;
  /** Flags of Node, such as --cpu-prof. */
  readonly nodeFlags?: readonly string[];
}

/** The address of an API server, and the credentials of a user. PEM. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /**
   * The authority of the server's certificate, as PEM. Absent: the certificate is not checked (a
   * test server on this machine).
   */
  readonly ca?: string;
  /** Absent: the token is used. */
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export class BuiltCluster {
  readonly #child: ChildProcess;
  readonly #dataDir: string;
  readonly #removeDataDir: boolean;
  readonly pid: number;
  /** The time from before the process was made until its first line was read, in ms. */
  readonly wallMs: number;
  /** The time in the line `cluster ready in`, in ms. */
  readonly readyMs: number;
  readonly target: Target;

  static async start(options: BuiltClusterOptions): Promise<BuiltCluster> {
    if (!existsSync(PROGRAM)) throw new Error('there is no dist/cox.js: run `npm run build` first');
    const dataDir = options.dataDir ?? temporaryDirectory('coxswain-bench-');
    const began = systemClock.monotonic();
    // A later flag overrides an earlier one.
    const args = ['up', '--quiet', '--secure-port', '0', '--data-dir', dataDir, ...options.flags];
    const child = endedWithRun(
      spawn(
        options.node ?? NODE_PROGRAM,
        [...NODE_FLAGS, ...(options.nodeFlags ?? []), PROGRAM, ...args],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      ),
    );
    const seconds = await readySeconds(child);
    const wallMs = systemClock.monotonic() - began;
    return new BuiltCluster(child, dataDir, options.dataDir === undefined, wallMs, seconds * 1000);
  }

  private constructor(
    child: ChildProcess,
    dataDir: string,
    removeDataDir: boolean,
    wallMs: number,
    readyMs: number,
  ) {
    this.#child = child;
    this.#dataDir = dataDir;
    this.#removeDataDir = removeDataDir;
    this.pid = child.pid as number;
    this.wallMs = wallMs;
    this.readyMs = readyMs;
    this.target = readKubeconfig(dataDir);
  }

  /** Resolves when the process has ended. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await exit;
    }
    if (this.#removeDataDir) rmSync(this.#dataDir, { recursive: true, force: true });
  }
}

/** Resolves with the seconds in the line `cluster ready in`. Rejects if the process ends before. */
function readySeconds(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const ready = /^cluster ready in ([\d.]+) s$/m.exec(text);
      if (ready !== null) resolve(Number(ready[1]));
    });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the program ended (${signal ?? `status ${code}`}) before it was ready`)),
    );
  });
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly {
    readonly user: {
      readonly 'client-certificate-data': string;
      readonly 'client-key-data': string;
    };
  }[];
}

/** Returns the server and the user that the kubeconfig in a data directory names. */
export function readKubeconfig(dataDir: string): Target {
  const path = join(dataDir, 'kubeconfig');
  const { clusters, users } = parseYaml(readFileSync(path, 'utf8')) as Kubeconfig;
  const [cluster] = clusters;
  const [user] = users;
  if (cluster === undefined || user === undefined)
    throw new Error(`${path} names no cluster or no user`);
  const url = new URL(cluster.cluster.server);
  const pem = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');
  return {
    host: url.hostname,
    port: Number(url.port),
    ca: pem(cluster.cluster['certificate-authority-data']),
    cert: pem(user.user['client-certificate-data']),
    key: pem(user.user['client-key-data']),
  };
}
