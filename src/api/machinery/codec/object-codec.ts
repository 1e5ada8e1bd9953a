// The codec of a kind: decodes, encodes, defaults, merges and describes its objects. There are two
// implementations: one for kinds with a typed descriptor, one for kinds with a structural schema
// (custom resources). Code for objects of any kind uses the codec of the kind, not its descriptor.
//
// Two things do not depend on the kind and are elsewhere: duplicate keys in JSON or YAML text,
// which the parser of the text reports (findDuplicateFields), and the stored form
// (storage-codec.ts).

import type { ObjectType } from '#cel/index.ts';
import type { PatchSchema } from '#machinery/patch/strategic-merge-patch.ts';
import type { GroupVersionKind } from '../descriptor.ts';
import type { MergeType } from '../managed-fields/merge-type.ts';
import type { OpenApiDefinitions } from '../openapi/index.ts';
import type { Decoded } from './decode.ts';
import type { Envelope } from './protobuf/index.ts';

export interface DecodeOptions {
  /**
   * Nulls of custom resources that their schema does not allow are left to validation, as for the
   * result of a server-side apply; otherwise they are dropped.
   */
  readonly keepsNulls?: boolean;
  /**
   * The object was stored, perhaps by another program or for another schema. Fields of a custom
   * resource's metadata with a wrong type are dropped instead of rejected, and a missing generation
   * is 1, as upstream: such an object can be read, corrected and deleted.
   */
  readonly isStored?: boolean;
}

/**
 * The codec of one kind in one version. Codecs have no visible state and may be shared. Code is
 * compiled from the schema on first use.
 */
export interface ObjectCodec {
  readonly kind: GroupVersionKind;

  /**
   * Integers beyond 2^53 are bigints in the objects. Default: the kind has no such integers, and a
   * body with one is rejected.
   */
  readonly keepsBigints?: boolean;

  /**
   * Decodes JSON (the result of JSON.parse, or an in-memory object) into a new object of the kind,
   * without defaults. Unknown fields are dropped unless the kind preserves them, and reported if
   * the schema requires it. The input is not modified. Throws DecodeError at the first value of a
   * wrong type. `keepsNulls`: see DecodeOptions.
   */
  decode(json: unknown, options?: DecodeOptions): Decoded;

  /**
   * Returns the object's JSON form for policies and field managers. Until admission is over, an
   * in-memory object distinguishes an empty list or map from a missing one. The object is not
   * modified; it is returned itself if both forms are equal.
   */
  wireForm<T extends object>(object: T): T;

  /** Returns the form in which the object is stored and sent after admission; see `wireForm`. */
  storedForm<T extends object>(object: T): T;

  /**
   * Returns an object with the always-written fields only: the state before the first field is
   * applied.
   */
  emptyObject(): Record<string, unknown>;

  /**
   * Sets the defaults of the kind, at every depth. Modifies the draft, which must be just decoded.
   */
  applyDefaults(draft: Record<string, unknown>): void;

  /**
   * Upstream's server has no type for the objects and keeps them as maps: custom resources. Some of
   * its errors and lists differ then. Default: false.
   */
  readonly isUntyped?: boolean;

  /** Upstream's message for a body of another kind or version. Default: a text with both. */
  readonly otherKindMessage?: string;

  /**
   * The protobuf form of the kind. Absent: there is none (see negotiation.ts and body.ts of the API
   * server's endpoints).
   */
  readonly protobuf?: ProtobufCodec;

  /** The rules of strategic merge patches. Absent: the kind does not support them (415). */
  readonly patchSchema?: PatchSchema;

  /**
   * Returns the error for a strategic merge patch whose result `decode` rejects, with the message
   * of upstream's converter. Undefined: the message of `decode` is the same. Present if
   * `patchSchema` is.
   */
  conversionError?(patched: unknown): string | undefined;

  /**
   * The rules of server-side apply: which lists and maps are granular, and the keys of list items.
   */
  readonly mergeType: MergeType;

  /** The type of the objects in CEL expressions. */
  readonly celType: ObjectType;

  /** The kind in OpenAPI. */
  readonly openApi: OpenApiType;

  /** The list of the kind in OpenAPI. Absent: the kind has no lists. */
  readonly openApiList?: OpenApiType;

  /** The kind as query parameters (PodExecOptions). Absent: requests never use this form. */
  readonly query?: QueryCodec;
}

/**
 * The protobuf form of a kind. Lists need no codec: their envelope and metadata are the same for
 * all kinds (listFrame).
 */
export interface ProtobufCodec {
  /**
   * Decodes the message of the envelope. The object gets the envelope's apiVersion and kind. Throws
   * ProtobufError or DecodeError.
   */
  decode(envelope: Envelope): Record<string, unknown>;

  /**
   * Encodes an object in an envelope with its own apiVersion and kind. The object is not modified.
   */
  encode(object: object): Buffer;
}

/** A type that OpenAPI documents refer to by name. */
export interface OpenApiType {
  /** The name of its definition, such as io.k8s.api.core.v1.Pod. */
  readonly name: string;

  /** Adds the definition, and all definitions that it refers to, to a document. */
  define(definitions: OpenApiDefinitions): void;
}

export interface QueryParameter {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
  /** Absent: there is no description. */
  readonly description?: string;
}

export interface QueryCodec {
  readonly parameters: readonly QueryParameter[];

  /**
   * Decodes an object from a query. `valuesOf` returns the values of a parameter and is called for
   * known parameters only. Invalid numbers count as 0. The object has no apiVersion and kind.
   */
  decode(valuesOf: (parameter: string) => readonly string[]): Record<string, unknown>;
}
