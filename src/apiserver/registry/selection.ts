// Which objects a list or watch is about: a label selector and a field selector, as one question to an object.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type * as fields from '#machinery/selectors/fields.ts';
import type * as labels from '#machinery/selectors/labels.ts';
import type { ServedObject } from './encoded-object.ts';

const NO_FIELDS: Readonly<Record<string, string>> = {};

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

  matches(object: Selectable, selectableFields: SelectableFields | undefined): boolean {
    if (this.everything) return true;
    if (this.#labels !== undefined && !this.#labels.matches(object.object().metadata.labels)) return false;
    return this.#fields === undefined || this.#fields.matches(fieldsOf(object, selectableFields));
  }
}

/** What a selection must know of an object. */
export type Selectable = Pick<ServedObject, 'object' | 'decoded'>;

export type SelectableFields = (object: KubeObject) => Readonly<Record<string, string>>;

/** Everything, in every namespace. */
export const everything = new Selection();

/** What a field selector sees of an object. */
export function fieldsOf(
  selectable: Selectable,
  selectableFields: SelectableFields | undefined,
): Readonly<Record<string, string>> {
  const decoded = selectable.decoded();
  if (decoded.fields === undefined) {
    const { object } = decoded;
    const { name, namespace } = object.metadata;
    const own = selectableFields?.(object) ?? NO_FIELDS;
    decoded.fields =
      namespace === undefined
        ? { ...own, 'metadata.name': name }
        : { ...own, 'metadata.name': name, 'metadata.namespace': namespace };
  }
  return decoded.fields;
}
