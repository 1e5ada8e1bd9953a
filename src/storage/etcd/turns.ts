// Queues the writers of this process that change the same key. A writer that lost to another one
// waits for its turn, instead of losing again and again over the network.

export class Turns {
  /** The last waiting writer of each key. */
  readonly #last = new Map<string, Promise<void>>();

  /** Resolves when it is the caller's turn, with a function that ends the turn. */
  async take(key: string): Promise<() => void> {
    const before = this.#last.get(key);
    let end!: () => void;
    const turn = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#last.set(key, turn);
    await before;
    return () => {
      if (this.#last.get(key) === turn) this.#last.delete(key);
      end();
    };
  }
}
