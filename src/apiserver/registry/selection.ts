// Which objects a list or watch is about: a label selector and a field selector, as one question to an object.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type * as fields from '#machinery/selectors/fields.ts';
import type * as labels from '#machinery/selectors/labels.ts';
import type { SelectableFields } from './selectable-fields.ts';

export interface SelectionConfig {
  /** Absent: any labels. */
  readonly labels?: labels.Selector;
  /** Absent: any fields. metadata.name and metadata.namespace are known for every kind. */
  readonly fields?: fields.Selector;
}

export class Selection {
  readonly #labels: labels.Selector | undefined;
  readonly #fields: fields.Selector | undefined;

  constructor(config: SelectionConfig = {}) {
    this.#labels = config.labels?.empty() === true ? undefined : config.labels;
    this.#fields = config.fields?.empty() === true ? undefined : config.fields;
  }

  /** True if nothing is asked: every object matches, none must be decoded to know. */
  get everything(): boolean {
    return this.#labels === undefined && this.#fields === undefined;
  }

  /** The one value that a field must have to match; undefined if the selection leaves it open. */
  exact(field: string): string | undefined {
    return this.#fields?.requiresExactMatch(field);
  }

  /** Reports whether the object is selected. `selectableFields`: of its kind. */
  matches(selectable: Selectable, selectableFields: SelectableFields): boolean {
    if (this.everything) return true;
    const object = selectable.object();
    if (this.#labels !== undefined && !this.#labels.matches(object.metadata.labels)) return false;
    for (const { field, operator, value } of this.#fields?.requirements() ?? []) {
      if ((selectableFields.valueOf(object, field) === value) !== (operator === '=')) return false;
    }
    return true;
  }
}

/** What a selection must know of an object. */
export interface Selectable {
  object(): KubeObject;
}

/** Everything, in every namespace. */
export const everything = new Selection();
