// Decides whether an error of a rule is dropped because the value did not change (KEP-4008).

import type { Correlation } from '../correlation.ts';

const TYPE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind']);

/** A value of an update. */
export class Ratchet {
  /** The value and its old value. Undefined: there is no corresponding old value. */
  readonly #own: Correlation | undefined;
  /**
   * The nearest enclosing value with an old value. Undefined: this is the whole object, or no
   * enclosing value counts.
   */
  readonly #around: Correlation | undefined;

  constructor(own: Correlation | undefined, around?: Correlation) {
    this.#own = own;
    this.#around = around;
  }

  /**
   * Reports whether the value, or otherwise the nearest enclosing one with an old value, is
   * unchanged.
   */
  get isUnchanged(): boolean {
    return (this.#own ?? this.#around)?.isEqual ?? false;
  }

  field(name: string): Ratchet {
    if (this.#own === undefined) return this;
    // The type fields do not show a change of the version: both objects have been converted.
    if (this.#around === undefined && TYPE_FIELDS.has(name)) return new Ratchet(undefined);
    return new Ratchet(this.#own.field(name), this.#own);
  }

  item(index: number): Ratchet {
    return this.#own === undefined ? this : new Ratchet(this.#own.item(index), this.#own);
  }
}
