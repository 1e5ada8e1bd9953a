// Converts the data of schema.ts files to MessageDescriptors, one type at a time on first use:
// types refer to each other circularly, and most programs need few of them.

import type {
  FieldDescriptor,
  GroupVersionKind,
  MessageDescriptor,
  ResourceType,
  Scalar,
  TypeRef,
} from '../descriptor.ts';
import { resourceType } from './resource-type.ts';
import type { FieldSpec, GroupVersionSchema, MessageSpec, TypeSpec } from './builder.ts';

const scalars: ReadonlySet<string> = new Set<Scalar>([
  'string',
  'bool',
  'int32',
  'int64',
  'uint8',
  'uint32',
  'uint64',
  'double',
  'bytes',
  'quantity',
  'time',
  'microTime',
  'duration',
  'intOrString',
  'rawExtension',
  'json',
  'fieldsV1',
]);

/** Scalars that are structs in Go, so that omitempty has no effect on them. */
const structScalars: ReadonlySet<Scalar> = new Set<Scalar>([
  'quantity',
  'time',
  'microTime',
  'intOrString',
  'rawExtension',
  'duration',
]);

/** Kinds of meta/v1 that belong to every group version: the parts of requests and watches. */
export const everywhereKinds: ReadonlySet<string> = new Set([
  'WatchEvent',
  'ListOptions',
  'GetOptions',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
]);

/** Kinds of meta/v1 without a group. */
const ungroupedKinds: ReadonlySet<string> = new Set([
  'Status',
  'APIVersions',
  'APIGroupList',
  'APIGroup',
  'APIResourceList',
]);

/** A kind that a schema describes. */
export interface KnownKind {
  readonly gvk: GroupVersionKind;
  readonly message: MessageDescriptor;
  /** Absent: the kind has no path (lists, options, nested reviews). */
  readonly resource?: ResourceType;
  /** The list of the kind. Absent: there is none. */
  readonly listMessage?: MessageDescriptor;
}

/**
 * The schemas of some group versions, which refer only to each other, and the descriptors compiled
 * from them.
 */
export class SchemaSet {
  /** The schemas, in the order in which discovery lists the groups. */
  readonly schemas: readonly GroupVersionSchema[];
  readonly #byKey: ReadonlyMap<string, GroupVersionSchema>;
  readonly #byGroupVersion: ReadonlyMap<string, GroupVersionSchema>;
  readonly #compiled = new Map<string, LazyMessage>();

  constructor(schemas: readonly GroupVersionSchema[]) {
    this.schemas = schemas;
    this.#byKey = new Map(schemas.map((schema) => [schema.key, schema]));
    this.#byGroupVersion = new Map(
      schemas.map((schema) => [`${schema.group}/${schema.version}`, schema]),
    );
  }

  /**
   * Returns the descriptor of a type by its key, such as 'core/v1.Pod'. An unknown key is a
   * programming error.
   */
  message(key: string): MessageDescriptor {
    const compiled = this.#compiled.get(key);
    if (compiled !== undefined) return compiled;
    const { schema, name, spec } = this.find(key);
    if (!('fields' in spec)) throw new Error(`${key} is not a message`);
    const descriptor = new LazyMessage(this, schema, name, spec);
    this.#compiled.set(key, descriptor);
    return descriptor;
  }

  /** Returns the messages of one group and version, in the order of its schema. */
  messagesOf(schema: GroupVersionSchema): MessageDescriptor[] {
    return Object.entries(schema.types)
      .filter(([, spec]) => 'fields' in spec)
      .map(([name]) => this.message(`${schema.key}.${name}`));
  }

  /**
   * Returns a kind; undefined if no schema has it. Kinds of no group (Status) or of all groups
   * (DeleteOptions) belong to each.
   */
  lookup({ group, version, kind }: GroupVersionKind): KnownKind | undefined {
    const schema = this.#byGroupVersion.get(`${group}/${version}`);
    if (schema === undefined) return undefined;
    const gvk = { group, version, kind };
    if (everywhereKinds.has(kind) || (schema.key === 'core/v1' && ungroupedKinds.has(kind))) {
      return { gvk, message: this.message(`meta/v1.${kind}`) };
    }
    const spec = Object.hasOwn(schema.types, kind) ? schema.types[kind] : undefined;
    if (spec === undefined || !('fields' in spec) || !spec.kind) return undefined;
    return {
      gvk,
      message: this.message(`${schema.key}.${kind}`),
      ...(spec.resource !== undefined && { resource: resourceType(schema, kind) }),
      ...(`${kind}List` in schema.types && {
        listMessage: this.message(`${schema.key}.${kind}List`),
      }),
    };
  }

  /** Returns every resource with a REST path, of all group versions. */
  resources(): ResourceType[] {
    return this.schemas.flatMap((schema) =>
      Object.entries(schema.types).flatMap(([name, spec]) =>
        'fields' in spec && spec.resource !== undefined ? [resourceType(schema, name)] : [],
      ),
    );
  }

  /**
   * Returns the type of a field in a schema's notation, without the pointer mark: 'string',
   * '[]Container', '{}meta/v1.Time'.
   */
  typeRef(schema: GroupVersionSchema, type: string): TypeRef {
    if (type.startsWith('*')) return this.typeRef(schema, type.slice(1));
    if (type.startsWith('[]')) return { kind: 'list', items: this.typeRef(schema, type.slice(2)) };
    if (type.startsWith('{}')) return { kind: 'map', values: this.typeRef(schema, type.slice(2)) };
    if (scalars.has(type)) return { kind: 'scalar', scalar: type as Scalar };
    const key = type.includes('.') ? type : `${schema.key}.${type}`;
    const { schema: home, spec } = this.find(key);
    if ('fields' in spec) return { kind: 'message', message: this.message(key) };
    if ('either' in spec) {
      return {
        kind: 'either',
        name: `${home.openApiPackage}.${key.slice(key.lastIndexOf('.') + 1)}`,
        message: this.message(`${home.key}.${spec.either}`),
        or: this.typeRef(home, spec.or),
        messageNumber: spec.messageNumber,
        orNumber: spec.orNumber,
      };
    }
    const target = this.typeRef(home, spec.alias);
    const goName = `${home.version}.${key.slice(key.lastIndexOf('.') + 1)}`;
    if (target.kind === 'list')
      return { ...target, goName, ...(spec.protoMessage ? { protoMessage: true } : {}) };
    if (target.kind === 'map') return { ...target, goName };
    if (target.kind === 'scalar' && spec.values !== undefined) {
      return { ...target, goName, values: spec.values, closed: spec.closed === true };
    }
    return target;
  }

  /** Returns the specification of a type. An unknown key is a programming error. */
  find(key: string): {
    readonly schema: GroupVersionSchema;
    readonly name: string;
    readonly spec: TypeSpec;
  } {
    const dot = key.lastIndexOf('.');
    const name = key.slice(dot + 1);
    const schema = this.#byKey.get(key.slice(0, dot));
    const spec = schema?.types[name];
    if (schema === undefined || spec === undefined)
      throw new Error(`no schema has the type ${key}`);
    return { schema, name, spec };
  }
}

class LazyMessage implements MessageDescriptor {
  readonly name: string;
  readonly shortName: string;
  readonly key: string;
  readonly structType?: 'atomic';
  readonly union?: { readonly discriminator?: string };
  readonly gvk?: GroupVersionKind;
  readonly #set: SchemaSet;
  readonly #schema: GroupVersionSchema;
  readonly #spec: MessageSpec;
  #fields: readonly FieldDescriptor[] | undefined;
  #byName: ReadonlyMap<string, FieldDescriptor> | undefined;

  constructor(set: SchemaSet, schema: GroupVersionSchema, name: string, spec: MessageSpec) {
    this.name = `${schema.openApiPackage}.${name}`;
    this.shortName = name;
    this.key = `${schema.key}.${name}`;
    if (spec.structType !== undefined) this.structType = spec.structType;
    if (spec.union !== undefined) this.union = spec.union;
    if (spec.kind)
      this.gvk = {
        group: schema.key === 'meta/v1' && ungroupedKinds.has(name) ? '' : schema.group,
        version: schema.version,
        kind: name,
      };
    this.#set = set;
    this.#schema = schema;
    this.#spec = spec;
  }

  get fields(): readonly FieldDescriptor[] {
    this.#fields ??= compileFields(this.#set, this.#schema, this.#spec, undefined);
    return this.#fields;
  }

  get byName(): ReadonlyMap<string, FieldDescriptor> {
    this.#byName ??= new Map(this.fields.map((field) => [field.name, field]));
    return this.#byName;
  }
}

function compileFields(
  set: SchemaSet,
  schema: GroupVersionSchema,
  spec: MessageSpec,
  within: readonly number[] | undefined,
): FieldDescriptor[] {
  const fields: FieldDescriptor[] = [];
  if (spec.kind) fields.push(...typeMetaFields(set));
  for (const item of spec.fields()) {
    if ('inline' in item) {
      const inner = set.find(
        item.inline.includes('.') ? item.inline : `${schema.key}.${item.inline}`,
      );
      if (!('fields' in inner.spec)) throw new Error(`${item.inline} cannot be embedded`);
      // TypeMeta is not in an object's own protobuf message (number 0): the envelope carries it.
      const innerFields = compileFields(
        set,
        inner.schema,
        inner.spec,
        item.number === 0 ? undefined : [...(within ?? []), item.number],
      );
      fields.push(
        ...(item.number === 0
          ? innerFields.map((field) => ({ ...field, number: 0 }))
          : innerFields),
      );
    } else {
      fields.push(compileField(set, schema, item, within));
    }
  }
  return fields;
}

/**
 * Returns kind and apiVersion. They are not in an object's protobuf message (number 0): the
 * envelope carries them.
 */
function typeMetaFields(set: SchemaSet): FieldDescriptor[] {
  return set.message('meta/v1.TypeMeta').fields.map((field) => ({ ...field, number: 0 }));
}

function compileField(
  set: SchemaSet,
  schema: GroupVersionSchema,
  spec: FieldSpec,
  within: readonly number[] | undefined,
): FieldDescriptor {
  const { always: _, omitZero, required, optional, ...options } = spec.options ?? {};
  const optionalName = spec.name.endsWith('?');
  const pointer = spec.type.startsWith('*');
  const type = set.typeRef(schema, spec.type);
  const struct =
    !pointer &&
    (type.kind === 'message' ||
      type.kind === 'either' ||
      (type.kind === 'scalar' && structScalars.has(type.scalar)));
  return {
    name: optionalName ? spec.name.slice(0, -1) : spec.name,
    type,
    number: spec.number,
    pointer,
    omitEmpty: optionalName && (!struct || omitZero === true),
    required: required === true || (!optionalName && optional !== true),
    ...(within === undefined ? {} : { within }),
    ...options,
  };
}
