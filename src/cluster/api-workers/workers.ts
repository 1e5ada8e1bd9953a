// The workers of an API server: starts them under load, replaces those that end by themselves, and
// stops them in a quiet time.

import type { ApiServerConfig } from '#apiserver/config.ts';
import type { ServingTls } from '#apiserver/http/serving-tls.ts';
import type { ApiServer } from '#apiserver/server.ts';
import type { Timer } from '#machinery/clock.ts';
import { RestartBackoff } from '../faults/index.ts';
import { UserError } from '../user-error.ts';
import { Balance } from './balance.ts';
import { type BusyShare, eventLoopBusyShare } from './event-loop.ts';
import { SAMPLE_MS, Scaling, type ScalingLimits } from './scaling.ts';
import { partsOfProcess, type Logging, settingsOf } from './settings.ts';
import { WorkerProcess } from './worker-process.ts';

export interface ApiWorkersSettings extends ScalingLimits {
  /** The settings of the workers' loggers. Absent: they log nothing. */
  readonly logging?: Logging;
}

export interface ApiWorkersConfig extends ApiWorkersSettings {
  /** The configuration of the main process' server. */
  readonly server: ApiServerConfig;
  /** Default: that of this process. */
  readonly busyShare?: BusyShare;
}

/** A place for a worker: the process, as long as there is one. */
interface Slot {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  process?: WorkerProcess;
}

/** The time beyond the server's own for a worker to stop, in ms. */
const STOP_MARGIN_MS = 5000;
/** How often workers read the settings again, for certificates that were renewed meanwhile. */
const SETTINGS_PERIOD_MS = 10 * 60_000;
const DEFAULT_SHUTDOWN_MS = 5000;

export class ApiWorkers {
  readonly #config: ApiWorkersConfig;
  readonly #scaling: Scaling;
  readonly #balance = new Balance();
  readonly #slots: Slot[] = [];
  readonly #stopped: Promise<void>[] = [];
  #server: ApiServer | undefined;
  #port = 0;
  /** The certificates and authorities that have changed since the start. */
  #tls: Partial<ServingTls> = {};
  #timers: readonly Timer[] = [];
  #restarts = 0;

  /**
   * Returns the workers; undefined if the server can have none and need not. Throws UserError if
   * some were to run always.
   */
  static of(config: ApiWorkersConfig): ApiWorkers | undefined {
    const parts = partsOfProcess(config.server);
    if (parts.length === 0) return new ApiWorkers(config);
    const message = `an API server with parts in its own process (${parts.join(', ')}) cannot have workers`;
    if (config.min > 0) throw new UserError(message);
    config.server.logger.info(`API server workers: none, because ${message}`);
    return undefined;
  }

  private constructor(config: ApiWorkersConfig) {
    this.#config = config;
    this.#scaling = new Scaling(config);
  }

  /** The number of workers that serve. */
  get serving(): number {
    return this.#slots.filter(({ process }) => process?.busy !== undefined).length;
  }

  /** Reports whether there are processes that may serve now or soon. */
  get any(): boolean {
    return this.#slots.length > 0;
  }

  /** The processes of the workers. */
  get pids(): readonly number[] {
    return this.#slots.flatMap(({ process }) => process?.pid ?? []);
  }

  /** Once, when the server listens and has started. */
  start(server: ApiServer, port: number): void {
    this.#server = server;
    this.#port = port;
    const busyShare = this.#config.busyShare ?? eventLoopBusyShare();
    this.#scale(this.#scaling.wanted);
    const { clock } = this.#config.server;
    this.#timers = [
      clock.setInterval(SAMPLE_MS, () => this.#sample(busyShare())),
      clock.setInterval(SETTINGS_PERIOD_MS, () => this.settingsChanged()),
    ];
  }

  /** The workers use these certificates and authorities from now on; see ApiServer.setTls. */
  setTls(change: Partial<ServingTls>): void {
    this.#tls = { ...this.#tls, ...change };
    this.settingsChanged();
  }

  /** Makes the workers read the settings again. */
  settingsChanged(): void {
    for (const { process } of this.#slots) process?.settingsChanged();
  }

  /** Finishes what the workers serve, and ends them. Idempotent. */
  async stop(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    this.#scale(0);
    const stopped = Promise.all(this.#stopped);
    this.#server?.audit?.keepOpen(stopped);
    await stopped;
  }

  /** In the form that Prometheus reads. */
  metrics(): string {
    return (
      '# HELP coxswain_api_server_workers Processes that serve the API beside the main one.\n' +
      '# TYPE coxswain_api_server_workers gauge\n' +
      `coxswain_api_server_workers ${this.serving}\n` +
      '# HELP coxswain_api_server_worker_restarts_total Workers that ended by themselves.\n' +
      '# TYPE coxswain_api_server_worker_restarts_total counter\n' +
      `coxswain_api_server_worker_restarts_total ${this.#restarts}\n`
    );
  }

  /** Acts on the loads of a period. `main`: that of the main process. */
  #sample(main: number): void {
    const serving = this.#slots.flatMap(({ process }) =>
      process?.busy === undefined ? [] : { process, busy: process.busy },
    );
    const workers = serving.map(({ busy }) => busy);
    const [ofMain, ...ofWorkers] = this.#balance.next([main, ...workers]);
    if (ofMain! > 0) this.#server?.shedConnections(ofMain!);
    for (const [at, share] of ofWorkers.entries()) if (share > 0) serving[at]!.process.shed(share);
    this.#scale(this.#scaling.next({ main, workers }));
  }

  #scale(wanted: number): void {
    const { logger } = this.#config.server;
    if (wanted !== this.#slots.length)
      logger.info('API server workers: changing their number', {
        from: this.#slots.length,
        to: wanted,
      });
    while (this.#slots.length < wanted) this.#slots.push(this.#newSlot());
    for (const slot of this.#slots.splice(wanted)) {
      slot.abort.abort();
      this.#stopped.push(slot.done);
    }
  }

  #newSlot(): Slot {
    const abort = new AbortController();
    const slot: { -readonly [Key in keyof Slot]: Slot[Key] } = { abort, done: Promise.resolve() };
    slot.done = this.#keep(slot, abort.signal);
    return slot;
  }

  /** Keeps a worker running until the signal aborts, then stops it. */
  async #keep(slot: Slot, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#config.server;
    const backoff = new RestartBackoff(clock);
    while (!signal.aborted) {
      const process = this.#newProcess();
      slot.process = process;
      const stop = (): void => void process.stop();
      signal.addEventListener('abort', stop);
      void process.serving.then(() => this.#shareConnections());
      const reason = await process.exited;
      signal.removeEventListener('abort', stop);
      delete slot.process;
      if (signal.aborted) return;
      this.#restarts++;
      const delayMs = backoff.next();
      logger.warn('API server worker: ended, restarting', { reason, pid: process.pid, delayMs });
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }

  #newProcess(): WorkerProcess {
    const { server: config, logging } = this.#config;
    const server = this.#server!;
    const { clock, logger, storage, nodeConnector, componentHealth } = config;
    const { shutdownTimeoutMs = DEFAULT_SHUTDOWN_MS, shutdownDelayMs = 0 } = config;
    return new WorkerProcess({
      clock,
      logger,
      storage,
      services: {
        settings: () =>
          settingsOf({
            config,
            port: this.#port,
            tls: this.#tls,
            logging,
          }),
        nodeConnector,
        componentHealth,
        openRequests: ({ user, remoteAddress }) => server.connect(user, remoteAddress),
        audit: server.audit && ((events) => server.audit!.process(events)),
      },
      socket: server.socket!,
      stopTimeoutMs: shutdownTimeoutMs + shutdownDelayMs + STOP_MARGIN_MS,
    });
  }

  /** Makes each process give up its share of connections for a worker that serves now. */
  #shareConnections(): void {
    const share = 1 / (this.serving + 1);
    this.#server?.shedConnections(share);
    // The new worker has none yet.
    for (const { process } of this.#slots) process?.shed(share);
  }
}
