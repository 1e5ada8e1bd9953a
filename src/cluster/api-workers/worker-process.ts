// The process of one worker, as the main process sees it.

import { type ChildProcess, fork } from 'node:child_process';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { bundledProgram } from '#machinery/worker-source.ts';
import { serveStorage } from '#storage/channel/index.ts';
import type { Storage } from '#storage/interface.ts';
import { type LinkServices, serveLink } from './link.ts';
import { type FromWorker, LINK_FD, STORAGE_FD, type ToWorker } from './messages.ts';

export interface WorkerProcessConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storage: Storage;
  readonly services: LinkServices;
  /** The listening socket of the main process. */
  readonly socket: Server;
  /** How long the process may take to stop before it is killed, in ms. */
  readonly stopTimeoutMs: number;
}

export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #stopTimeoutMs: number;
  readonly #serving = withResolvers();
  readonly #exited = withResolvers<string>();
  #failure: string | undefined;
  #busy: number | undefined;
  #isServing = false;
  #stopping = false;

  constructor({ clock, logger, storage, services, socket, stopTimeoutMs }: WorkerProcessConfig) {
    this.#clock = clock;
    this.#stopTimeoutMs = stopTimeoutMs;
    const { path, execArgv } = programOf();
    const child = fork(path, [], {
      execArgv,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe', 'pipe'],
    });
    this.#child = child;
    const served = serveStorage({ storage, stream: duplexOf(child, STORAGE_FD), logger });
    serveLink({ stream: duplexOf(child, LINK_FD), services, logger });
    child.on('message', (message: FromWorker) => this.#receive(message, socket));
    child.on('error', (error) => this.#exited.resolve(error.message));
    child.once('exit', (code, signal) => {
      this.#isServing = false;
      served.close();
      this.#exited.resolve(
        this.#failure ?? (signal === null ? `it ended with status ${code}` : `${signal} ended it`),
      );
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when it serves connections. Never, if it ends before. */
  get serving(): Promise<void> {
    return this.#serving.promise;
  }

  /** Resolves with the reason when the process has ended. */
  get exited(): Promise<string> {
    return this.#exited.promise;
  }

  /** How busy it is, from 0 to 1; undefined if it does not serve. */
  get busy(): number | undefined {
    return this.#isServing && !this.#stopping ? (this.#busy ?? 0) : undefined;
  }

  /** Makes it read the settings again. */
  settingsChanged(): void {
    this.#tell({ kind: 'settings' });
  }

  /** See ApiServer.shedConnections. */
  shed(share: number): void {
    if (this.#isServing) this.#tell({ kind: 'shed', share });
  }

  /** Makes it finish what it serves, and end. Resolves when it has ended. Idempotent. */
  async stop(): Promise<void> {
    if (!this.#stopping) {
      this.#stopping = true;
      this.#tell({ kind: 'stop' });
    }
    const kill = this.#clock.setTimer(this.#stopTimeoutMs, () => this.#child.kill('SIGKILL'));
    await this.#exited.promise;
    kill.cancel();
  }

  #receive(message: FromWorker, socket: Server): void {
    switch (message.kind) {
      case 'ready':
        if (this.#stopping) break;
        this.#child.send({ kind: 'listen' } satisfies ToWorker, socket, () => undefined);
        break;
      case 'listening':
        this.#isServing = true;
        this.#serving.resolve();
        break;
      case 'load':
        this.#busy = message.busy;
        break;
      case 'failed':
        this.#failure = message.message;
    }
  }

  #tell(message: ToWorker): void {
    // Its end is noticed by 'exit', not here.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }
}

function duplexOf(child: ChildProcess, descriptor: number): Duplex {
  return child.stdio[descriptor] as unknown as Duplex;
}

const QUIET = '--disable-warning=ExperimentalWarning';

/** Returns the worker's program: of the built package, or in TypeScript. */
function programOf(): { readonly path: string; readonly execArgv: string[] } {
  const bundled = bundledProgram(new URL('./api-worker.js', import.meta.url));
  if (bundled !== undefined)
    return { path: fileURLToPath(bundled), execArgv: [...process.execArgv, QUIET] };
  const path = fileURLToPath(new URL('./main.ts', import.meta.url));
  if (Reflect.get(process.features, 'typescript')) return { path, execArgv: [QUIET] };
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return { path, execArgv: [QUIET, '--import', loader] };
}
