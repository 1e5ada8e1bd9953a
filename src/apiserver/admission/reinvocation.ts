// The way of one request through the mutating plugins: if a policy has changed the object, it is gone a second time, since those
// before it may have something to say to the change. Never a third time.

export class Reinvocation {
  #again = false;
  #requested = false;
  #memory: Map<string, unknown> | undefined;

  /** What plugins remember from the first time, by their names. */
  get memory(): Map<string, unknown> {
    // Most requests have nothing to do with any policy.
    this.#memory ??= new Map();
    return this.#memory;
  }

  /** It is the second time. */
  get again(): boolean {
    return this.#again;
  }

  /** Asks for a second time. */
  request(): void {
    this.#requested = true;
  }

  /** Whether there is to be a second time, which begins with this. */
  begin(): boolean {
    if (this.#again || !this.#requested) return false;
    this.#again = true;
    return true;
  }
}
