// The vocabulary that the schema.ts files are written in: `message`, `kind`, `f`, `inline` and the options of a field.
// What they make is plain data; schema/schema-set.ts turns one type at a time into a MessageDescriptor when it is first needed,
// and the fields of a type are a function until then, so that loading the whole API costs next to nothing.
//
// A field reads `f('replicas?', 1, '*int32')`: JSON name, protobuf number, type.
//   name   a trailing '?' says that Go's tag has omitempty, and that OpenAPI does not require the field.
//   type   '*' pointer · '[]' list · '{}' map with string keys · a scalar (see Scalar) · a type of this group and version ·
//          'core/v1.PodSpec', a type of another one.

import type { ListType } from '../descriptor.ts';

export interface FieldOptions {
  /** OpenAPI requires it although it is omitted when empty. */
  readonly required?: true;
  /** OpenAPI does not require it although it is always written. */
  readonly optional?: true;
  /** A required list or map that may have nothing in it: null then. */
  readonly nullable?: true;
  /** Every persisted object has it: required in the TypeScript type, and only there. */
  readonly always?: true;
  /** A zero struct or time is left out too (Go's omitzero). */
  readonly omitZero?: true;
  readonly listType?: ListType;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  readonly default?: unknown;
  /** Protobuf field name where it differs. */
  readonly protoName?: string;
}

export interface FieldSpec {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly options: FieldOptions | undefined;
}

/** An embedded struct: its fields stand among those of the outer one. In protobuf it is a message of its own (number 0: not carried). */
export interface InlineSpec {
  readonly inline: string;
  readonly number: number;
}

export interface ResourceSpec {
  /** Plural, lower case. */
  readonly resource: string;
  readonly scope: 'Namespaced' | 'Cluster';
  /** Default: the kind in lower case. */
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly string[];
  /** Default: create, delete, deletecollection, get, list, patch, update, watch. */
  readonly verbs?: readonly string[];
}

/** A function, so that only the types that are used are built. */
export type FieldSpecs = () => readonly (FieldSpec | InlineSpec)[];

/** `discriminator`: the field that says which of the others is set. */
export interface UnionSpec {
  readonly discriminator?: string;
}

export interface MessageSpec {
  /** Without kind and apiVersion. */
  readonly fields: FieldSpecs;
  /** It has kind and apiVersion, before all others. */
  readonly kind?: true;
  readonly structType?: 'atomic';
  readonly union?: UnionSpec;
  readonly resource?: ResourceSpec;
}

/** Another name for a type: a string type, with its known values if there are any, or a list or map of something. */
export interface AliasSpec {
  readonly alias: string;
  readonly values?: readonly string[];
  /** The type has only these values (Kubernetes' enums). Otherwise others may appear. */
  readonly closed?: boolean;
  /** In protobuf it is a message with the list as field 1. */
  readonly protoMessage?: true;
}

/** See `either`. */
export interface EitherSpec {
  readonly either: string;
  readonly messageNumber: number;
  readonly or: string;
  readonly orNumber: number;
}

export type TypeSpec = MessageSpec | AliasSpec | EitherSpec;

export interface GroupVersionSchema {
  readonly group: string;
  readonly version: string;
  /** The folder under src/api, and the name by which other schemas refer to it: 'apps/v1'. */
  readonly key: string;
  /** OpenAPI definition names are this, a dot and the type's name. */
  readonly openApiPackage: string;
  readonly types: Readonly<Record<string, TypeSpec>>;
}

export function groupVersion(
  group: string,
  version: string,
  openApiPackage: string,
  types: Readonly<Record<string, TypeSpec>>,
): GroupVersionSchema {
  const label = group === '' ? 'core' : group.split('.')[0];
  return { group, version, key: `${label}/${version}`, openApiPackage, types };
}

export function message(fields: FieldSpecs): MessageSpec {
  return { fields };
}

/** A struct that server-side apply treats as one value. */
export function atomicMessage(fields: FieldSpecs): MessageSpec {
  return { fields, structType: 'atomic' };
}

/** A struct of which at most one field is set, beside one that may say which. */
export function union(fields: FieldSpecs, discriminator?: string): MessageSpec {
  return { fields, union: { ...(discriminator !== undefined && { discriminator }) } };
}

/** A type with kind and apiVersion. */
export function kind(fields: FieldSpecs): MessageSpec {
  return { kind: true, fields };
}

/** A kind with a REST path of its own. */
export function resource(spec: ResourceSpec, fields: FieldSpecs): MessageSpec {
  return { kind: true, fields, resource: spec };
}

export function f(
  name: string,
  number: number,
  type: string,
  ...options: FieldOptions[]
): FieldSpec {
  const merged = options.length < 2 ? options[0] : (Object.assign({}, ...options) as FieldOptions);
  return { name, number, type, options: merged };
}

export function inline(type: string, number = 0): InlineSpec {
  return { inline: type, number };
}

/** Only these values. */
export function oneOf(...values: string[]): AliasSpec {
  return { alias: 'string', values, closed: true };
}

/** These values, and perhaps others. */
export function known(...values: string[]): AliasSpec {
  return { alias: 'string', values, closed: false };
}

export function alias(type: string): AliasSpec {
  return { alias: type };
}

export const atomic: FieldOptions = { listType: 'atomic' };
export const set: FieldOptions = { listType: 'set' };
export const atomicMap: FieldOptions = { mapType: 'atomic' };
export const granularMap: FieldOptions = { mapType: 'granular' };
export const required: FieldOptions = { required: true };
export const optional: FieldOptions = { optional: true };
export const nullable: FieldOptions = { nullable: true };
export const always: FieldOptions = { always: true };
export const omitZero: FieldOptions = { omitZero: true };

/** A list of objects that are identified by these keys. */
export function mapList(...listMapKeys: string[]): FieldOptions {
  return { listType: 'map', listMapKeys };
}

/** Strategic merge: items with the same key are merged; without a key, values are. */
export function merge(patchMergeKey?: string): FieldOptions {
  return patchMergeKey === undefined
    ? { patchStrategy: ['merge'] }
    : { patchStrategy: ['merge'], patchMergeKey };
}

export function strategy(strategies: string, patchMergeKey?: string): FieldOptions {
  const patchStrategy = strategies.split(',');
  return patchMergeKey === undefined ? { patchStrategy } : { patchStrategy, patchMergeKey };
}

export function defaults(value: unknown): FieldOptions {
  return { default: value };
}

export function protoName(name: string): FieldOptions {
  return { protoName: name };
}

/** An object of a type, or a value of another one, distinguished by their JSON. The numbers are those of the protobuf message. */
export function either(
  message: string,
  messageNumber: number,
  or: string,
  orNumber: number,
): EitherSpec {
  return { either: message, messageNumber, or, orNumber };
}
