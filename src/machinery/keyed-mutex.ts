// One operation at a time for each key.

export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work of the key has settled. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }

  /**
   * Runs `work` while it has all the keys. Calls for the same keys in any order do not block each
   * other for good: keys are taken in one order.
   */
  runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    return [...new Set(keys)]
      .toSorted()
      .reduceRight<() => Promise<T>>((inner, key) => () => this.run(key, inner), work)();
  }
}
