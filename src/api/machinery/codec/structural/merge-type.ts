// The rules of server-side apply for a custom resource, from its schema.

import { fieldElement } from '../../managed-fields/path-element.ts';
import {
  deduced,
  type ListShape,
  type MapShape,
  type MergeField,
  type MergeType,
  mergeTypeOf,
  type ScalarKind,
  untypedAtomic,
} from '../../managed-fields/merge-type.ts';
import { metaSchemas } from '../../schema/meta-schemas.ts';
import { type StructuralSchema, valuesOf } from './structural-schema.ts';

const TEXT: MergeType = { scalar: 'string' };

/**
 * Returns the rules for whole objects. Without a schema, every field is merged by the form of its
 * value.
 */
export function mergeTypeOfSchema(schema: StructuralSchema | undefined): MergeType {
  if (schema === undefined) return deduced;
  return { map: new ObjectShape(schema, schema.preserveUnknownFields, true) };
}

/** Returns the rules of a schema. `inherited`: an enclosing schema preserves unknown fields. */
function typeOf(schema: StructuralSchema, inherited: boolean): MergeType {
  const preserves = inherited || schema.preserveUnknownFields;
  switch (schema.type) {
    case '':
      return {
        scalar: 'untyped',
        list: new ItemsShape(schema, preserves),
        map: new ObjectShape(schema, preserves, false),
      };
    case 'object':
      return { map: new ObjectShape(schema, preserves, schema.embeddedResource) };
    case 'array':
      return { list: new ItemsShape(schema, preserves) };
    default:
      return { scalar: scalarOf(schema) };
  }
}

function scalarOf({ type, source }: StructuralSchema): ScalarKind {
  if (type === 'boolean') return 'boolean';
  if (type === 'integer' || type === 'number') return 'numeric';
  const format = source.format ?? '';
  return type === 'string' && (format === '' || format === 'byte') ? 'string' : 'untyped';
}

/** A list: atomic by default. Without a schema, each item is one value. */
class ItemsShape implements ListShape {
  readonly atomic: boolean;
  readonly keys: readonly string[];
  readonly #schema: StructuralSchema;
  readonly #preserves: boolean;
  #items: MergeType | undefined;

  constructor(schema: StructuralSchema, preserves: boolean) {
    this.#schema = schema;
    this.#preserves = preserves;
    this.atomic = schema.listType !== 'set' && schema.listType !== 'map';
    this.keys = schema.listType === 'map' ? schema.listMapKeys : [];
  }

  get items(): MergeType {
    const { items } = this.#schema;
    this.#items ??= items === undefined ? untypedAtomic : typeOf(items, this.#preserves);
    return this.#items;
  }
}

class ObjectShape implements MapShape {
  readonly atomic: boolean;
  readonly #schema: StructuralSchema;
  readonly #preserves: boolean;
  readonly #isResource: boolean;
  #fields: ReadonlyMap<string, MergeField> | undefined;
  #values: MergeType | undefined;

  constructor(schema: StructuralSchema, preserves: boolean, isResource: boolean) {
    this.#schema = schema;
    this.#preserves = preserves;
    this.#isResource = isResource;
    this.atomic = schema.mapType === 'atomic';
  }

  get fields(): ReadonlyMap<string, MergeField> {
    this.#fields ??= this.#compileFields();
    return this.#fields;
  }

  /** An object without properties and without rules for other fields may have any fields. */
  get values(): MergeType | undefined {
    const values = valuesOf(this.#schema);
    if (values !== undefined) return (this.#values ??= typeOf(values, this.#preserves));
    const { additionalProperties } = this.#schema;
    if (additionalProperties !== undefined)
      return additionalProperties === true ? deduced : undefined;
    return this.#preserves || (this.#schema.properties.size === 0 && !this.#isResource)
      ? deduced
      : undefined;
  }

  #compileFields(): ReadonlyMap<string, MergeField> {
    const fields = new Map<string, MergeField>();
    for (const [name, property] of this.#schema.properties) {
      fields.set(name, mergeField(name, typeOf(property, this.#preserves), property.default));
    }
    if (this.#isResource) {
      fields.set('apiVersion', mergeField('apiVersion', TEXT));
      fields.set('kind', mergeField('kind', TEXT));
      fields.set(
        'metadata',
        mergeField('metadata', mergeTypeOf(metaSchemas.message('meta/v1.ObjectMeta'))),
      );
    }
    return fields;
  }
}

function mergeField(name: string, type: MergeType, keyDefault?: unknown): MergeField {
  return { element: fieldElement(name), type, keyDefault };
}
