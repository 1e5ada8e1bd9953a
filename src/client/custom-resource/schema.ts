// Structural schemas as literals, and the TypeScript type of the values that they describe.

import type { JSONSchemaProps, ValidationRule } from '#api/groups/apiextensions/v1/index.ts';

type Metadata = Pick<JSONSchemaProps, 'title' | 'description' | 'nullable' | 'format'> & {
  readonly default?: unknown;
  readonly 'x-kubernetes-validations'?: readonly Readonly<ValidationRule>[];
};

/** The schema of a value, as in `openAPIV3Schema`. Fields without a type are `unknown`. */
export type Schema =
  | StringSchema
  | NumberSchema
  | BooleanSchema
  | ArraySchema
  | ObjectSchema
  | IntOrStringSchema
  | AnySchema;

export interface StringSchema extends Metadata {
  readonly type: 'string';
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

export interface NumberSchema extends Metadata {
  readonly type: 'integer' | 'number';
  readonly enum?: readonly number[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
}

export interface BooleanSchema extends Metadata {
  readonly type: 'boolean';
}

export interface ArraySchema extends Metadata {
  readonly type: 'array';
  readonly items: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

export interface ObjectSchema extends Metadata {
  readonly type: 'object';
  readonly properties?: { readonly [name: string]: Schema };
  /** The required properties. Default: none. */
  readonly required?: readonly string[];
  /** The schema of the values of a map. */
  readonly additionalProperties?: Schema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-embedded-resource'?: true;
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular';
}

export interface IntOrStringSchema extends Metadata {
  readonly type?: never;
  readonly 'x-kubernetes-int-or-string': true;
}

export interface AnySchema extends Metadata {
  readonly type?: never;
  readonly 'x-kubernetes-preserve-unknown-fields': true;
}

/** The type of the values that a schema describes. */
export type ValueOf<S> = S extends { readonly nullable: true } ? PlainOf<S> | null : PlainOf<S>;

type PlainOf<S> = S extends { readonly type: 'string'; readonly enum: readonly (infer E)[] }
  ? E
  : S extends { readonly type: 'string' }
    ? string
    : S extends { readonly type: 'integer' | 'number' }
      ? number
      : S extends { readonly type: 'boolean' }
        ? boolean
        : S extends { readonly type: 'array'; readonly items: infer I }
          ? ValueOf<I>[]
          : S extends { readonly type: 'object' }
            ? ObjectValueOf<S>
            : S extends { readonly 'x-kubernetes-int-or-string': true }
              ? number | string
              : unknown;

type ObjectValueOf<S> = S extends { readonly properties: infer P }
  ? Flat<
      { -readonly [K in keyof P & RequiredOf<S>]: ValueOf<P[K]> } & {
        -readonly [K in Exclude<keyof P, RequiredOf<S>>]?: ValueOf<P[K]>;
      }
    >
  : S extends { readonly additionalProperties: infer V }
    ? Record<string, ValueOf<V>>
    : Record<string, unknown>;

type RequiredOf<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;

/** Shows a type as one object in editors and errors. */
type Flat<T> = { [K in keyof T]: T[K] };
