// The form in which every API type is described. A type's fields are listed here only: TypeScript
// interfaces, the JSON and protobuf codecs, OpenAPI, unknown-field checks, strategic merge and
// server-side apply are derived from it.

/**
 * The form of a value in JSON and in memory. Both are equal: an object in memory is its normalized
 * JSON.
 */
export type Scalar =
  | 'string'
  | 'bool'
  | 'int32'
  /** A JS number. The decoder rejects integers beyond 2^53 and never rounds them. */
  | 'int64'
  | 'uint8'
  | 'uint32'
  | 'uint64'
  | 'double'
  /** Base64 text in JSON and in memory. */
  | 'bytes'
  /** A canonical quantity string. */
  | 'quantity'
  /** RFC 3339 with seconds, UTC ('2026-01-02T03:04:05Z'), or null. */
  | 'time'
  /** RFC 3339 with microseconds. */
  | 'microTime'
  | 'duration'
  /** A number or a string. */
  | 'intOrString'
  /** Any JSON object, kept unchanged (runtime.RawExtension). */
  | 'rawExtension'
  /** Any JSON value, kept unchanged (apiextensions JSON, JSONSchemaPropsOrBool …). */
  | 'json'
  /** The set of managed fields: a JSON object, kept unchanged. */
  | 'fieldsV1';

export type TypeRef =
  | {
      readonly kind: 'scalar';
      readonly scalar: Scalar;
      /** The defined values of a named string type. `closed`: there are no others. */
      readonly values?: readonly string[];
      readonly closed?: boolean;
      /** The name of a named Go type (v1.PodPhase, v1.ResourceList), for messages. */
      readonly goName?: string;
    }
  /** `protoMessage`: in protobuf, a message with the list as field 1. */
  | {
      readonly kind: 'list';
      readonly items: TypeRef;
      readonly protoMessage?: true;
      readonly goName?: string;
    }
  | { readonly kind: 'map'; readonly values: TypeRef; readonly goName?: string }
  | { readonly kind: 'message'; readonly message: MessageDescriptor }
  /**
   * An object of the message, or another value; the JSON distinguishes them (JSONSchemaPropsOrBool
   * and others).
   */
  | {
      readonly kind: 'either';
      /** The name of the OpenAPI v2 definition. */
      readonly name: string;
      readonly message: MessageDescriptor;
      readonly or: TypeRef;
      readonly messageNumber: number;
      readonly orNumber: number;
    };

export type ListType = 'atomic' | 'set' | 'map';

export interface FieldDescriptor {
  readonly name: string;
  readonly type: TypeRef;
  /** The protobuf field number; 0 for fields that protobuf does not carry. */
  readonly number: number;
  /** The protobuf field name, if it differs from `name`. */
  readonly protoName?: string;
  /**
   * For a field of an embedded struct: the protobuf numbers of the enclosing messages, outermost
   * first.
   */
  readonly within?: readonly number[];
  /** A Go pointer: an absent value differs from zero, and an explicit zero is kept. */
  readonly pointer: boolean;
  /**
   * A zero value is left out when encoding (unless `pointer`). Without omitEmpty it is written: "",
   * 0, false, null, {}. This describes the output, not Go's tag: a struct or time that is no
   * pointer is always written.
   */
  readonly omitEmpty: boolean;
  /** The field is in OpenAPI's list of required fields. */
  readonly required: boolean;
  /** A required list or map that may be empty; it is written as null then. */
  readonly nullable?: true;
  readonly listType?: ListType;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  /** The strategies of strategic merge: 'merge', 'replace', 'retainKeys'. */
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  /** The OpenAPI default (a JSON value). */
  readonly default?: unknown;
}

/** A struct. `fields` contains the fields of inlined structs, in encoding order. */
export interface MessageDescriptor {
  /** The name of the OpenAPI v2 definition, such as io.k8s.api.core.v1.PodSpec. */
  readonly name: string;
  /** The Go name, such as PodSpec. */
  readonly shortName: string;
  /** The key, unique among all groups: core/v1.PodSpec. */
  readonly key: string;
  readonly fields: readonly FieldDescriptor[];
  readonly byName: ReadonlyMap<string, FieldDescriptor>;
  readonly structType?: 'atomic';
  /**
   * A union: at most one of its fields is set, besides a discriminator that may name that field.
   */
  readonly union?: { readonly discriminator?: string };
  /** Absent if the type is not a kind. */
  readonly gvk?: GroupVersionKind;
  /** The description for OpenAPI and explain. */
  readonly description?: string;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/**
 * A resource with its names in REST paths and discovery. Generated constants of this type (`pods`,
 * `replicaSets` …) select the typed clients.
 */
export interface ResourceType<T = unknown> {
  readonly group: string;
  readonly version: string;
  /** The plural in lower case: 'replicasets'. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** 'status', 'scale', 'binding' …; absent: unknown. */
  readonly subresources?: readonly string[];
  /** Absent: all of create, delete, deletecollection, get, list, patch, update, watch. */
  readonly verbs?: readonly string[];
  /** Carries T for the type checker only; never set. */
  readonly __type?: T;
}
