// A store server (store-server.ts) in a process of its own, from a client's view.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { CACHE_DIR } from './file-layer.ts';
import type { ServedEvent, ServerMessage, ServerRequest } from './store-server.ts';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const STORAGE_WORKER = {
  'storage-worker': source('../../src/storage/embedded/worker.ts'),
};

/** Bundles the store server. Returns its path. */
export const buildServer = (): Promise<string> =>
  bundle('store-server', { 'store-server': source('./store-server.ts'), ...STORAGE_WORKER });

/** Bundles the command `cox`. Returns its path. */
export const buildCommand = (): Promise<string> =>
  bundle('cox', {
    cox: source('../../src/cli/main.ts'),
    'components-thread': source('../../src/cluster/thread/main.ts'),
    'yaml-worker': source('../../src/apiserver/endpoints/yaml-worker.ts'),
    ...STORAGE_WORKER,
  });

/** Bundles a program, so that it starts at once however often it is killed. Returns its path. */
async function bundle(
  name: string,
  entryPoints: Readonly<Record<string, string>>,
): Promise<string> {
  const outdir = join(CACHE_DIR, `${name}-${process.pid}`);
  const program = join(outdir, `${name}.js`);
  if (existsSync(program)) return program;
  mkdirSync(outdir, { recursive: true });
  process.on('exit', () => rmSync(outdir, { recursive: true, force: true }));
  await build({
    entryPoints,
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
  });
  return program;
}

/**
 * An operation that was refused; `Lost` if the server ended before it answered: then it may have
 * been done.
 */
export class Refused extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface Answer {
  readonly revision: number;
  readonly items?: readonly ServedEvent[];
}

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Refused) => void;
}

export class Server {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #watches = new Map<number, (event: ServedEvent) => void>();
  #next = 1;
  #ended = false;
  /** Resolves when the process is gone. */
  readonly ended: Promise<unknown>;
  /** Resolves with the first revision; undefined if the server ended before it was ready. */
  readonly ready: Promise<number | undefined>;
  /**
   * Why the store cannot be written any more, or not be opened; undefined until the server has
   * reported it.
   */
  failure: { readonly reason: string; readonly message: string } | undefined;
  /** The server's output on stderr. */
  errors = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.on('data', (chunk: Buffer) => (this.errors += String(chunk)));
    this.ended = once(child, 'exit').then(() => this.#end());
    this.ready = new Promise((resolve) => {
      child.on('message', (message: ServerMessage) => {
        if (message.type === 'ready') resolve(message.revision);
        else this.#take(message);
      });
      void this.ended.then(() => resolve(undefined));
    });
  }

  static start(program: string, dir: string, env: Readonly<Record<string, string>> = {}): Server {
    mkdirSync(join(dir, 'store'), { recursive: true, mode: 0o700 });
    const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const;
    return new Server(
      fork(program, [dir], { execArgv: [], stdio: [...stdio], env: { ...process.env, ...env } }),
    );
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Throws Refused. */
  request(request: WithoutId<ServerRequest>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(new Refused('Lost', 'the server has ended'));
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      this.#send({ ...request, id });
    });
  }

  watch(afterRevision: number, onEvent: (event: ServedEvent) => void): void {
    const id = this.#next++;
    this.#watches.set(id, onEvent);
    this.#send({ op: 'watch', id, afterRevision });
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  #send(request: ServerRequest): void {
    // The end of the process shows that the server is gone.
    if (this.#child.connected) this.#child.send(request, () => {});
  }

  #take(message: ServerMessage): void {
    switch (message.type) {
      case 'answer':
        this.#settle(message.id)?.resolve(message);
        return;
      case 'refused':
        if (this.#watches.has(message.id)) this.failure = message;
        this.#settle(message.id)?.reject(new Refused(message.reason, message.message));
        return;
      case 'event':
        this.#watches.get(message.id)?.(message.event);
        return;
      case 'failed':
        this.failure = message;
        return;
      case 'ready':
        return;
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #end(): void {
    this.#ended = true;
    for (const waiting of this.#waiting.values())
      waiting.reject(new Refused('Lost', 'the server ended'));
    this.#waiting.clear();
  }
}
