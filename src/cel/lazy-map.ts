// A map whose values are made when they are asked for: the variables of a policy, each an expression over those before it.

import { evaluationError, EvaluationError } from './errors.ts';
import { AbstractMap, type Value } from './values.ts';

/** Each value is made at most once; one that cannot be made fails whenever it is asked for. */
export class LazyMap extends AbstractMap {
  readonly #makers: ReadonlyMap<string, () => Value>;
  readonly #made = new Map<
    string,
    { readonly value: Value } | { readonly error: EvaluationError }
  >();

  /** A maker may throw EvaluationError; other errors, Suspension among them, are not kept. */
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
    let made = this.#made.get(name);
    if (made === undefined) {
      made = attempt(maker);
      this.#made.set(name, made);
    }
    if ('error' in made) throw evaluationError(made.error.message, made.error.reason);
    return made.value;
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
