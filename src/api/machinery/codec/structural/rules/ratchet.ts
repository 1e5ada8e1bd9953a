// Whether errors of a rule are dropped because what they are about did not change (KEP-4008).

import type { Correlation } from '../correlation.ts';

const TYPE_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind']);

/** A value of an update. */
export class Ratchet {
  /** The value and its old value. Undefined: it has none that corresponds to it. */
  readonly #own: Correlation | undefined;
  /** The nearest value around it that has an old value. Undefined: this is the whole object, or nothing around it counts. */
  readonly #around: Correlation | undefined;

  constructor(own: Correlation | undefined, around?: Correlation) {
    this.#own = own;
    this.#around = around;
  }

  /** Whether the value, or else the nearest one around it that has an old value, is as it was. */
  get isUnchanged(): boolean {
    return (this.#own ?? this.#around)?.isEqual ?? false;
  }

  field(name: string): Ratchet {
    if (this.#own === undefined) return this;
    // A change of the version shows in neither: both objects have been converted.
    if (this.#around === undefined && TYPE_FIELDS.has(name)) return new Ratchet(undefined);
    return new Ratchet(this.#own.field(name), this.#own);
  }

  item(index: number): Ratchet {
    return this.#own === undefined ? this : new Ratchet(this.#own.item(index), this.#own);
  }
}
