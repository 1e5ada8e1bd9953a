// The form in which every API type is described, and the one place where its fields are listed: TypeScript interfaces, the
// JSON codec, OpenAPI, unknown-field checks, strategic merge, server-side apply and (later) protobuf all read it.

/** How a value looks in JSON and in memory (the two are the same: an object in memory is its normalized JSON form). */
export type Scalar =
  | 'string'
  | 'bool'
  | 'int32'
  /** A JS number; integers beyond 2^53 are rejected by the decoder, never rounded. */
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
  /** number | string */
  | 'intOrString'
  /** Any JSON object, kept as it is (runtime.RawExtension). */
  | 'rawExtension'
  /** Any JSON value, kept as it is (apiextensions JSON, JSONSchemaPropsOrBool …). */
  | 'json'
  /** Managed fields' set: a JSON object, kept as it is. */
  | 'fieldsV1';

export type TypeRef =
  | {
      readonly kind: 'scalar';
      readonly scalar: Scalar;
      /** A named string type's known values, and whether there can be no others. */
      readonly values?: readonly string[];
      readonly closed?: boolean;
      /** How Go names a type that has a name of its own (v1.PodPhase, v1.ResourceList), for messages. */
      readonly goName?: string;
    }
  /** `protoMessage`: in protobuf a message that has the list as field 1. */
  | {
      readonly kind: 'list';
      readonly items: TypeRef;
      readonly protoMessage?: true;
      readonly goName?: string;
    }
  | { readonly kind: 'map'; readonly values: TypeRef; readonly goName?: string }
  | { readonly kind: 'message'; readonly message: MessageDescriptor }
  /** An object of the message, or another value, distinguished by its JSON (JSONSchemaPropsOrBool and the like). */
  | {
      readonly kind: 'either';
      /** OpenAPI v2 definition name. */
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
  /** Protobuf field number; 0 for fields that protobuf does not carry. */
  readonly number: number;
  /** Protobuf field name where it differs from `name`. */
  readonly protoName?: string;
  /** For a field of an embedded struct: the protobuf numbers of the messages around it, outermost first. */
  readonly within?: readonly number[];
  /** Go pointer: absent and zero are different things, and a zero that was given is kept. */
  readonly pointer: boolean;
  /**
   * A zero value is left out when encoding (unless `pointer`). Without it the zero value is written: "", 0, false, null, {}.
   * That is what comes out, not what Go's tag says: a struct or time that is no pointer is always written.
   */
  readonly omitEmpty: boolean;
  /** OpenAPI's required list has it. */
  readonly required: boolean;
  /** A required list or map that may have nothing in it: it is written as null then. */
  readonly nullable?: true;
  readonly listType?: ListType;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: 'atomic' | 'granular';
  /** Strategic merge: 'merge', 'replace', 'retainKeys'. */
  readonly patchStrategy?: readonly string[];
  readonly patchMergeKey?: string;
  /** OpenAPI default (JSON value). */
  readonly default?: unknown;
}

/** A struct. `fields` has inlined structs already flattened in, in encoding order. */
export interface MessageDescriptor {
  /** OpenAPI v2 definition name, such as io.k8s.api.core.v1.PodSpec. */
  readonly name: string;
  /** Go-ish short name, such as PodSpec. */
  readonly shortName: string;
  /** Unique among all groups: core/v1.PodSpec. */
  readonly key: string;
  readonly fields: readonly FieldDescriptor[];
  readonly byName: ReadonlyMap<string, FieldDescriptor>;
  readonly structType?: 'atomic';
  /** At most one of its fields is set, beside the discriminator that may say which. */
  readonly union?: { readonly discriminator?: string };
  /** Absent: it is no kind of its own. */
  readonly gvk?: GroupVersionKind;
  /** The description for OpenAPI and explain. */
  readonly description?: string;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A resource as REST paths and discovery name it. Generated constants of this type (`pods`, `replicaSets` …) key the typed clients. */
export interface ResourceType<T = unknown> {
  readonly group: string;
  readonly version: string;
  /** Plural, lower case: 'replicasets'. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** 'status', 'scale', 'binding' …; absent: not known. */
  readonly subresources?: readonly string[];
  /** Absent: all of create, delete, deletecollection, get, list, patch, update, watch. */
  readonly verbs?: readonly string[];
  /** Carries T for the type checker only; never set. */
  readonly __type?: T;
}
