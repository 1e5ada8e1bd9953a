// The place of a value in an object. Paths are formatted only for errors.

import * as field from '#machinery/validation/field.ts';
import type { FieldPath } from '#machinery/validation/field.ts';

export type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'key'; readonly name: string }
  | { readonly kind: 'item'; readonly index: number };

export class Place {
  readonly #base: Place | FieldPath | undefined;
  readonly #step: Step | undefined;

  /** `base`: undefined for a whole object. */
  constructor(base: Place | FieldPath | undefined, step?: Step) {
    this.#base = base;
    this.#step = step;
  }

  /** Returns the path; undefined for the object itself. */
  toPath(): FieldPath | undefined {
    const base = this.#base instanceof Place ? this.#base.toPath() : this.#base;
    const step = this.#step;
    if (step === undefined) return base;
    const from = base ?? field.path('');
    if (step.kind === 'item') return from.index(step.index);
    return step.kind === 'key' ? from.key(step.name) : from.child(step.name);
  }
}
