// Decides which policies or webhooks are called again in the second round: those with
// reinvocationPolicy IfNeeded, if the object has changed since their call.

import { deepEqual } from '#machinery/deep.ts';
import type { Reinvocation } from './reinvocation.ts';

export class Rounds {
  readonly #reinvocation: Reinvocation;
  /** The object as the plugin left it in the last round. */
  #left: object | undefined;
  /** The keys that want another call, and have not seen the last change. */
  readonly #waiting = new Set<string>();
  readonly #again = new Set<string>();
  readonly #seen = new Set<string>();

  private constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /**
   * Returns the rounds of one plugin for one request. `object`: the object that the plugin gets.
   */
  static of(reinvocation: Reinvocation, plugin: string, object: object | undefined): Rounds {
    const kept = reinvocation.memory.get(plugin);
    const rounds = kept instanceof Rounds ? kept : new Rounds(reinvocation);
    reinvocation.memory.set(plugin, rounds);
    if (reinvocation.again && !deepEqual(rounds.#left, object)) rounds.#changed();
    return rounds;
  }

  /**
   * Reports whether a policy (with a binding and a parameter) or a webhook is to be called in this
   * round.
   */
  takes(key: string): boolean {
    return !this.#reinvocation.again || this.#again.has(key);
  }

  /**
   * Records the call of a policy or webhook. `ifNeeded`: it wants another call if the object
   * changes later.
   */
  done(
    key: string,
    { changed, ifNeeded }: { readonly changed: boolean; readonly ifNeeded: boolean },
  ): void {
    if (changed) this.#changed();
    if (ifNeeded) this.#waiting.add(key);
  }

  /** Reports whether this is the first call with this text. */
  first(what: string): boolean {
    const isSeen = this.#seen.has(what);
    this.#seen.add(what);
    return !isSeen;
  }

  /** Records the end of the round. */
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
