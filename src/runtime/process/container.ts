// One container of the process runtime: its record, and as long as it runs, its supervisor and what
// it writes.

import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { CriError, toNanoseconds } from '#cri/index.ts';
import type { LogStream, StopSignal } from '#cri/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { identify, isAlive, signalProcess } from '../process-identity.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import { exitReason } from '../records.ts';
import type { ContainerRecord } from '../records.ts';
import { LogWriter } from './log-writer.ts';
import type { Program, Tools } from './program.ts';
import { readExit, readPids } from './state.ts';
import type { ProcessState } from './state.ts';
import { launch, readOutput } from './supervisor.ts';

/** The result of a process whose end was not observed, in Kubernetes' words. */
const UNKNOWN_EXIT = { exitCode: 255, reason: 'Unknown' } as const;
const EXIT_SIGKILL = 137;
/** How often a supervisor is looked at that is not our child. */
const WATCH_MS = 200;
/** How long output may go on after the end, held open by a process that has left the group. */
const DRAIN_MS = 1000;
/** How long a supervisor has to note the end of its program, before the whole group is killed. */
const KILL_MS = 2000;

export interface ProcessContainerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tools: Tools;
  /** Where programs of this process are. */
  readonly path: string;
  readonly state: ProcessState;
  readonly record: ContainerRecord;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Called once, after the record says CONTAINER_EXITED and was written, if that was possible. */
  readonly onExit: (container: ProcessContainer) => void;
}

export class ProcessContainer {
  readonly record: ContainerRecord;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly dir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #tools: Tools;
  readonly #path: string;
  readonly #state: ProcessState;
  readonly #onExit: (container: ProcessContainer) => void;
  #supervisor: ProcessIdentity | undefined;
  #child: ChildProcess | undefined;
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
    tools,
    path,
    state,
    record,
    env,
    cwd,
    onExit,
  }: ProcessContainerConfig) {
    this.#clock = clock;
    this.#logger = logger;
    this.#tools = tools;
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

  /** Where input for the first process goes; undefined if it has none, or none any more. */
  get stdin(): Writable | undefined {
    return this.#child?.stdin ?? undefined;
  }

  save(): void {
    this.#state.saveContainer({ record: this.record, supervisor: this.#supervisor });
  }

  /**
   * Saves what has happened already. Without it the next runtime finds an older state, and from
   * what the supervisor has noted the rest: that is no reason to fail now.
   */
  #saveOutcome(): void {
    try {
      this.save();
    } catch (error) {
      this.#logger.warn('container record not written', { container: this.record.id, err: error });
    }
  }

  async start(program: Program): Promise<void> {
    if (this.record.state !== 'CONTAINER_CREATED' || this.#starting) {
      throw new CriError(
        'FailedPrecondition',
        `container ${this.record.id} is in state ${this.record.state}, not CONTAINER_CREATED`,
      );
    }
    this.#starting = true;
    try {
      // The reading ends first, so that the writers always have a reader.
      this.#openOutput();
      const { child, pid } = await launch({
        dir: this.dir,
        id: this.record.id,
        program,
        tools: this.#tools,
        path: this.#path,
        env: this.env,
        cwd: this.cwd,
        stdin: this.record.config.stdin ?? false,
      });
      this.#child = child;
      child.stdin?.on('error', () => undefined);
      child.once('exit', () => void this.#finish());
      // A program that was quick is a zombie by now, or gone; its supervisor has noted its end.
      this.#supervisor = identify(pid) ?? { pid, startTime: 'ended' };
    } catch (error) {
      this.#closeOutput();
      Object.assign(
        this.record,
        this.#end({ exitCode: 128, reason: 'StartError', message: String(error) }),
      );
      this.#saveOutcome();
      throw new CriError('Internal', `cannot start container ${this.record.id}: ${String(error)}`, {
        cause: error,
      });
    } finally {
      this.#starting = false;
    }
    Object.assign(this.record, {
      state: 'CONTAINER_RUNNING',
      startedAt: toNanoseconds(this.#clock.now()),
    } satisfies Partial<ContainerRecord>);
    this.#saveOutcome();
  }

  /** Takes over a container that a former runtime has started. */
  adopt(supervisor: ProcessIdentity | undefined): void {
    this.#supervisor = supervisor;
    if (this.record.state === 'CONTAINER_CREATED') {
      // It was started, and the runtime ended before it could note that.
      Object.assign(this.record, {
        state: 'CONTAINER_RUNNING',
        startedAt: toNanoseconds(this.#clock.now()),
      } satisfies Partial<ContainerRecord>);
    }
    try {
      this.#openOutput();
    } catch (error) {
      // Something else is at the place of its FIFOs: it runs, and what it writes is lost.
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

  /** Sends the stop signal, and kills after the grace period. Resolves when it has exited. */
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

  /** Throws if the log's path cannot be opened; the file that was open then stays. */
  reopenLog(): void {
    this.#log?.reopen();
  }

  /** Calls back on exit, at once if it has exited. The answer undoes it. */
  onExit(callback: () => void): () => void {
    if (this.record.state === 'CONTAINER_EXITED') {
      callback();
      return () => undefined;
    }
    this.#exitListeners.add(callback);
    return () => void this.#exitListeners.delete(callback);
  }

  /** Calls back for every piece of output from now on. The answer undoes it. */
  onOutput(listener: (stream: LogStream, chunk: Buffer) => void): () => void {
    this.#outputListeners.add(listener);
    return () => void this.#outputListeners.delete(listener);
  }

  /**
   * Lets go of a running container: it goes on, and waits if it writes more than its FIFOs take.
   */
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
      // A container is no reason for the runtime's process to stay.
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
   * To the program alone, as a container runtime does it. False if it has not begun, or is gone.
   */
  #signal(signal: NodeJS.Signals | number): boolean {
    const pids = readPids(this.dir);
    const supervisor = this.#supervisor;
    // As long as its parent lives, the pid is not reused.
    if (pids === undefined || supervisor === undefined || !isAlive(supervisor)) return false;
    const program = identify(pids.program);
    return program !== undefined && signalProcess(program, signal);
  }

  #kill(): void {
    this.#killed = true;
    // The supervisor notes the end and kills the rest; should it be stuck, or the program not be
    // there yet, everything goes.
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
        ? { exitCode: exit.exitCode, reason: exitReason(exit.exitCode), message: '' }
        : this.#killed
          ? killed
          : { ...UNKNOWN_EXIT, message: 'the process was gone before its exit code was known' };
    // A file's time is the system's; on another clock it would be out of place.
    const at =
      exit === undefined ? this.#clock.now() : Math.min(Math.round(exit.at), this.#clock.now());
    Object.assign(this.record, this.#end(how, Math.max(at, this.record.startedAt / 1e6)));
    this.#saveOutcome();
    for (const listener of this.#exitListeners) listener();
    this.#exitListeners.clear();
    this.#onExit(this);
  }

  /** Everything that was written has been read: the FIFOs have come to their end. */
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
