// The selectable fields of a kind. One declaration determines which labels field selectors may
// have, which values are compared, and which fields are indexed. metadata.name and
// metadata.namespace are selectable for every kind.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';

/** Returns the field's value as text: 'true' and 'false' for booleans, '' for a field that is absent. */
export type FieldGetter<T> = (object: T) => string;

export interface SelectableField<T> {
  readonly value: FieldGetter<T>;
  /**
   * Whether lists and watches of one value skip objects with other values. Only the first indexed
   * field of a kind is indexed for watches. Default: false.
   */
  readonly indexed?: boolean;
  /**
   * The path of the field, if its value is always the text there, or '' if there is none. An index
   * then reads the value without decoding the object.
   */
  readonly path?: readonly string[];
  /** Older names of the field that selectors may still use. */
  readonly oldNames?: readonly string[];
}

/** Fields by name, such as 'spec.nodeName'. */
export type FieldDeclarations<T> = Readonly<Record<string, FieldGetter<T> | SelectableField<T>>>;

export interface SelectableFieldsOptions {
  /**
   * Whether objects are namespaced. Otherwise metadata.namespace is not selectable. Default: true.
   */
  readonly namespaced?: boolean;
  /** Returns the message for an unknown label. Default: the message of built-in kinds. */
  readonly unsupported?: (label: string) => string;
}

const METADATA_FIELDS: readonly (readonly [string, FieldGetter<KubeObject>])[] = [
  ['metadata.name', ({ metadata }) => metadata.name],
  ['metadata.namespace', ({ metadata }) => metadata.namespace ?? ''],
];

/** Immutable, and shared by all selections of the kind. */
export class SelectableFields {
  /** The fields that the kind declares. */
  readonly names: readonly string[];
  /** The indexed fields among them. */
  readonly indexed: readonly string[];
  readonly #getters: ReadonlyMap<string, FieldGetter<KubeObject>>;
  readonly #paths: ReadonlyMap<string, readonly string[]>;
  readonly #oldNames: ReadonlyMap<string, string>;
  readonly #unsupported: ((label: string) => string) | undefined;

  /** Creates the fields. Callers with a type for the objects use selectableFields(). */
  constructor(
    fields: readonly (readonly [name: string, field: SelectableField<KubeObject>])[],
    { namespaced = true, unsupported }: SelectableFieldsOptions = {},
  ) {
    this.#unsupported = unsupported;
    this.names = fields.map(([name]) => name);
    this.indexed = fields.flatMap(([name, { indexed = false }]) => (indexed ? [name] : []));
    this.#paths = new Map(
      fields.flatMap(([name, { path }]) => (path === undefined ? [] : [[name, path] as const])),
    );
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

  /**
   * Returns the name of the field for a selector's label. Throws StatusError (400) if the kind has
   * no such field.
   */
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

  /** Returns the path of a field's text in the object; undefined if the field declares none. */
  pathOf(name: string): readonly string[] | undefined {
    return this.#paths.get(name);
  }

  /**
   * Returns the value of a field; '' for an unknown field. Computes only this field, since it is
   * called for each object and selector.
   */
  valueOf(object: KubeObject, name: string): string {
    return this.#getters.get(name)?.(object) ?? '';
  }
}

/** Declares the fields of a kind. */
export function selectableFields<T extends KubeObject>(
  declarations: FieldDeclarations<T>,
  options: SelectableFieldsOptions = {},
): SelectableFields {
  return new SelectableFields(
    Object.entries(declarations).map(([name, field]) => {
      const { value, ...attributes } = typeof field === 'function' ? { value: field } : field;
      // The function is only called with objects of the kind.
      return [name, { ...attributes, value: value as FieldGetter<KubeObject> }];
    }),
    options,
  );
}

/** The fields of kinds without fields of their own. */
export const metadataFields = new SelectableFields([]);
