// Turns of those who want to change the same key: whoever was beaten once waits for the others of this process, instead of
// being beaten by them again and again over the network.

export class Turns {
  /** The last waiting writer of each key. */
  readonly #last = new Map<string, Promise<void>>();

  /** Resolves when it is this one's turn, with what ends it. */
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
