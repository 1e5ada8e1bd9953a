// A container of the process runtime: its record, and while it runs, its supervisor and its output.

import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { CriError, type LogStream, type StopSignal, toNanoseconds } from '#cri/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { identify, isAlive, type ProcessIdentity, signalProcess } from '../process-identity.ts';
import { type ContainerRecord, exitReason } from '../records.ts';
import { LogWriter } from './log-writer.ts';
import { type ProcessState, readExit, readPids } from './state.ts';
import { type Launchable, launch, readOutput } from './supervisor.ts';

/** The outcome of a process whose end was not observed, with upstream's values. */
const UNKNOWN_EXIT = { exitCode: 255, reason: 'Unknown' } as const;
const EXIT_SIGKILL = 137;
/** The polling period for a supervisor that is not our child, in milliseconds. */
const WATCH_MS = 200;
/** How long output may continue after the end, if a process that left the group holds it open. */
const DRAIN_MS = 1000;
/**
 * How long a supervisor may take to record the end of its program before the whole group is killed.
 */
const KILL_MS = 2000;

export interface ProcessContainerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The PATH of this process. */
  readonly path: string;
  readonly state: ProcessState;
  readonly record: ContainerRecord;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Returns the reason for an exit code, when the container has exited. */
  readonly reasonOf?: (record: ContainerRecord, exitCode: number) => string;
  /**
   * Called once, after the record has the state CONTAINER_EXITED and was written, if that was
   * possible.
   */
  readonly onExit: (container: ProcessContainer) => void;
}

export class ProcessContainer {
  readonly record: ContainerRecord;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly dir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reasonOf: (record: ContainerRecord, exitCode: number) => string;
  readonly #path: string;
  readonly #state: ProcessState;
  readonly #onExit: (container: ProcessContainer) => void;
  #supervisor: ProcessIdentity | undefined;
  #child: ChildProcess | undefined;
  #stdin: Writable | undefined;
  #log: LogWriter | undefined;
  #outputs: Socket[] = [];
  #watch: Timer | undefined;
  #starting = false;
  /** A kill was requested. */
  #killed = false;
  #finishing: Promise<void> | undefined;
  readonly #exitListeners = new Set<() => void>();
  readonly #outputListeners = new Set<(stream: LogStream, chunk: Buffer) => void>();

  constructor({
    clock,
    logger,
    path,
    state,
    record,
    env,
    cwd,
    reasonOf = (_, exitCode) => exitReason(exitCode),
    onExit,
  }: ProcessContainerConfig) {
    this.#clock = clock;
    this.#logger = logger;
    this.#reasonOf = reasonOf;
    this.#path = path;
    this.#state = state;
    this.record = record;
    this.env = env;
    this.cwd = cwd;
    this.dir = state.containerDir(record.id);
    this.#onExit = onExit;
  }

  get running(): boolean {
    return this.record.state === 'CONTAINER_RUNNING';
  }

  /** The process group of everything in the container. */
  get processGroup(): number | undefined {
    return this.#supervisor?.pid;
  }

  /**
   * The stream to the standard input of the first process; undefined if it has none, or is closed.
   */
  get stdin(): Writable | undefined {
    return this.#stdin;
  }

  save(): void {
    this.#state.saveContainer({ record: this.record, supervisor: this.#supervisor });
  }

  /**
   * Saves a change that has happened already. If that fails, the next runtime reads an older state,
   * and the supervisor's notes: the call does not fail.
   */
  #saveOutcome(): void {
    try {
      this.save();
    } catch (error) {
      this.#logger.warn('container record not written', { container: this.record.id, err: error });
    }
  }

  /** The pid of the program; undefined before its start and after its end. */
  get programPid(): number | undefined {
    return this.running ? readPids(this.dir)?.program : undefined;
  }

  async start(program: Launchable): Promise<void> {
    if (this.record.state !== 'CONTAINER_CREATED' || this.#starting) {
      throw new CriError(
        'FailedPrecondition',
        `container ${this.record.id} is in state ${this.record.state}, not CONTAINER_CREATED`,
      );
    }
    this.#starting = true;
    try {
      // The readers are opened first, so that writers always have a reader.
      this.#openOutput();
      const { child, pid, stdin } = await launch({
        dir: this.dir,
        id: this.record.id,
        ...program,
        path: this.#path,
        stdin: this.record.config.stdin === true || program.needsInput === true,
      });
      this.#child = child;
      this.#stdin = stdin;
      child.once('exit', () => void this.#finish());
      // A short-lived program is a zombie by now, or gone; its supervisor has recorded its end.
      this.#supervisor = identify(pid) ?? { pid, startTime: 'ended' };
    } catch (error) {
      this.#closeOutput();
      Object.assign(
        this.record,
        this.#end({ exitCode: 128, reason: 'StartError', message: errorMessage(error) }),
      );
      this.#saveOutcome();
      throw new CriError(
        'Internal',
        `cannot start container ${this.record.id}: ${errorMessage(error)}`,
        { cause: error },
      );
    } finally {
      this.#starting = false;
    }
    Object.assign(this.record, {
      state: 'CONTAINER_RUNNING',
      startedAt: toNanoseconds(this.#clock.now()),
    } satisfies Partial<ContainerRecord>);
    this.#saveOutcome();
  }

  /** Takes over a container that a former runtime started. */
  adopt(supervisor: ProcessIdentity | undefined): void {
    this.#supervisor = supervisor;
    if (this.record.state === 'CONTAINER_CREATED') {
      // The container was started, and the runtime ended before it recorded that.
      Object.assign(this.record, {
        state: 'CONTAINER_RUNNING',
        startedAt: toNanoseconds(this.#clock.now()),
      } satisfies Partial<ContainerRecord>);
    }
    try {
      this.#openOutput();
    } catch (error) {
      // Another file has replaced the FIFOs: the container runs, and its output is lost.
      this.#logger.warn('container output not read', { container: this.record.id, err: error });
    }
    this.#saveOutcome();
    if (supervisor === undefined || !isAlive(supervisor)) {
      void this.#finish();
      return;
    }
    this.#watch = this.#clock.setInterval(WATCH_MS, () => {
      if (!isAlive(supervisor)) void this.#finish();
    });
  }

  /**
   * Sends the stop signal, and kills the container after the grace period. Resolves when it has
   * exited.
   */
  async stop(graceMs: number): Promise<void> {
    if (this.record.state === 'CONTAINER_CREATED' && !this.#starting) {
      Object.assign(
        this.record,
        this.#end({ exitCode: EXIT_SIGKILL, reason: exitReason(EXIT_SIGKILL), message: '' }),
      );
      this.#saveOutcome();
      this.#onExit(this);
      return;
    }
    if (!this.running) return;
    const exited = new Promise<void>((resolve) => void this.onExit(resolve));
    if (graceMs > 0) {
      this.#signal(signalName(this.record.config.stopSignal));
      const kill = this.#clock.setTimer(graceMs, () => this.#kill());
      this.onExit(() => kill.cancel());
    } else {
      this.#kill();
    }
    await exited;
  }

  /** Reopens the log. Throws if the path cannot be opened; the open file is then kept. */
  reopenLog(): void {
    this.#log?.reopen();
  }

  /**
   * Calls back on exit, at once if the container has exited. Returns a function that removes the
   * callback.
   */
  onExit(callback: () => void): () => void {
    if (this.record.state === 'CONTAINER_EXITED') {
      callback();
      return () => undefined;
    }
    this.#exitListeners.add(callback);
    return () => void this.#exitListeners.delete(callback);
  }

  /** Calls back for all output from now on. Returns a function that removes the callback. */
  onOutput(listener: (stream: LogStream, chunk: Buffer) => void): () => void {
    this.#outputListeners.add(listener);
    return () => void this.#outputListeners.delete(listener);
  }

  /** Releases a running container: it keeps running, and blocks when its FIFOs are full. */
  release(): void {
    this.#watch?.cancel();
    this.#child?.removeAllListeners('exit');
    this.#closeOutput();
  }

  #openOutput(): void {
    const log = new LogWriter(this.record.logPath, this.#clock, this.#logger);
    this.#log = log;
    this.#outputs = (['stdout', 'stderr'] as const).map((stream) => {
      const output = readOutput(this.dir, stream);
      output.on('data', (chunk: Buffer) => {
        log.write(stream, chunk);
        for (const listener of this.#outputListeners) listener(stream, chunk);
      });
      output.on('error', () => undefined);
      output.on('close', () => log.end(stream));
      // A container must not keep the runtime's process alive.
      output.unref();
      return output;
    });
  }

  #closeOutput(): void {
    for (const output of this.#outputs) output.destroy();
    this.#outputs = [];
    this.#log?.close();
    this.#log = undefined;
  }

  /**
   * Sends a signal to the program alone, as container runtimes do. Returns false if the program has
   * not begun, or is gone.
   */
  #signal(signal: NodeJS.Signals | number): boolean {
    const pids = readPids(this.dir);
    const supervisor = this.#supervisor;
    // The pid is not reused as long as its parent lives.
    if (pids === undefined || supervisor === undefined || !isAlive(supervisor)) return false;
    const program = identify(pids.program);
    return program !== undefined && signalProcess(program, signal);
  }

  #kill(): void {
    this.#killed = true;
    // The supervisor records the end and kills the rest. If it hangs, or the program has not begun,
    // the whole group is killed.
    const killGroup = (): void => {
      if (this.#supervisor !== undefined) signalProcess(this.#supervisor, 'SIGKILL', true);
    };
    if (!this.#signal('SIGKILL')) {
      killGroup();
      return;
    }
    const timer = this.#clock.setTimer(KILL_MS, killGroup);
    this.onExit(() => timer.cancel());
  }

  #end(
    how: { exitCode: number; reason: string; message: string },
    at = this.#clock.now(),
  ): Partial<ContainerRecord> {
    return { ...how, state: 'CONTAINER_EXITED', finishedAt: toNanoseconds(at) };
  }

  #finish(): Promise<void> {
    this.#finishing ??= this.#afterExit();
    return this.#finishing;
  }

  async #afterExit(): Promise<void> {
    this.#watch?.cancel();
    await this.#drained();
    this.#closeOutput();
    const exit = readExit(this.dir);
    const killed = { exitCode: EXIT_SIGKILL, reason: exitReason(EXIT_SIGKILL), message: '' };
    const how =
      exit !== undefined
        ? {
            exitCode: exit.exitCode,
            reason: this.#reasonOf(this.record, exit.exitCode),
            message: '',
          }
        : this.#killed
          ? killed
          : { ...UNKNOWN_EXIT, message: 'the process was gone before its exit code was known' };
    // A file's time is the system's; with another clock it would be wrong.
    const at =
      exit === undefined ? this.#clock.now() : Math.min(Math.round(exit.at), this.#clock.now());
    Object.assign(this.record, this.#end(how, Math.max(at, this.record.startedAt / 1e6)));
    this.#saveOutcome();
    for (const listener of this.#exitListeners) listener();
    this.#exitListeners.clear();
    this.#onExit(this);
  }

  /** Resolves when all output was read: the FIFOs have ended. */
  async #drained(): Promise<void> {
    const ended = Promise.all(
      this.#outputs
        .filter((output) => !output.closed)
        .map((output) => new Promise<void>((resolve) => output.once('close', () => resolve()))),
    );
    const late = new AbortController();
    await Promise.race([ended, this.#clock.sleep(DRAIN_MS, late.signal).catch(() => undefined)]);
    late.abort();
  }
}

function signalName(signal: StopSignal | undefined): NodeJS.Signals | number {
  if (signal === undefined || signal === 'RUNTIME_DEFAULT') return 'SIGTERM';
  const realtime = /^SIGRT(MIN|MAX)(?:(PLUS|MINUS)(\d+))?$/.exec(signal);
  if (!realtime) return signal as NodeJS.Signals;
  const base = realtime[1] === 'MIN' ? 34 : 64;
  return base + (realtime[2] === 'MINUS' ? -1 : 1) * Number(realtime[3] ?? 0);
}
