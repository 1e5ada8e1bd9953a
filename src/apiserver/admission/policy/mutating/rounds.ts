// Which policies are gone through a second time: those that ask for it, if the object has changed since they saw it.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Reinvocation } from '#apiserver/admission/reinvocation.ts';

const MEMORY = 'MutatingAdmissionPolicy';

export class Rounds {
  readonly #reinvocation: Reinvocation;
  /** The object as policies left it the last time. */
  #left: KubeObject | undefined;
  /** Policies that ask to be gone through again, and have not seen the last change. */
  readonly #waiting = new Set<string>();
  readonly #again = new Set<string>();

  private constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation;
  }

  /** Of one request; `object` is as other plugins hand it on. */
  static of(reinvocation: Reinvocation, object: KubeObject): Rounds {
    const known = reinvocation.memory.get(MEMORY);
    const rounds = known instanceof Rounds ? known : new Rounds(reinvocation);
    reinvocation.memory.set(MEMORY, rounds);
    if (reinvocation.again && !deepEqual(rounds.#left, object)) rounds.#changed();
    return rounds;
  }

  /** Whether a policy (with a binding and a parameter) has its turn. */
  takes(key: string): boolean {
    return !this.#reinvocation.again || this.#again.has(key);
  }

  /** A policy has had its turn. `ifNeeded`: it wants another if the object changes after that. */
  done(key: string, { changed, ifNeeded }: { readonly changed: boolean; readonly ifNeeded: boolean }): void {
    if (changed) this.#changed();
    if (ifNeeded) this.#waiting.add(key);
  }

  /** All have had their turn. */
  end(object: KubeObject, mutated: boolean): void {
    if (mutated) this.#changed();
    this.#left = object;
  }

  #changed(): void {
    for (const key of this.#waiting) this.#again.add(key);
    this.#waiting.clear();
    this.#reinvocation.request();
  }
}
