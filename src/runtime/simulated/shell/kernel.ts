// The common state of all processes of one simulated program: time, limits, and its end.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { FileSystem } from './file-system.ts';

/** The behaviour for a program that is not simulated. */
export type UnknownPolicy =
  /**
   * The first process of a container: it is treated as a server, which runs until it is stopped.
   */
  | 'serve'
  /** A probe or hook: it succeeds. */
  | 'succeed'
  /** A command of a user: it fails, as if the program were not installed. */
  | 'fail';

export interface KernelConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: FileSystem;
  readonly hostname: string;
  readonly uid: number;
  readonly unknown: UnknownPolicy;
  /** Absent: the program starts now. */
  readonly replay?: Replay;
  /** Aborts the program: the container is stopped, or the session is closed. */
  readonly signal: AbortSignal;
}

/**
 * The number of waits that are skipped when a program catches up; a program with more of them waits
 * from there on.
 */
const MAX_REPLAYED_WAITS = 20_000;

/**
 * A program that started in the past, as if it had run since: its waits take no time until it has
 * caught up. It has caught up when it waits for something that is still to come; what it does
 * before that, also at this very moment, it has done already.
 */
export class Replay {
  readonly #onEnd: (() => void) | undefined;
  #active = true;
  #remainingMs: number;
  #waits = 0;

  constructor(remainingMs: number, onEnd?: () => void) {
    this.#remainingMs = remainingMs;
    this.#onEnd = onEnd;
  }

  get active(): boolean {
    return this.#active;
  }

  get remainingMs(): number {
    return this.#remainingMs;
  }

  end(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#remainingMs = 0;
    this.#onEnd?.();
  }

  /** Returns the remaining part of a wait, in milliseconds. */
  pass(ms: number): number {
    if (++this.#waits > MAX_REPLAYED_WAITS) this.end();
    const passed = Math.min(ms, this.#remainingMs);
    this.#remainingMs -= passed;
    if (passed < ms) this.end();
    return ms - passed;
  }
}

/** Unwinds the whole program: from now on it runs until it is stopped. */
export class RunsForever extends Error {}

/** Unwinds the whole program with an exit code. */
export class ProgramExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/**
 * The maximum number of commands of one program. A program that exceeds it is a busy loop, which
 * counts as running forever.
 */
const MAX_STEPS = 100_000;
/** Commands between two turns of the event loop. */
const STEPS_PER_TURN = 200;
/**
 * The maximum size of variables, command substitutions and sorted input, in bytes or characters.
 */
export const MAX_TEXT = 4 * 1024 * 1024;
/** The maximum depth of nested subshells and function calls. */
export const MAX_CALL_DEPTH = 200;

export class Kernel {
  readonly config: KernelConfig;
  /** The number of steps since the program last waited for time or input. */
  #steps = 0;

  constructor(config: KernelConfig) {
    this.config = config;
  }

  /**
   * Called before each command and each iteration of a loop. Yields to the event loop periodically.
   * Rejects when the program must end. `cost`: more than 1 for a command with much output in one
   * step.
   */
  async step(cost = 1): Promise<void> {
    const { signal } = this.config;
    signal.throwIfAborted();
    const turn = Math.floor(this.#steps / STEPS_PER_TURN);
    this.#steps += cost;
    if (this.#steps > MAX_STEPS) throw new RunsForever('busy loop');
    if (Math.floor(this.#steps / STEPS_PER_TURN) > turn) await this.#turn();
  }

  /** Waits for time to pass. */
  async sleep(ms: number): Promise<void> {
    const { clock, signal, replay } = this.config;
    if (ms > 0) this.#steps = this.#steps % STEPS_PER_TURN;
    const left = replay?.active === true ? replay.pass(ms) : ms;
    if (left > 0 || ms === 0) await clock.sleep(left, signal);
  }

  /** Waits for another process or the user; rejects if the program must end first. */
  blocked<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.config;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  /** Handles an unknown program. Throws, or returns if the caller has to fail. */
  unknown(): void {
    const { unknown } = this.config;
    if (unknown === 'serve') throw new RunsForever('not simulated');
    if (unknown === 'succeed') throw new ProgramExit(0);
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.config.clock.setTimer(0, resolve));
  }
}
