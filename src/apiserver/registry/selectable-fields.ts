// The fields of a kind that field selectors may name: one declaration for each kind. From it follows which labels a selector may have,
// what is compared, and what is indexed. metadata.name and metadata.namespace are selectable for every kind.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';

/** Returns the field's value as text: 'true' and 'false' for booleans, '' for a field that is absent. */
export type FieldGetter<T> = (object: T) => string;

export interface SelectableField<T> {
  readonly value: FieldGetter<T>;
  /**
   * Whether lists and watches of one value do not visit objects with other values. At most one field of a kind may be indexed for
   * watches: the first. Default: false.
   */
  readonly indexed?: boolean;
  /** Older names of the field, which selectors may have, too. */
  readonly oldNames?: readonly string[];
}

/** By name: 'spec.nodeName'. */
export type FieldDeclarations<T> = Readonly<Record<string, FieldGetter<T> | SelectableField<T>>>;

export interface SelectableFieldsOptions {
  /** Whether objects are in namespaces. Otherwise metadata.namespace is no field. Default: true. */
  readonly namespaced?: boolean;
  /** Returns the error for a label that is no field. Default: as of built-in kinds. */
  readonly unsupported?: (label: string) => string;
}

const METADATA_FIELDS: readonly (readonly [string, FieldGetter<KubeObject>])[] = [
  ['metadata.name', ({ metadata }) => metadata.name],
  ['metadata.namespace', ({ metadata }) => metadata.namespace ?? ''],
];

/** Immutable; shared by everything that selects objects of the kind. */
export class SelectableFields {
  /** The fields that the kind declares. */
  readonly names: readonly string[];
  /** Those of them that are indexed. */
  readonly indexed: readonly string[];
  readonly #getters: ReadonlyMap<string, FieldGetter<KubeObject>>;
  readonly #oldNames: ReadonlyMap<string, string>;
  readonly #unsupported: ((label: string) => string) | undefined;

  /** Callers that know the type of the objects use selectableFields(). */
  constructor(
    fields: readonly (readonly [name: string, field: SelectableField<KubeObject>])[],
    { namespaced = true, unsupported }: SelectableFieldsOptions = {},
  ) {
    this.#unsupported = unsupported;
    this.names = fields.map(([name]) => name);
    this.indexed = fields.flatMap(([name, { indexed = false }]) => (indexed ? [name] : []));
    const ofMetadata = METADATA_FIELDS.slice(0, namespaced ? 2 : 1);
    this.#getters = new Map([
      ...ofMetadata,
      ...fields.map(([name, { value }]) => [name, value] as const),
    ]);
    this.#oldNames = new Map(
      fields.flatMap(([name, { oldNames = [] }]) =>
        oldNames.map((oldName) => [oldName, name] as const),
      ),
    );
  }

  /** Returns the field that a selector's label means. Throws StatusError (400) if the kind has no such field. */
  resolve(label: string): string {
    const name = this.#oldNames.get(label) ?? label;
    if (this.#getters.has(name)) return name;
    if (this.#unsupported !== undefined) throw apierrors.badRequest(this.#unsupported(label));
    throw apierrors.badRequest(
      this.names.length > 0
        ? `field label not supported: ${label}`
        : `"${label}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }

  /** Returns the value of a field, '' for a field that the kind does not have. Called for each object and selector: it computes one field. */
  valueOf(object: KubeObject, name: string): string {
    return this.#getters.get(name)?.(object) ?? '';
  }
}

/** Declares the fields of a kind. */
export function selectableFields<T extends KubeObject>(
  declarations: FieldDeclarations<T>,
): SelectableFields {
  return new SelectableFields(
    Object.entries(declarations).map(([name, field]) => {
      const { value, ...attributes } = typeof field === 'function' ? { value: field } : field;
      // It is only called with objects of the kind.
      return [name, { ...attributes, value: value as FieldGetter<KubeObject> }];
    }),
  );
}

/** The fields of kinds that declare none. */
export const metadataFields = new SelectableFields([]);
