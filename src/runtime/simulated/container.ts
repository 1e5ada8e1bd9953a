// A simulated container: a record, and between start and exit at most one timer or program. A
// container that runs forever has neither, so that a hundred thousand of them are only their
// records.

import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  CriError,
  type ExecStreams,
  formatLogEntry,
  type LogStream,
  toMilliseconds,
  toNanoseconds,
} from '#cri/index.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import { SeededRandom, type Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type ContainerRecord, exitReason } from '../records.ts';
import type { ContainerSimulation } from './annotations.ts';
import { inputFrom } from './exec.ts';
import { isSimulated, type ProgramContext, runProgram } from './run.ts';
import { ContainerLog } from './container-log.ts';
import {
  FileSystem,
  type FileSystemConfig,
  type FileSystemState,
  newDirectory,
} from './shell/file-system.ts';
import { Input, type Output } from './shell/io.ts';
import { Replay, type UnknownPolicy } from './shell/kernel.ts';

/** The exit code of a process that a signal has ended: 128 + its number. */
const EXIT_SIGTERM = 143;
const EXIT_SIGKILL = 137;
const NEWLINE = 10;

/** The machine of all containers of a node, which has one object for all of them. */
export interface ContainerHost {
  readonly clock: Clock;
  /** For commands that are run in containers. */
  readonly random: Random;
  /** Keeps logs in memory, whatever records say of files. */
  readonly memoryLogs: boolean;
  /**
   * Returns the directories that the container shares with others of its pod. Called when it first
   * needs files.
   */
  mounts(record: ContainerRecord): NonNullable<FileSystemConfig['mounts']>;
  hostname(record: ContainerRecord): string;
  /** Returns the command without a command or arguments in the config. Empty: a server. */
  defaultCommand(record: ContainerRecord): readonly string[];
  /** Called before anything about a container changes. */
  beforeChange(): void;
  /** Called once, after the record has the state CONTAINER_EXITED. */
  exited(record: ContainerRecord): void;
}

export interface SimulatedContainerConfig {
  readonly host: ContainerHost;
  readonly record: ContainerRecord;
  /** The rest of the state to begin with, for a container of a fork. */
  readonly state?: ContainerState;
  readonly simulation: ContainerSimulation;
}

/** The state of a container beside its record. */
export interface ContainerState {
  readonly log: ContainerLog;
  /** Bytes of output of the first process. */
  readonly outputBytes: number;
  /** Absent: no files were used. */
  readonly files: FileSystemState | undefined;
  /** When it ends because it was asked to, and when it is killed: wall-clock milliseconds. */
  readonly stopAt: number | undefined;
  readonly killAt: number | undefined;
}

export type OutputListener = (stream: LogStream, bytes: Buffer) => void;

export class SimulatedContainer {
  readonly record: ContainerRecord;
  readonly simulation: ContainerSimulation;
  readonly #host: ContainerHost;
  /** Created when a caller first waits for output or the exit. */
  #watchers: { output: Set<OutputListener>; exit: Set<() => void> } | undefined;
  /** Aborts the program of the first process. */
  #program: AbortController | undefined;
  #timer: Timer | undefined;
  #files: FileSystem | undefined;
  /** Made when it is first needed: most containers write nothing, or write to a file. */
  #madeLog: ContainerLog | undefined;
  #outputBytes = 0;
  #stopAt: number | undefined;
  #killAt: number | undefined;
  /** Input of attached clients; made when the first process wants to read. */
  #stdin: AttachedInput | undefined;
  #starting = false;
  /**
   * Set for a container that is taken over: its program catches up with the time that it has run.
   */
  #replay: Replay | undefined;
  /** The files that a program sees while it catches up. */
  #replayed: FileSystem | undefined;
  /** Output that the program repeats while it catches up. */
  #skipBytes = 0;
  #stop: Promise<void> | undefined;

  constructor({ host, record, state, simulation }: SimulatedContainerConfig) {
    this.#host = host;
    this.record = record;
    if (state !== undefined) {
      this.#madeLog = state.log;
      this.#outputBytes = state.outputBytes;
      this.#stopAt = state.stopAt;
      this.#killAt = state.killAt;
      if (state.files !== undefined) this.#files = this.#newFiles(state.files);
    }
    this.simulation = simulation;
  }

  get running(): boolean {
    return this.record.state === 'CONTAINER_RUNNING';
  }

  /** Whether it is nothing but its record: no program runs, nothing waits, and nothing was written. */
  get isInert(): boolean {
    const work = this.#timer ?? this.#program ?? this.#watchers ?? this.#stop;
    return work === undefined && this.#madeLog === undefined && this.#files === undefined;
  }

  async start(signal: AbortSignal | undefined): Promise<void> {
    if (this.record.state !== 'CONTAINER_CREATED' || this.#starting) {
      throw new CriError(
        'FailedPrecondition',
        `container ${this.record.id} is in state ${this.record.state}, not CONTAINER_CREATED`,
      );
    }
    this.#host.beforeChange();
    this.#starting = true;
    try {
      if (this.simulation.startDelayMs > 0)
        await this.#host.clock.sleep(this.simulation.startDelayMs, signal);
    } finally {
      this.#starting = false;
    }
    // The container was removed or stopped during its start.
    if (this.record.state !== 'CONTAINER_CREATED') {
      throw new CriError(
        'FailedPrecondition',
        `container ${this.record.id} was stopped while it started`,
      );
    }
    if (this.simulation.startError !== undefined) {
      this.#exit(128, 'StartError', this.simulation.startError);
      throw new CriError('Internal', this.simulation.startError);
    }
    this.#host.beforeChange();
    this.record.state = 'CONTAINER_RUNNING';
    this.record.startedAt = toNanoseconds(this.#host.clock.now());
    this.#run();
  }

  /**
   * Resumes a container that ran when its record was written: its program continues as if it had
   * run all the time.
   */
  resume(): void {
    if (!this.running) return;
    // A program writes what it has written already: that is in the log and in the files.
    this.#skipBytes = this.#outputBytes;
    this.#replay = new Replay(
      Math.max(0, this.#host.clock.now() - toMilliseconds(this.record.startedAt)),
      () => {
        this.#skipBytes = 0;
        this.#replayed?.follow(this.files);
        this.#replayed = undefined;
      },
    );
    this.#run();
    // A server without a program has nothing to catch up with.
    if (this.#program === undefined && this.#timer === undefined) this.#replay = undefined;
    if (this.#stopAt !== undefined && this.#killAt !== undefined) {
      const now = this.#host.clock.now();
      void this.#stopSlowly(this.#killAt - now, this.#stopAt - now);
    }
  }

  /** Returns the state beside the record: not a copy but the log, which is forked. */
  state(): ContainerState {
    return {
      log: this.#log.fork(),
      outputBytes: this.#outputBytes,
      files: this.#files?.state,
      stopAt: this.#stopAt,
      killAt: this.#killAt,
    };
  }

  /** The output so far, if it is kept in memory. */
  get log(): ContainerLog | undefined {
    return this.#host.memoryLogs ? this.#log : undefined;
  }

  get #log(): ContainerLog {
    return (this.#madeLog ??= new ContainerLog());
  }

  #run(): void {
    const { runDurationMs, exitCode } = this.simulation;
    if (runDurationMs !== undefined) {
      this.#timer = this.#host.clock.setTimer(
        Math.max(0, runDurationMs - (this.#replay?.remainingMs ?? 0)),
        () => this.#exit(exitCode ?? 0),
      );
    } else if (exitCode !== undefined) {
      this.#timer = this.#host.clock.setTimer(0, () => this.#exit(exitCode));
    } else {
      this.#begin(this.command);
    }
  }

  /** Starts the first process. */
  #begin(command: readonly string[]): void {
    // The program is not simulated: it is treated as a server.
    if (!isSimulated(command)) return;
    const program = new AbortController();
    this.#program = program;
    const replay = this.#replay;
    const output = (stream: LogStream): Output => ({
      write: (bytes) => {
        if (!program.signal.aborted) this.#programWrote(stream, Buffer.from(bytes));
        return Promise.resolve();
      },
    });
    let stdin = Input.empty();
    if (this.record.config.stdin) {
      const attached = new AttachedInput(program.signal);
      this.#stdin = attached;
      stdin = new Input(() => {
        // Earlier input is unknown: from here on the program waits.
        replay?.end();
        return attached.input.read();
      });
    }
    const streams = { stdin, stdout: output('stdout'), stderr: output('stderr') };
    const context: ProgramContext = {
      ...this.context('serve'),
      replay,
      // The same numbers each time that the program runs.
      random: new SeededRandom(this.record.id),
      files: () => this.#programFiles(),
    };
    runProgram(command, context, streams, program.signal).then(
      (outcome) => {
        // A program that runs forever continues in the background; its container is only its
        // record.
        if (outcome === 'forever') return;
        // Not in the turn of the start, so that a process that ends at once has run for a moment.
        this.#timer = this.#host.clock.setTimer(0, () => this.#exit(outcome));
      },
      (error: unknown) => {
        if (!program.signal.aborted) this.#exit(128, 'StartError', errorMessage(error));
      },
    );
  }

  /** The container's files. Each exec sees what the first process wrote. */
  get files(): FileSystem {
    if (this.#files === undefined) {
      this.#host.beforeChange();
      this.#files = this.#newFiles();
    }
    return this.#files;
  }

  /**
   * The files of the first process: while it catches up, files of its own, which it fills as it has
   * filled the real ones before.
   */
  #programFiles(): FileSystem {
    if (this.#replay?.active !== true) return this.#replayed ?? this.files;
    this.#replayed ??= new FileSystem({
      now: () => this.#host.clock.now(),
      hostname: this.#host.hostname(this.record),
      mounts: this.#host.mounts(this.record).map(({ path }) => ({
        path,
        directory: newDirectory(this.#host.clock.now()),
      })),
    });
    return this.#replayed;
  }

  #newFiles(state?: FileSystemState): FileSystem {
    return new FileSystem({
      now: () => this.#host.clock.now(),
      hostname: this.#host.hostname(this.record),
      ...(state === undefined ? { mounts: this.#host.mounts(this.record) } : { state }),
      beforeChange: () => this.#host.beforeChange(),
    });
  }

  /**
   * Passes a client's input to the first process. Ends the input after the first client if the
   * container's stdinOnce is set.
   */
  feed(stdin: ExecStreams['stdin'], signal: AbortSignal): void {
    if (stdin === undefined) return;
    if (this.#stdin === undefined) stdin.resume();
    else this.#stdin.attach(stdin, signal, this.record.config.stdinOnce === true);
  }

  get command(): readonly string[] {
    const { command = [], args = [], stdin } = this.record.config;
    if (command.length > 0 || args.length > 0) return [...command, ...args];
    // A shell with an input waits for it: like a program that is not simulated.
    return stdin ? [] : this.#host.defaultCommand(this.record);
  }

  context(unknown: UnknownPolicy): ProgramContext {
    const decoder = new TextDecoder();
    const env: Record<string, string> = { HOSTNAME: this.#host.hostname(this.record) };
    for (const { key, value } of this.record.config.envs ?? []) {
      if (key) env[key] = value === undefined ? '' : decoder.decode(value);
    }
    return {
      clock: this.#host.clock,
      random: this.#host.random,
      hostname: this.#host.hostname(this.record),
      uid: this.record.config.linux?.securityContext?.runAsUser?.value ?? 0,
      env,
      workingDir: this.record.config.workingDir || '/',
      files: () => this.files,
      unknown,
    };
  }

  /**
   * Sends the stop signal, and kills the container after the grace period. Resolves when it has
   * exited; at once if it has already.
   */
  stop(graceMs: number): Promise<void> {
    if (!this.running) {
      // A created container that is stopped never starts.
      if (this.record.state === 'CONTAINER_CREATED') this.#exit(EXIT_SIGKILL);
      return Promise.resolve();
    }
    const { stopDurationMs } = this.simulation;
    if (graceMs <= 0) this.#exit(EXIT_SIGKILL);
    else if (stopDurationMs === 0) this.#exit(EXIT_SIGTERM);
    else return this.#stopSlowly(graceMs, stopDurationMs);
    return Promise.resolve();
  }

  #stopSlowly(graceMs: number, stopDurationMs: number): Promise<void> {
    this.#host.beforeChange();
    const now = this.#host.clock.now();
    this.#stopAt ??= now + stopDurationMs;
    this.#killAt = Math.min(this.#killAt ?? Number.POSITIVE_INFINITY, now + graceMs);
    // The process got its signal with the first stop; a later stop with less patience may still
    // kill it earlier.
    this.#stop ??= new Promise((resolve) => {
      const timer = this.#host.clock.setTimer(stopDurationMs, () => this.#exit(EXIT_SIGTERM));
      this.onExit(() => {
        timer.cancel();
        resolve();
      });
    });
    const kill = this.#host.clock.setTimer(graceMs, () => this.#exit(EXIT_SIGKILL));
    this.onExit(() => kill.cancel());
    return this.#stop;
  }

  /**
   * Calls back on exit, at once if the container has exited. Returns a function that removes the
   * callback.
   */
  onExit(callback: () => void): () => void {
    if (this.record.state === 'CONTAINER_EXITED') {
      callback();
      return () => {};
    }
    const { exit } = this.#watch();
    exit.add(callback);
    return () => void exit.delete(callback);
  }

  /** Calls back for all output from now on. Returns a function that removes the callback. */
  onOutput(listener: OutputListener): () => void {
    const { output } = this.#watch();
    output.add(listener);
    return () => void output.delete(listener);
  }

  /** Cancels timers without an exit: the runtime is being closed. */
  freeze(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#program?.abort(new CriError('Unavailable', 'the runtime is closed'));
    this.#program = undefined;
  }

  #watch(): { output: Set<OutputListener>; exit: Set<() => void> } {
    this.#watchers ??= { output: new Set(), exit: new Set() };
    return this.#watchers;
  }

  /** Output of the first process. */
  #programWrote(stream: LogStream, bytes: Buffer): void {
    const skipped = Math.min(this.#skipBytes, bytes.length);
    this.#skipBytes -= skipped;
    if (skipped === bytes.length) return;
    // A container that was taken over with its record alone does not know its log.
    if (this.#replay?.active === true && !this.#host.memoryLogs) return;
    this.#host.beforeChange();
    this.#outputBytes += bytes.length - skipped;
    this.#write(stream, bytes.subarray(skipped));
  }

  #write(stream: LogStream, bytes: Buffer): void {
    const shown = this.record.config.tty ? 'stdout' : stream;
    const { logPath } = this.record;
    if (this.#host.memoryLogs || logPath !== '') {
      const now = this.#host.clock.now();
      const entries: Buffer[] = [];
      let begin = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, begin)) {
        entries.push(formatLogEntry(now, shown, false, bytes.subarray(begin, end)));
        begin = end + 1;
      }
      if (begin < bytes.length)
        entries.push(formatLogEntry(now, shown, true, bytes.subarray(begin)));
      const text = Buffer.concat(entries);
      if (this.#host.memoryLogs) this.#log.append(text);
      else {
        mkdirSync(dirname(logPath), { recursive: true });
        appendFileSync(logPath, text);
      }
    }
    for (const listener of this.#watchers?.output ?? []) listener(shown, bytes);
  }

  #exit(exitCode: number, reason = exitReason(exitCode), message = ''): void {
    if (this.record.state === 'CONTAINER_EXITED') return;
    this.#host.beforeChange();
    this.#stopAt = undefined;
    this.#killAt = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#program?.abort(new CriError('NotFound', `container ${this.record.id} has exited`));
    this.#program = undefined;
    Object.assign(this.record, {
      state: 'CONTAINER_EXITED',
      finishedAt: toNanoseconds(this.#host.clock.now()),
      exitCode,
      reason,
      message,
    } satisfies Partial<ContainerRecord>);
    const watchers = this.#watchers;
    this.#watchers = undefined;
    for (const callback of watchers?.exit ?? []) callback();
    this.#host.exited(this.record);
  }
}

/** The input of a first process: the input of its clients, one after the other. */
class AttachedInput {
  readonly input: Input;
  #current: Input | undefined;
  #ended = false;
  #wake: (() => void)[] = [];

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.#changed(), { once: true });
    this.input = new Input(async () => {
      for (;;) {
        signal.throwIfAborted();
        const chunk = await this.#current?.read();
        if (chunk !== undefined) return chunk;
        if (this.#current !== undefined) this.#current = undefined;
        if (this.#ended) return undefined;
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    });
  }

  /** Adds a client. `once`: the input ends with this client. */
  attach(stdin: NonNullable<ExecStreams['stdin']>, signal: AbortSignal, once: boolean): void {
    this.#current = inputFrom(stdin, signal);
    this.#ended = once;
    this.#changed();
  }

  #changed(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
