// Gathers the bindings that begin in one turn of the event loop, and makes them as one call.

import { nextTurn } from '#machinery/turn.ts';
import type { BindPods, BindResult, PodBinding } from '../framework/bind-pods.ts';

interface WaitingBinding {
  readonly binding: PodBinding;
  readonly resolve: (result: BindResult) => void;
  readonly reject: (error: unknown) => void;
}

export class BindingBatches {
  readonly #bindPods: BindPods;
  #waiting: WaitingBinding[] = [];

  constructor(bindPods: BindPods) {
    this.#bindPods = bindPods;
  }

  /** Resolves with the outcome. Rejects if it is not known. */
  bind(binding: PodBinding): Promise<BindResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ binding, resolve, reject });
      if (this.#waiting.length === 1) void nextTurn().then(() => this.#send());
    });
  }

  async #send(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const results = await this.#bindPods(batch.map(({ binding }) => binding));
      batch.forEach(({ resolve }, index) => resolve(results[index] ?? 'refused'));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
