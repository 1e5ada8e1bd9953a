// Runs components until the cluster stops, and says if one ends that should not.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { sharedByMany } from '#client/abort.ts';
import { keepRunning } from '../faults/index.ts';
import { Restartable } from './restartable.ts';
import type { ComponentsConfig } from './config.ts';

type Config = Pick<ComponentsConfig, 'clock' | 'logger' | 'faults' | 'simulation' | 'instance'>;

export class Supervisor {
  readonly #config: Config;
  readonly #abort = new AbortController();
  readonly #running: Promise<void>[] = [];
  #fail: (reason: Error) => void = () => undefined;
  /** Resolves with the reason if a component ends that should not. */
  readonly failed: Promise<Error>;

  constructor(config: Config) {
    this.#config = config;
    sharedByMany(this.#abort.signal);
    this.failed = new Promise((resolve) => (this.#fail = resolve));
  }

  /** Aborts when the components are to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Resolves `failed`. */
  fail(reason: unknown): void {
    this.#fail(reason instanceof Error ? reason : new Error(String(reason)));
  }

  /** Returns the clock of the component: errors of its timers, and faults of time, are its own. */
  clockOf(name: string): Clock {
    const { faults, clock, simulation } = this.#config;
    return faults?.clockOf(name, clock) ?? simulation?.clockOf(name, clock) ?? clock;
  }

  /** Runs a component until `abort`. `folder`: see FaultyComponent. */
  supervise(name: string, folder: string, run: (signal: AbortSignal) => Promise<void>): void {
    const { clock, logger, faults, simulation, instance = '' } = this.#config;
    const { signal } = this;
    if (faults === undefined && simulation !== undefined) {
      const component = new Restartable(run);
      simulation.register(`${name}${instance}`, (down) => component.restart(down));
      run = (until) => component.run(until);
    }
    if (faults !== undefined) {
      this.#running.push(keepRunning({ name, folder, clock, logger, faults, run }, signal));
      return;
    }
    this.#running.push(
      run(signal).then(
        () => {
          if (!signal.aborted) this.fail(new Error(`the ${name} has ended`));
        },
        (error: unknown) => {
          if (signal.aborted) return;
          logger.error('component failed', { component: name, err: error });
          this.fail(new Error(`the ${name} failed: ${errorMessage(error)}`, { cause: error }));
        },
      ),
    );
  }

  /** The components are to end. */
  abort(): void {
    this.#abort.abort(new Error('the cluster stops'));
  }

  /** After abort(): resolves when all have ended, with how they did. */
  ended(): Promise<PromiseSettledResult<void>[]> {
    return Promise.allSettled(this.#running);
  }
}
