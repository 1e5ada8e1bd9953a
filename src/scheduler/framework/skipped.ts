// Lists of plugins without those that skip.

/** From pod to pod usually the same plugins skip, so the last result is kept. */
export class Remainder<T> {
  #skipped: readonly string[] | undefined;
  #left: T | undefined;
  readonly #without: (skipped: ReadonlySet<string>) => T;

  /** Creates the lists. `without`: returns the result without plugins of these names. */
  constructor(without: (skipped: ReadonlySet<string>) => T) {
    this.#without = without;
  }

  /** Returns the result. `skipped`: always in the same order. */
  of(skipped: readonly string[]): T {
    if (this.#left === undefined || !this.#isLast(skipped)) {
      this.#left = this.#without(new Set(skipped));
      this.#skipped = skipped;
    }
    return this.#left;
  }

  #isLast(skipped: readonly string[]): boolean {
    const last = this.#skipped;
    if (last === undefined || last.length !== skipped.length) return false;
    for (let i = 0; i < last.length; i++) if (last[i] !== skipped[i]) return false;
    return true;
  }
}
