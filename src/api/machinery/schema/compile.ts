// Turns the data of the schema.ts files into MessageDescriptors, one type at a time and only when its fields are first
// asked for: types refer to each other in circles, and most of a run never needs most of them.

import type { FieldDescriptor, GroupVersionKind, MessageDescriptor, ResourceType, Scalar, TypeRef } from '../descriptor.ts';
import { schemas } from './all.ts';
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

/** Kinds of meta/v1 that belong to every group version: what requests and watches are made of. */
export const everywhereKinds: ReadonlySet<string> = new Set([
  'WatchEvent',
  'ListOptions',
  'GetOptions',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
]);

/** Kinds of meta/v1 that have no group. */
export const ungroupedKinds: ReadonlySet<string> = new Set([
  'Status',
  'APIVersions',
  'APIGroupList',
  'APIGroup',
  'APIResourceList',
]);

const schemasByKey: ReadonlyMap<string, GroupVersionSchema> = new Map(schemas.map((schema) => [schema.key, schema]));
const schemasByApiVersion: ReadonlyMap<string, GroupVersionSchema> = new Map(
  schemas.map((schema) => [schema.group === '' ? schema.version : `${schema.group}/${schema.version}`, schema]),
);
const compiled = new Map<string, LazyMessage>();

/** The descriptor of a type by its key, such as 'core/v1.Pod'. A key that no schema has is a programmer error. */
export function messageDescriptor(key: string): MessageDescriptor {
  const found = compiled.get(key);
  if (found !== undefined) return found;
  const { schema, name, spec } = lookup(key);
  if (!('fields' in spec)) throw new Error(`${key} is not a message`);
  const descriptor = new LazyMessage(schema, name, spec);
  compiled.set(key, descriptor);
  return descriptor;
}

/**
 * The descriptor of a kind as objects name it ('apps/v1', 'Deployment'), undefined if no schema has it. What is in no group
 * (Status), or in all of them (DeleteOptions), is found in each.
 */
export function messageOfKind(apiVersion: string, kind: string): MessageDescriptor | undefined {
  // Discovery of the core group is older than versions of what it consists of, and names none.
  if (apiVersion === '') return ungroupedKinds.has(kind) ? messageDescriptor(`meta/v1.${kind}`) : undefined;
  // Metadata has the same fields in both versions.
  const schema = schemasByApiVersion.get(apiVersion === 'meta.k8s.io/v1beta1' ? 'meta.k8s.io/v1' : apiVersion);
  if (schema === undefined) return undefined;
  const spec = Object.hasOwn(schema.types, kind) ? schema.types[kind] : undefined;
  if (spec !== undefined) return 'fields' in spec && spec.kind ? messageDescriptor(`${schema.key}.${kind}`) : undefined;
  const everywhere = everywhereKinds.has(kind) || (schema.key === 'core/v1' && ungroupedKinds.has(kind));
  return everywhere ? messageDescriptor(`meta/v1.${kind}`) : undefined;
}

/** The messages of one group and version, in the order of its schema. */
export function messagesOf(schema: GroupVersionSchema): MessageDescriptor[] {
  return Object.entries(schema.types)
    .filter(([, spec]) => 'fields' in spec)
    .map(([name]) => messageDescriptor(`${schema.key}.${name}`));
}

/** The type of a field as the schema writes it, without the pointer mark: 'string', '[]Container', '{}meta/v1.Time'. */
export function typeRef(schema: GroupVersionSchema, type: string): TypeRef {
  if (type.startsWith('*')) return typeRef(schema, type.slice(1));
  if (type.startsWith('[]')) return { kind: 'list', items: typeRef(schema, type.slice(2)) };
  if (type.startsWith('{}')) return { kind: 'map', values: typeRef(schema, type.slice(2)) };
  if (scalars.has(type)) return { kind: 'scalar', scalar: type as Scalar };
  const key = type.includes('.') ? type : `${schema.key}.${type}`;
  const { schema: home, spec } = lookup(key);
  if ('fields' in spec) return { kind: 'message', message: messageDescriptor(key) };
  if ('either' in spec) {
    return {
      kind: 'either',
      name: `${home.openApiPackage}.${key.slice(key.lastIndexOf('.') + 1)}`,
      message: messageDescriptor(`${home.key}.${spec.either}`),
      or: typeRef(home, spec.or),
      messageNumber: spec.messageNumber,
      orNumber: spec.orNumber,
    };
  }
  const target = typeRef(home, spec.alias);
  const goName = `${home.version}.${key.slice(key.lastIndexOf('.') + 1)}`;
  if (target.kind === 'list') return { ...target, goName, ...(spec.protoMessage ? { protoMessage: true } : {}) };
  if (target.kind === 'map') return { ...target, goName };
  if (target.kind === 'scalar' && spec.values !== undefined) {
    return { ...target, goName, values: spec.values, closed: spec.closed === true };
  }
  return target;
}

function lookup(key: string): { schema: GroupVersionSchema; name: string; spec: TypeSpec } {
  const dot = key.lastIndexOf('.');
  const name = key.slice(dot + 1);
  const schema = schemasByKey.get(key.slice(0, dot));
  const spec = schema?.types[name];
  if (schema === undefined || spec === undefined) throw new Error(`no schema has the type ${key}`);
  return { schema, name, spec };
}

class LazyMessage implements MessageDescriptor {
  readonly name: string;
  readonly shortName: string;
  readonly key: string;
  readonly structType?: 'atomic';
  readonly union?: { readonly discriminator?: string };
  readonly gvk?: GroupVersionKind;
  readonly #schema: GroupVersionSchema;
  readonly #spec: MessageSpec;
  #fields: readonly FieldDescriptor[] | undefined;
  #byName: ReadonlyMap<string, FieldDescriptor> | undefined;

  constructor(schema: GroupVersionSchema, name: string, spec: MessageSpec) {
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
    this.#schema = schema;
    this.#spec = spec;
  }

  get fields(): readonly FieldDescriptor[] {
    this.#fields ??= compileFields(this.#schema, this.#spec, undefined);
    return this.#fields;
  }

  get byName(): ReadonlyMap<string, FieldDescriptor> {
    this.#byName ??= new Map(this.fields.map((field) => [field.name, field]));
    return this.#byName;
  }
}

function compileFields(schema: GroupVersionSchema, spec: MessageSpec, within: readonly number[] | undefined): FieldDescriptor[] {
  const fields: FieldDescriptor[] = [];
  if (spec.kind) fields.push(...typeMetaFields());
  for (const item of spec.fields()) {
    if ('inline' in item) {
      const inner = lookup(item.inline.includes('.') ? item.inline : `${schema.key}.${item.inline}`);
      if (!('fields' in inner.spec)) throw new Error(`${item.inline} cannot be embedded`);
      // TypeMeta is not in an object's own protobuf message (number 0): the envelope carries it.
      const innerFields = compileFields(
        inner.schema,
        inner.spec,
        item.number === 0 ? undefined : [...(within ?? []), item.number],
      );
      fields.push(...(item.number === 0 ? innerFields.map((field) => ({ ...field, number: 0 })) : innerFields));
    } else {
      fields.push(compileField(schema, item, within));
    }
  }
  return fields;
}

/** Kind and apiVersion. They are not in an object's protobuf message (number 0): the envelope around it carries them. */
function typeMetaFields(): FieldDescriptor[] {
  return messageDescriptor('meta/v1.TypeMeta').fields.map((field) => ({ ...field, number: 0 }));
}

function compileField(schema: GroupVersionSchema, spec: FieldSpec, within: readonly number[] | undefined): FieldDescriptor {
  const { always: _, omitZero, required, optional, ...options } = spec.options ?? {};
  const optionalName = spec.name.endsWith('?');
  const pointer = spec.type.startsWith('*');
  const type = typeRef(schema, spec.type);
  const struct =
    !pointer && (type.kind === 'message' || type.kind === 'either' || (type.kind === 'scalar' && structScalars.has(type.scalar)));
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

/** Every resource of every schema that has a REST path of its own. */
export function allResources(): ResourceType[] {
  return schemas.flatMap((schema) =>
    Object.entries(schema.types).flatMap(([name, spec]) =>
      'fields' in spec && spec.resource !== undefined ? [resourceType(schema, name)] : [],
    ),
  );
}
