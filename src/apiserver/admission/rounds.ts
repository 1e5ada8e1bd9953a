// Which policies or webhooks are called a second time: those that ask for it, if the object has changed since they saw it.

import { deepEqual } from '#machinery/deep.ts';
import type { Reinvocation } from './reinvocation.ts';

export class Rounds {
  readonly #reinvocation: Reinvocation;
  /** The object as the plugin left it the last time. */
  #left: object | undefined;
  /** Those that ask to be gone through again, and have not seen the last change. */
  readonly #waiting = new Set<string>();
  readonly #again = new Set<string>();
  readonly #seen = new Set<string>();

  private constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /** Returns the rounds of one plugin for one request; `object` is as other plugins hand it on. */
  static of(reinvocation: Reinvocation, plugin: string, object: object | undefined): Rounds {
    const known = reinvocation.memory.get(plugin);
    const rounds = known instanceof Rounds ? known : new Rounds(reinvocation);
    reinvocation.memory.set(plugin, rounds);
    if (reinvocation.again && !deepEqual(rounds.#left, object)) rounds.#changed();
    return rounds;
  }

  /** Reports whether a policy (with a binding and a parameter) or a webhook has its turn. */
  takes(key: string): boolean {
    return !this.#reinvocation.again || this.#again.has(key);
  }

  /** A policy or webhook has had its turn. `ifNeeded`: it wants another if the object changes after that. */
  done(
    key: string,
    { changed, ifNeeded }: { readonly changed: boolean; readonly ifNeeded: boolean },
  ): void {
    if (changed) this.#changed();
    if (ifNeeded) this.#waiting.add(key);
  }

  /** Reports whether it is called with this text for the first time. */
  first(what: string): boolean {
    const known = this.#seen.has(what);
    this.#seen.add(what);
    return !known;
  }

  /** All have had their turn. */
  end(object: object | undefined, mutated: boolean): void {
    if (mutated) this.#changed();
    this.#left = object;
  }

  #changed(): void {
    for (const key of this.#waiting) this.#again.add(key);
    this.#waiting.clear();
    this.#reinvocation.request();
  }
}
