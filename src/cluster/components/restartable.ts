// A component that can be stopped and run again, as after a crash.

export class Restartable {
  readonly #run: (signal: AbortSignal) => Promise<void>;
  /** Ends the present run. */
  #current = new AbortController();
  /** Settles when the present run has ended. */
  #ended: Promise<void> = Promise.resolve();
  /** Pending while the component is down: it is run again when this resolves. */
  #down: Promise<void> | undefined;

  constructor(run: (signal: AbortSignal) => Promise<void>) {
    this.#run = run;
  }

  /** Runs the component until the signal aborts. Settles as the component does, unless it is being restarted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#current = new AbortController();
      const run = this.#run(AbortSignal.any([signal, this.#current.signal]));
      this.#ended = run.catch(() => undefined);
      try {
        await run;
      } catch (error) {
        if (this.#down === undefined) throw error;
      }
      if (this.#down === undefined) return;
      await this.#down;
    }
  }

  /** Ends the present run, waits for `down`, and begins the next. Resolves when it has begun. */
  async restart(down: () => Promise<void>): Promise<void> {
    if (this.#down !== undefined) return this.#down;
    let up: () => void = () => undefined;
    this.#down = new Promise((resolve) => (up = resolve));
    try {
      this.#current.abort(new Error('the component is stopped as by a crash'));
      await this.#ended;
      await down();
    } finally {
      this.#down = undefined;
      up();
    }
  }
}
