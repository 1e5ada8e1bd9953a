// The format of encrypted values, the same as Kubernetes': `k8s:enc:PROVIDER:VERSION:NAME:` and then
// the provider's output. Both implementations read each other's values.

import { type Awaitable, andThen } from '#machinery/awaitable.ts';
import type { Opened, ValueTransformer } from '../transformed-storage.ts';
import { type Cipher, inOwnMemory, startsWith } from './cipher.ts';

export class Transformer implements ValueTransformer {
  /** The first one encrypts. */
  readonly #ciphers: readonly Cipher[];
  readonly #form: ValueTransformer | undefined;

  /** `form`: transforms values before they are encrypted. Default: nothing does. */
  constructor(ciphers: readonly Cipher[], form?: ValueTransformer) {
    this.#ciphers = ciphers;
    this.#form = form;
  }

  /** Throws while the cipher that encrypts cannot. */
  seal(value: Uint8Array, context: string): Uint8Array {
    const cipher = this.#ciphers[0];
    if (cipher === undefined) throw new Error('encryption: no provider is configured');
    if (cipher.prefix.length === 0) return value;
    const formed = this.#form?.seal(value, context) ?? value;
    return inOwnMemory([cipher.prefix, cipher.seal(formed, context)]);
  }

  /** Decrypts a stored value. Throws or rejects if no configured cipher can read it. */
  open(stored: Uint8Array, context: string): Awaitable<Opened> {
    return this.#openWith(0, stored, context, undefined);
  }

  /** Tries the ciphers from `first` on: several may have the same prefix. */
  #openWith(
    first: number,
    stored: Uint8Array,
    context: string,
    failure: unknown,
  ): Awaitable<Opened> {
    let problem = failure;
    for (let i = first; i < this.#ciphers.length; i++) {
      const cipher = this.#ciphers[i]!;
      if (!startsWith(stored, cipher.prefix)) continue;
      try {
        const opened = cipher.open(stored.subarray(cipher.prefix.length), context);
        const formed = andThen(opened, (each) => this.#formed(each, i, context));
        if (!(formed instanceof Promise)) return formed;
        return formed.catch((error: unknown) =>
          this.#openWith(i + 1, stored, context, problem ?? error),
        );
      } catch (error) {
        problem ??= error;
      }
    }
    throw problem ?? new Error('no matching prefix found');
  }

  /** `index`: of the cipher. */
  #formed({ value, stale }: Opened, index: number, context: string): Awaitable<Opened> {
    const isStale = stale || index > 0;
    if (this.#form === undefined || this.#ciphers[index]!.prefix.length === 0)
      return { value, stale: isStale };
    return andThen(this.#form.open(value, context), (formed) => ({
      value: formed.value,
      stale: isStale || formed.stale,
    }));
  }
}
