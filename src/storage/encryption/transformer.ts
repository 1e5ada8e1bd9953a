// The format of encrypted values, the same as Kubernetes': `k8s:enc:PROVIDER:VERSION:NAME:` and then
// the provider's output. Both implementations read each other's values.

import { type Awaitable, andThen } from '#machinery/awaitable.ts';
import type { Opened, ValueTransformer } from '../transformed-storage.ts';
import { type Cipher, inOwnMemory, startsWith } from './cipher.ts';
import type { Transformation } from './transformation-metrics.ts';

/** Sees the encryptions and decryptions of one resource. */
export interface TransformationObserver {
  /** Returns the time, for `beganMs`. */
  now(): number;
  record(transformation: Transformation): void;
}

export interface TransformerConfig {
  /** Transforms values before they are encrypted. Default: nothing does. */
  readonly form?: ValueTransformer;
  readonly observer?: TransformationObserver;
}

export class Transformer implements ValueTransformer {
  /** The first one encrypts. */
  readonly #ciphers: readonly Cipher[];
  readonly #form: ValueTransformer | undefined;
  readonly #observer: TransformationObserver | undefined;

  constructor(ciphers: readonly Cipher[], { form, observer }: TransformerConfig = {}) {
    this.#ciphers = ciphers;
    this.#form = form;
    this.#observer = observer;
  }

  /** Throws while the cipher that encrypts cannot. */
  seal(value: Uint8Array, context: string): Uint8Array {
    const cipher = this.#ciphers[0];
    if (cipher === undefined) throw new Error('encryption: no provider is configured');
    const beganMs = this.#observer?.now() ?? 0;
    const done = (error?: unknown): void =>
      this.#observer?.record({
        type: 'to_storage',
        prefix: cipher.prefix.toString(),
        beganMs,
        error,
      });
    try {
      const sealed = this.#sealedBy(cipher, value, context);
      done();
      return sealed;
    } catch (error) {
      done(error);
      throw error;
    }
  }

  #sealedBy(cipher: Cipher, value: Uint8Array, context: string): Uint8Array {
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
    const beganMs = this.#observer?.now() ?? 0;
    for (let i = first; i < this.#ciphers.length; i++) {
      const cipher = this.#ciphers[i]!;
      if (!startsWith(stored, cipher.prefix)) continue;
      try {
        const opened = cipher.open(stored.subarray(cipher.prefix.length), context);
        const formed = andThen(
          andThen(opened, (each) => this.#formed(each, i, context)),
          (result) => {
            this.#opened(cipher, beganMs);
            return result;
          },
        );
        if (!(formed instanceof Promise)) return formed;
        return formed.catch((error: unknown) => {
          this.#opened(cipher, beganMs, error);
          return this.#openWith(i + 1, stored, context, problem ?? error);
        });
      } catch (error) {
        this.#opened(cipher, beganMs, error);
        problem ??= error;
      }
    }
    if (problem !== undefined) throw problem;
    const error = new Error('no matching prefix found');
    this.#observer?.record({ type: 'from_storage', prefix: 'unknown', beganMs, error });
    throw error;
  }

  /** Records a decryption. The identity provider only finds out that a value is not its own. */
  #opened({ prefix }: Cipher, beganMs: number, error?: unknown): void {
    if (prefix.length === 0 && error !== undefined) return;
    const name = prefix.length === 0 ? 'identity' : prefix.toString();
    this.#observer?.record({ type: 'from_storage', prefix: name, beganMs, error });
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
