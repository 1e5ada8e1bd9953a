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
import type { Random } from '#machinery/random.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { type ContainerRecord, exitReason } from '../records.ts';
import type { ContainerSimulation } from './annotations.ts';
import { inputFrom } from './exec.ts';
import { isSimulated, type ProgramContext, runProgram } from './run.ts';
import { FileSystem, type FileSystemConfig } from './shell/file-system.ts';
import { Input, type Output } from './shell/io.ts';
import { Replay, type UnknownPolicy } from './shell/kernel.ts';

/** The exit code of a process that a signal has ended: 128 + its number. */
const EXIT_SIGTERM = 143;
const EXIT_SIGKILL = 137;
const NEWLINE = 10;

export interface SimulatedContainerConfig {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Returns the directories that the container shares with others of its pod. Called when it first
   * needs files.
   */
  readonly mounts: () => NonNullable<FileSystemConfig['mounts']>;
  readonly record: ContainerRecord;
  readonly simulation: ContainerSimulation;
  readonly hostname: string;
  /** The command without a command or arguments in the config. Empty: a server. */
  readonly defaultCommand: readonly string[];
  /** Called once, after the record has the state CONTAINER_EXITED. */
  readonly onExit: (container: SimulatedContainer) => void;
}

export type OutputListener = (stream: LogStream, bytes: Buffer) => void;

export class SimulatedContainer {
  readonly record: ContainerRecord;
  readonly simulation: ContainerSimulation;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #mounts: () => NonNullable<FileSystemConfig['mounts']>;
  readonly #hostname: string;
  readonly #defaultCommand: readonly string[];
  readonly #onExit: (container: SimulatedContainer) => void;
  /** Created when a caller first waits for output or the exit. */
  #watchers: { output: Set<OutputListener>; exit: Set<() => void> } | undefined;
  /** Aborts the program of the first process. */
  #program: AbortController | undefined;
  #timer: Timer | undefined;
  #files: FileSystem | undefined;
  /** Input of attached clients; created when the first process reads. */
  #stdin: AttachedInput | undefined;
  #starting = false;
  /**
   * Set for a container that is taken over: its program catches up with the time that it has run.
   */
  #replay: Replay | undefined;
  #stop: Promise<void> | undefined;

  constructor({
    clock,
    random,
    mounts,
    record,
    simulation,
    hostname,
    defaultCommand,
    onExit,
  }: SimulatedContainerConfig) {
    this.record = record;
    this.simulation = simulation;
    this.#clock = clock;
    this.#random = random;
    this.#mounts = mounts;
    this.#hostname = hostname;
    this.#defaultCommand = defaultCommand;
    this.#onExit = onExit;
  }

  get running(): boolean {
    return this.record.state === 'CONTAINER_RUNNING';
  }

  async start(signal: AbortSignal | undefined): Promise<void> {
    if (this.record.state !== 'CONTAINER_CREATED' || this.#starting) {
      throw new CriError(
        'FailedPrecondition',
        `container ${this.record.id} is in state ${this.record.state}, not CONTAINER_CREATED`,
      );
    }
    this.#starting = true;
    try {
      if (this.simulation.startDelayMs > 0)
        await this.#clock.sleep(this.simulation.startDelayMs, signal);
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
    this.record.state = 'CONTAINER_RUNNING';
    this.record.startedAt = toNanoseconds(this.#clock.now());
    this.#run();
  }

  /**
   * Resumes a container that ran when its record was written: its program continues as if it had
   * run all the time.
   */
  resume(): void {
    if (!this.running) return;
    this.#replay = new Replay(
      Math.max(0, this.#clock.now() - toMilliseconds(this.record.startedAt)),
    );
    this.#run();
  }

  #run(): void {
    const { runDurationMs, exitCode } = this.simulation;
    if (runDurationMs !== undefined) {
      this.#timer = this.#clock.setTimer(
        Math.max(0, runDurationMs - (this.#replay?.remainingMs ?? 0)),
        () => this.#exit(exitCode ?? 0),
      );
    } else if (exitCode !== undefined) {
      this.#timer = this.#clock.setTimer(0, () => this.#exit(exitCode));
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
        // The log already contains the output from before the container was taken over.
        if (!program.signal.aborted && replay?.active !== true)
          this.#write(stream, Buffer.from(bytes));
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
    runProgram(command, { ...this.context('serve'), replay }, streams, program.signal).then(
      (outcome) => {
        // A program that runs forever continues in the background; its container is only its
        // record.
        if (outcome === 'forever') return;
        // Not in the turn of the start, so that a process that ends at once has run for a moment.
        this.#timer = this.#clock.setTimer(0, () => this.#exit(outcome));
      },
      (error: unknown) => {
        if (!program.signal.aborted) this.#exit(128, 'StartError', errorMessage(error));
      },
    );
  }

  /** The container's files. Each exec sees what the first process wrote. */
  get files(): FileSystem {
    this.#files ??= new FileSystem({
      now: () => this.#clock.now(),
      hostname: this.#hostname,
      mounts: this.#mounts(),
    });
    return this.#files;
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
    return stdin ? [] : this.#defaultCommand;
  }

  context(unknown: UnknownPolicy): ProgramContext {
    const decoder = new TextDecoder();
    const env: Record<string, string> = { HOSTNAME: this.#hostname };
    for (const { key, value } of this.record.config.envs ?? []) {
      if (key) env[key] = value === undefined ? '' : decoder.decode(value);
    }
    return {
      clock: this.#clock,
      random: this.#random,
      hostname: this.#hostname,
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
    // The process got its signal with the first stop; a later stop with a shorter grace period may
    // kill it earlier.
    this.#stop ??= new Promise((resolve) => {
      const timer = this.#clock.setTimer(stopDurationMs, () => this.#exit(EXIT_SIGTERM));
      this.onExit(() => {
        timer.cancel();
        resolve();
      });
    });
    const kill = this.#clock.setTimer(graceMs, () => this.#exit(EXIT_SIGKILL));
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

  #write(stream: LogStream, bytes: Buffer): void {
    if (bytes.length === 0) return;
    const shown = this.record.config.tty ? 'stdout' : stream;
    const { logPath } = this.record;
    if (logPath !== '') {
      mkdirSync(dirname(logPath), { recursive: true });
      const now = this.#clock.now();
      const entries: Buffer[] = [];
      let begin = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, begin)) {
        entries.push(formatLogEntry(now, shown, false, bytes.subarray(begin, end)));
        begin = end + 1;
      }
      if (begin < bytes.length)
        entries.push(formatLogEntry(now, shown, true, bytes.subarray(begin)));
      appendFileSync(logPath, Buffer.concat(entries));
    }
    for (const listener of this.#watchers?.output ?? []) listener(shown, bytes);
  }

  #exit(exitCode: number, reason = exitReason(exitCode), message = ''): void {
    if (this.record.state === 'CONTAINER_EXITED') return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#program?.abort(new CriError('NotFound', `container ${this.record.id} has exited`));
    this.#program = undefined;
    Object.assign(this.record, {
      state: 'CONTAINER_EXITED',
      finishedAt: toNanoseconds(this.#clock.now()),
      exitCode,
      reason,
      message,
    } satisfies Partial<ContainerRecord>);
    const watchers = this.#watchers;
    this.#watchers = undefined;
    for (const callback of watchers?.exit ?? []) callback();
    this.#onExit(this);
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
