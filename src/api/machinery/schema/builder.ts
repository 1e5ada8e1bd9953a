// The vocabulary of the schema.ts files: `message`, `kind`, `f`, `inline` and the options of a
// field. The result is plain data. schema/schema-set.ts converts a type to a MessageDescriptor on
// first use; until then the fields of a type are a function, so that loading the whole API costs
// next to nothing.
//
// A field is written `f('replicas?', 1, '*int32')`: JSON name, protobuf number, type.
//   name   a trailing '?': Go's tag has omitempty, and OpenAPI does not require the field.
//   type   '*' pointer · '[]' list · '{}' map with string keys · a scalar (see Scalar) · a type of
//          this group and version · 'core/v1.PodSpec', a type of another one.

import type { ListType } from '../descriptor.ts';

export interface FieldOptions {
  /** OpenAPI requires the field although it is omitted when empty. */
  readonly required?: true;
  /** OpenAPI does not require the field although it is always written. */
  readonly optional?: true;
  /** A required list or map that may be empty; it is written as null then. */
  readonly nullable?: true;
  /** Every persisted object has the field: required in the TypeScript type, and only there. */
  readonly always?: true;
  /** A zero struct or time is left out, too (Go's omitzero). */
  readonly omitZero?: true;
  readonly listType?: ListType;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  readonly default?: unknown;
  /** The protobuf field name, if it differs. */
  readonly protoName?: string;
}

export interface FieldSpec {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly options: FieldOptions | undefined;
}

/**
 * An embedded struct: its fields are among those of the outer struct. In protobuf it is a message
 * of its own (number 0: not carried).
 */
export interface InlineSpec {
  readonly inline: string;
  readonly number: number;
}

export interface ResourceSpec {
  /** The plural in lower case. */
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

/** A function, so that only used types are built. */
export type FieldSpecs = () => readonly (FieldSpec | InlineSpec)[];

/** `discriminator`: the field that names the one that is set. */
export interface UnionSpec {
  readonly discriminator?: string;
}

export interface MessageSpec {
  /** The fields without kind and apiVersion. */
  readonly fields: FieldSpecs;
  /** The type has kind and apiVersion, before all other fields. */
  readonly kind?: true;
  readonly structType?: 'atomic';
  readonly union?: UnionSpec;
  readonly resource?: ResourceSpec;
}

/** A named type: a string type, with its defined values if there are any, or a list or map. */
export interface AliasSpec {
  readonly alias: string;
  readonly values?: readonly string[];
  /** The type has only these values (Kubernetes' enums). Otherwise others may appear. */
  readonly closed?: boolean;
  /** The protobuf type is a message with the list as field 1. */
  readonly protoMessage?: true;
}

/** A type made by `either`. */
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
  /** The prefix of OpenAPI definition names; a dot and the type's name follow. */
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

/** Returns a struct that server-side apply treats as one value. */
export function atomicMessage(fields: FieldSpecs): MessageSpec {
  return { fields, structType: 'atomic' };
}

/**
 * Returns a struct with at most one set field, besides a discriminator that may name that field.
 */
export function union(fields: FieldSpecs, discriminator?: string): MessageSpec {
  return { fields, union: { ...(discriminator !== undefined && { discriminator }) } };
}

/** Returns a type with kind and apiVersion. */
export function kind(fields: FieldSpecs): MessageSpec {
  return { kind: true, fields };
}

/** Returns a kind with a REST path. */
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

/** Returns a string type with only these values. */
export function oneOf(...values: string[]): AliasSpec {
  return { alias: 'string', values, closed: true };
}

/** Returns a string type with these values, and perhaps others. */
export function openEnum(...values: string[]): AliasSpec {
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

/** Returns the options of a list of objects that are identified by these keys. */
export function mapList(...listMapKeys: string[]): FieldOptions {
  return { listType: 'map', listMapKeys };
}

/**
 * Returns the options for a strategic merge: items with the same key are merged; without a key,
 * values are.
 */
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

/**
 * Returns a type whose values are objects of a type, or values of another one; the JSON
 * distinguishes them. The numbers are those of the protobuf message.
 */
export function either(
  message: string,
  messageNumber: number,
  or: string,
  orNumber: number,
): EitherSpec {
  return { either: message, messageNumber, or, orNumber };
}
