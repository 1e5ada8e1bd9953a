// Limits the number of pulls at a time. Waiting pulls start in their order.

export class PullSlots {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Creates slots. `limit`: the maximum number of pulls at a time. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs the pull when there is room. Resolves with its result. */
  async run<T>(pull: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await pull();
    } finally {
      const next = this.#waiting.shift();
      // The place is handed on, so that a new pull does not overtake.
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
