// The rounds of one request through the mutating plugins. If a policy or webhook has changed the
// object, there is a second round, in which earlier ones may react to the change. There is never a
// third one.

export class Reinvocation {
  #again = false;
  #requested = false;
  #memory: Map<string, unknown> | undefined;

  /** Values that plugins keep from the first round, by plugin name. */
  get memory(): Map<string, unknown> {
    // Created on demand, since no policy applies to most requests.
    this.#memory ??= new Map();
    return this.#memory;
  }

  /** True in the second round. */
  get again(): boolean {
    return this.#again;
  }

  /** Requests a second round. */
  request(): void {
    this.#requested = true;
  }

  /** Starts the second round if it was requested. Returns whether there is one. */
  begin(): boolean {
    if (this.#again || !this.#requested) return false;
    this.#again = true;
    return true;
  }
}
