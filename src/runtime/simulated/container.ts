// One simulated container: a record, and between start and exit at most one timer. A container that runs for ever holds
// no timer and no program at all, so that a hundred thousand of them are only their records.

import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { CriError, formatLogEntry, toMilliseconds, toNanoseconds } from '../../cri/index.ts';
import type { LogStream } from '../../cri/index.ts';
import type { Clock, Timer } from '../../machinery/clock.ts';
import { exitReason } from '../records.ts';
import type { ContainerRecord } from '../records.ts';
import type { ContainerSimulation } from './annotations.ts';
import { program } from './program.ts';
import type { Program, ProgramContext } from './program.ts';

/** The code of a process that was ended by a signal: 128 + its number. */
const EXIT_SIGTERM = 143;
const EXIT_SIGKILL = 137;
/** Steps of a program that are gone through again when its container is taken over; a loop that has made more goes on from there. */
const MAX_RESUMED_STEPS = 100_000;

export interface SimulatedContainerConfig {
  readonly clock: Clock;
  readonly record: ContainerRecord;
  readonly simulation: ContainerSimulation;
  readonly hostname: string;
  /** Run where neither command nor arguments are given. Empty: a server. */
  readonly defaultCommand: readonly string[];
  /** Called once, after the record says CONTAINER_EXITED. */
  readonly onExit: (container: SimulatedContainer) => void;
}

export type OutputListener = (stream: LogStream, text: string) => void;

export class SimulatedContainer {
  readonly record: ContainerRecord;
  readonly simulation: ContainerSimulation;
  readonly #clock: Clock;
  readonly #hostname: string;
  readonly #defaultCommand: readonly string[];
  readonly #onExit: (container: SimulatedContainer) => void;
  /** Made when somebody first waits for output or the end. */
  #watchers: { output: Set<OutputListener>; exit: Set<() => void> } | undefined;
  #program: Program | undefined;
  #timer: Timer | undefined;
  #starting = false;
  /** Of a container that is taken over: the time that its program has run already, as far as it has not been accounted for. */
  #passedMs = 0;
  #resuming = false;
  #stop: Promise<void> | undefined;

  constructor({ clock, record, simulation, hostname, defaultCommand, onExit }: SimulatedContainerConfig) {
    this.record = record;
    this.simulation = simulation;
    this.#clock = clock;
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
      if (this.simulation.startDelayMs > 0) await this.#clock.sleep(this.simulation.startDelayMs, signal);
    } finally {
      this.#starting = false;
    }
    // Removed or stopped while it was starting.
    if (this.record.state !== 'CONTAINER_CREATED') {
      throw new CriError('FailedPrecondition', `container ${this.record.id} was stopped while it started`);
    }
    if (this.simulation.startError !== undefined) {
      this.#exit(128, 'StartError', this.simulation.startError);
      throw new CriError('Internal', this.simulation.startError);
    }
    this.record.state = 'CONTAINER_RUNNING';
    this.record.startedAt = toNanoseconds(this.#clock.now());
    this.#run();
  }

  /** Goes on with a container that ran when its record was read: its program is where it would be had it never been left. */
  resume(): void {
    if (!this.running) return;
    this.#passedMs = Math.max(0, this.#clock.now() - toMilliseconds(this.record.startedAt));
    this.#resuming = true;
    this.#run();
  }

  #run(): void {
    const { runDurationMs, exitCode } = this.simulation;
    if (runDurationMs !== undefined) {
      this.#timer = this.#clock.setTimer(Math.max(0, runDurationMs - this.#passedMs), () => this.#exit(exitCode ?? 0));
    } else if (exitCode !== undefined) {
      this.#timer = this.#clock.setTimer(0, () => this.#exit(exitCode));
    } else {
      this.#program = program(this.command, this.context('forever'));
      this.#advance();
    }
  }

  get command(): readonly string[] {
    const { command = [], args = [], stdin } = this.record.config;
    if (command.length > 0 || args.length > 0) return [...command, ...args];
    // A shell that has an input waits for it: as long as anything else of which nothing is known.
    return stdin ? [] : this.#defaultCommand;
  }

  context(unknown: ProgramContext['unknown']): ProgramContext {
    const decoder = new TextDecoder();
    const env: Record<string, string> = { HOSTNAME: this.#hostname };
    for (const { key, value } of this.record.config.envs ?? []) {
      if (key) env[key] = value === undefined ? '' : decoder.decode(value);
    }
    return { hostname: this.#hostname, env, workingDir: this.record.config.workingDir || '/', unknown };
  }

  /** Asks it to end and kills it after the grace period. Resolves when it has exited; at once if it has already. */
  stop(graceMs: number): Promise<void> {
    if (!this.running) {
      // As a created container that is stopped: it will never start.
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
    // The process got its signal with the first stop; a later stop with less patience may still kill it earlier.
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

  /** Calls back on exit, at once if it has exited. The answer undoes it. */
  onExit(callback: () => void): () => void {
    if (this.record.state === 'CONTAINER_EXITED') {
      callback();
      return () => {};
    }
    const { exit } = this.#watch();
    exit.add(callback);
    return () => void exit.delete(callback);
  }

  /** Calls back for every piece of output from now on. The answer undoes it. */
  onOutput(listener: OutputListener): () => void {
    const { output } = this.#watch();
    output.add(listener);
    return () => void output.delete(listener);
  }

  /** Drops timers without exiting: the runtime is being closed. */
  freeze(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #watch(): { output: Set<OutputListener>; exit: Set<() => void> } {
    this.#watchers ??= { output: new Set(), exit: new Set() };
    return this.#watchers;
  }

  /** Runs the program up to its next pause. */
  #advance(): void {
    this.#timer = undefined;
    for (let steps = 0; ; steps++) {
      if (this.#resuming && steps === MAX_RESUMED_STEPS) {
        this.#resuming = false;
        this.#passedMs = 0;
      }
      const next = this.#program?.next();
      if (next === undefined) return;
      if (next.done) {
        this.#program = undefined;
        this.#resuming = false;
        const outcome = next.value;
        // Not in the same turn as the start: a process that ends at once has run for a moment all the same.
        if (outcome !== 'forever') this.#timer = this.#clock.setTimer(0, () => this.#exit(outcome));
        return;
      }
      if (next.value.kind === 'sleep') {
        if (this.#resuming && this.#passedMs >= next.value.ms) {
          this.#passedMs -= next.value.ms;
          continue;
        }
        const ms = next.value.ms - this.#passedMs;
        this.#resuming = false;
        this.#passedMs = 0;
        this.#timer = this.#clock.setTimer(ms, () => this.#advance());
        return;
      }
      if (next.value.kind === 'write') {
        // What was written before is in the log.
        if (!this.#resuming) this.#write(next.value.stream, next.value.text);
      }
      // A first process with an open stdin waits for input that only an attach could bring; without one it reads the end.
      else if (this.record.config.stdin) return;
    }
  }

  #write(stream: LogStream, text: string): void {
    const shown = this.record.config.tty ? 'stdout' : stream;
    const { logPath } = this.record;
    if (logPath !== '') {
      mkdirSync(dirname(logPath), { recursive: true });
      const lines = text.split('\n');
      const rest = lines.pop()!;
      const now = this.#clock.now();
      for (const line of lines) appendFileSync(logPath, formatLogEntry(now, shown, false, Buffer.from(line)));
      if (rest !== '') appendFileSync(logPath, formatLogEntry(now, shown, true, Buffer.from(rest)));
    }
    for (const listener of this.#watchers?.output ?? []) listener(shown, text);
  }

  #exit(exitCode: number, reason = exitReason(exitCode), message = ''): void {
    if (this.record.state === 'CONTAINER_EXITED') return;
    this.#timer?.cancel();
    this.#timer = undefined;
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
