// Selects the objects of a list or watch by a label selector and a field selector.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type * as fields from '#machinery/selectors/fields.ts';
import type * as labels from '#machinery/selectors/labels.ts';
import type { SelectableFields } from './selectable-fields.ts';

export interface SelectionConfig {
  /** Absent: any labels match. */
  readonly labels?: labels.Selector;
  /** Absent: any fields match. metadata.name and metadata.namespace exist for every kind. */
  readonly fields?: fields.Selector;
}

export class Selection {
  readonly #labels: labels.Selector | undefined;
  readonly #fields: fields.Selector | undefined;

  constructor(config: SelectionConfig = {}) {
    this.#labels = config.labels?.empty() === true ? undefined : config.labels;
    this.#fields = config.fields?.empty() === true ? undefined : config.fields;
  }

  /** True if every object matches, so that none has to be decoded. */
  get everything(): boolean {
    return this.#labels === undefined && this.#fields === undefined;
  }

  /** Returns the one value that a field must have; undefined if the selection does not fix it. */
  exact(field: string): string | undefined {
    return this.#fields?.requiresExactMatch(field);
  }

  /** Reports whether the selection has no other condition than the one value of a field. */
  isOnlyExact(field: string): boolean {
    const [requirement, ...others] = this.#fields?.requirements() ?? [];
    return (
      this.#labels === undefined &&
      others.length === 0 &&
      requirement?.field === field &&
      requirement.operator === '='
    );
  }

  /** Reports whether the object is selected. `selectableFields`: those of its kind. */
  matches(selectable: Selectable, selectableFields: SelectableFields): boolean {
    if (this.everything) return true;
    if (this.#labels !== undefined) {
      const labels =
        selectable.labels === undefined ? selectable.object().metadata.labels : selectable.labels();
      if (!this.#labels.matches(labels)) return false;
    }
    if (this.#fields === undefined) return true;
    const object = selectable.object();
    for (const { field, operator, value } of this.#fields.requirements() ?? []) {
      if ((selectableFields.valueOf(object, field) === value) !== (operator === '=')) return false;
    }
    return true;
  }
}

/** The part of an object that a selection needs. */
export interface Selectable {
  object(): KubeObject;
  /** Returns the labels of the object, which is not decoded for them. Absent: it has to be. */
  labels?(): Readonly<Record<string, string>> | undefined;
}

/** Selects everything, in every namespace. */
export const everything = new Selection();
