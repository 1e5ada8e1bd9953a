// A map with lazy values: the variables of a policy, each an expression over those before it.

import { evaluationError, EvaluationError } from './errors.ts';
import { AbstractMap, type Value } from './values.ts';

/** A map that creates each value at most once. A value that failed fails again at each access. */
export class LazyMap extends AbstractMap {
  readonly #makers: ReadonlyMap<string, () => Value>;
  readonly #values = new Map<
    string,
    { readonly value: Value } | { readonly error: EvaluationError }
  >();

  /**
   * A maker may throw EvaluationError, which is remembered. Other errors, such as Suspension, are
   * not.
   */
  constructor(makers: ReadonlyMap<string, () => Value>) {
    super();
    this.#makers = makers;
  }

  get size(): number {
    return this.#makers.size;
  }

  get(key: Value): Value {
    const maker = typeof key === 'string' ? this.#makers.get(key) : undefined;
    if (maker === undefined) return undefined;
    const name = key as string;
    let cached = this.#values.get(name);
    if (cached === undefined) {
      cached = attempt(maker);
      this.#values.set(name, cached);
    }
    if ('error' in cached) throw evaluationError(cached.error.message, cached.error.reason);
    return cached.value;
  }

  override has(key: Value): boolean {
    return typeof key === 'string' && this.#makers.has(key);
  }

  keys(): Iterable<Value> {
    return this.#makers.keys();
  }
}

function attempt(
  maker: () => Value,
): { readonly value: Value } | { readonly error: EvaluationError } {
  try {
    return { value: maker() };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { error };
  }
}
