// OpenAPI schemas of API types, from their descriptors: definitions of an OpenAPI v2 document, and
// components of a v3 one. kubectl reads them for explain, validation and three-way merges.

import type {
  FieldDescriptor,
  GroupVersionKind,
  MessageDescriptor,
  Scalar,
  TypeRef,
} from '../descriptor.ts';
import { everywhereKinds } from '../schema/schema-set.ts';
import { describeField, describeType } from './descriptions/index.ts';

/** A JSON schema in OpenAPI. */
export type OpenApiSchema = { [key: string]: unknown };

export interface OpenApiOptions {
  /**
   * The served group versions, for kinds that belong to all of them (DeleteOptions, WatchEvent).
   * Default: none.
   */
  readonly groupVersions?: readonly { readonly group: string; readonly version: string }[];
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** The body of a patch request. It has no fields; documents with PATCH operations refer to it. */
export const PATCH_DEFINITION = `${META}.Patch`;

interface NamedScalar {
  readonly name: string;
  readonly schema: OpenApiSchema;
  /** The schema for OpenAPI v3, where it can be more precise. */
  readonly v3?: OpenApiSchema;
}

const namedScalars: Partial<Record<Scalar, NamedScalar>> = {
  time: { name: `${META}.Time`, schema: { type: 'string', format: 'date-time' } },
  microTime: { name: `${META}.MicroTime`, schema: { type: 'string', format: 'date-time' } },
  duration: { name: `${META}.Duration`, schema: { type: 'string' } },
  fieldsV1: { name: `${META}.FieldsV1`, schema: { type: 'object' } },
  quantity: {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    schema: { type: 'string' },
    v3: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  },
  intOrString: {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    schema: { type: 'string', format: 'int-or-string' },
    v3: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
  },
  rawExtension: {
    name: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
    schema: { type: 'object' },
  },
  json: { name: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON', schema: {} },
};

const plainScalars: Partial<Record<Scalar, OpenApiSchema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  uint8: { type: 'integer', format: 'byte' },
  uint32: { type: 'integer', format: 'int64' },
  uint64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
};

const zeros: Partial<Record<Scalar, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  uint8: 0,
  uint32: 0,
  uint64: 0,
  double: 0,
};

/**
 * The definitions of one OpenAPI document, collected from its kinds: `definitions` of version 2,
 * `components.schemas` of version 3. Each definition is created once, however many others refer to
 * it.
 */
export class OpenApiDefinitions {
  /** The version of OpenAPI. */
  readonly version: 2 | 3;
  readonly #options: OpenApiOptions;
  readonly #schemas = new Map<string, OpenApiSchema>();

  constructor(version: 2 | 3, options: OpenApiOptions = {}) {
    this.version = version;
    this.#options = options;
  }

  /**
   * Adds the definition that `make` returns, unless one of this name exists. A definition may refer
   * to itself.
   */
  add(name: string, make: () => OpenApiSchema): void {
    if (this.#schemas.has(name)) return;
    // Reserves the name, so that circular references end.
    this.#schemas.set(name, {});
    this.#schemas.set(name, make());
  }

  /** Adds PATCH_DEFINITION. */
  addPatch(): void {
    this.add(PATCH_DEFINITION, () =>
      withDescription({ type: 'object' }, describeType('meta/v1.Patch')),
    );
  }

  /** Adds the definition of a message, and all definitions that it refers to. Returns its name. */
  addMessage(message: MessageDescriptor): string {
    this.add(message.name, () => this.#message(message));
    return message.name;
  }

  /** Returns a reference to a definition of this document. */
  reference(name: string): OpenApiSchema {
    return { $ref: `#/${this.version === 2 ? 'definitions' : 'components/schemas'}/${name}` };
  }

  /** Returns all definitions by name, sorted. */
  schemas(): Record<string, OpenApiSchema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #message(message: MessageDescriptor): OpenApiSchema {
    const schema: OpenApiSchema = withDescription(
      {},
      message.description ?? describeType(message.key),
    );
    const properties = [...message.fields]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((field) => [field.name, this.#field(message, field)]);
    if (properties.length > 0) schema['properties'] = Object.fromEntries(properties);
    const required = message.fields.filter((field) => field.required).map((field) => field.name);
    if (required.length > 0) schema['required'] = required;
    schema['type'] = 'object';
    const kinds = this.#kinds(message);
    if (kinds.length > 0) schema['x-kubernetes-group-version-kind'] = kinds;
    if (message.structType === 'atomic') schema['x-kubernetes-map-type'] = 'atomic';
    if (message.union !== undefined)
      schema['x-kubernetes-unions'] = [unionOf(message, message.union.discriminator)];
    return schema;
  }

  #kinds(message: MessageDescriptor): GroupVersionKind[] {
    const kind = message.shortName;
    if (message.key.startsWith('meta/') && everywhereKinds.has(kind)) {
      return (this.#options.groupVersions ?? []).map(({ group, version }) => ({
        group,
        kind,
        version,
      }));
    }
    return message.gvk === undefined
      ? []
      : [{ group: message.gvk.group, kind, version: message.gvk.version }];
  }

  #field(message: MessageDescriptor, field: FieldDescriptor): OpenApiSchema {
    const schema = this.#type(field.type);
    const description = describeField(message.key, field.name, message.gvk !== undefined);
    if (description !== undefined) schema['description'] = description;
    if (this.version === 3) {
      const implied =
        field.pointer || field.omitEmpty ? this.#structDefault(field) : zeroOf(field.type);
      const value = field.default ?? implied;
      if (value !== undefined) schema['default'] = value;
    }
    if (field.listType !== undefined) schema['x-kubernetes-list-type'] = field.listType;
    if (field.listMapKeys !== undefined) schema['x-kubernetes-list-map-keys'] = field.listMapKeys;
    if (field.mapType !== undefined) schema['x-kubernetes-map-type'] = field.mapType;
    if (field.patchMergeKey !== undefined)
      schema['x-kubernetes-patch-merge-key'] = field.patchMergeKey;
    if (field.patchStrategy !== undefined)
      schema['x-kubernetes-patch-strategy'] = field.patchStrategy.join(',');
    return this.#wrapReference(schema);
  }

  #structDefault(field: FieldDescriptor): unknown {
    return !field.pointer && field.type.kind === 'message' ? {} : undefined;
  }

  #type(type: TypeRef): OpenApiSchema {
    switch (type.kind) {
      case 'message':
        return this.reference(this.addMessage(type.message));
      case 'either':
        this.add(type.name, () =>
          withDescription({}, describeType(`apiextensions/v1.${shortName(type.name)}`)),
        );
        this.addMessage(type.message);
        return this.reference(type.name);
      case 'list':
        return { type: 'array', items: this.#element(type.items) };
      case 'map':
        return { type: 'object', additionalProperties: this.#element(type.values) };
      case 'scalar':
        return this.#scalar(type);
    }
  }

  /** Returns the schema of a list's items or a map's values. */
  #element(type: TypeRef): OpenApiSchema {
    const schema = this.#type(type);
    const zero = this.version === 3 ? zeroOf(type) : undefined;
    if (zero !== undefined) schema['default'] = zero;
    return this.#wrapReference(schema);
  }

  #scalar(type: TypeRef & { kind: 'scalar' }): OpenApiSchema {
    const named = namedScalars[type.scalar];
    if (named === undefined) {
      const schema = { ...plainScalars[type.scalar] };
      if (type.closed === true && type.values !== undefined)
        schema['enum'] = [...type.values].sort();
      return schema;
    }
    const schema = this.version === 3 ? (named.v3 ?? named.schema) : named.schema;
    this.add(named.name, () => withDescription({ ...schema }, describeType(shortName(named.name))));
    return this.reference(named.name);
  }

  /** Wraps a reference: in OpenAPI v3 it must have no siblings. */
  #wrapReference(schema: OpenApiSchema): OpenApiSchema {
    if (this.version === 2 || schema['$ref'] === undefined || Object.keys(schema).length === 1)
      return schema;
    const { $ref, ...rest } = schema;
    return { allOf: [{ $ref }], ...rest };
  }
}

/**
 * Returns the zero value of a type, which OpenAPI declares as default; undefined for types without
 * one.
 */
function zeroOf(type: TypeRef): unknown {
  if (type.kind === 'message') return {};
  return type.kind === 'scalar' ? zeros[type.scalar] : undefined;
}

function withDescription(schema: OpenApiSchema, description: string | undefined): OpenApiSchema {
  return description === undefined ? schema : { description, ...schema };
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Returns the fields that exclude each other, by their names in Go. */
function unionOf(message: MessageDescriptor, discriminator: string | undefined): OpenApiSchema {
  const members = message.fields.map(({ name }) => name).filter((name) => name !== discriminator);
  const goNames = members
    .toSorted()
    .map((name) => [name, `${name.charAt(0).toUpperCase()}${name.slice(1)}`]);
  return {
    ...(discriminator !== undefined && { discriminator }),
    'fields-to-discriminateBy': Object.fromEntries(goNames),
  };
}
