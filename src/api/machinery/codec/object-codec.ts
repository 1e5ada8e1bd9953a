// How the objects of one kind are read, written, defaulted, merged and described. There are two implementations: one for kinds that
// have a typed descriptor, one for kinds that have a structural schema (custom resources). Code that handles objects of any kind
// asks the codec of the kind; it does not look for a descriptor.
//
// Two things are independent of the kind and therefore not here: keys that a JSON or YAML text gives twice, which the reader of the
// text reports (findDuplicateFields), and the stored form (storage-codec.ts).

import type { ObjectType } from '#cel/index.ts';
import type { PatchSchema } from '#machinery/patch/strategic-merge-patch.ts';
import type { GroupVersionKind } from '../descriptor.ts';
import type { MergeType } from '../managed-fields/merge-type.ts';
import type { OpenApiDefinitions } from '../openapi/index.ts';
import type { Decoded } from './decode.ts';
import type { Envelope } from './protobuf/index.ts';

/**
 * The codec of one kind in one version. Codecs have no state that a caller could see: one may be shared by all threads of control.
 * What a codec compiles from its schema, it compiles on first use.
 */
export interface ObjectCodec {
  readonly kind: GroupVersionKind;

  /** Integers beyond 2^53 are bigints in the objects. Default: the kind has no such integers, and a body that has one is refused. */
  readonly keepsBigints?: boolean;

  /**
   * Decodes JSON (as JSON.parse returns it, or an object in memory) into a fresh object of the kind, without its defaults. Unknown
   * fields are dropped, unless the kind preserves them, and reported either way the kind's schema demands. The input is not changed.
   * Throws DecodeError at the first value of a wrong type.
   */
  decode(json: unknown): Decoded;

  /**
   * Returns the object as its JSON shows it to policies and to the owners of fields. Until admission is over, an object in memory tells an
   * empty list or map from a missing one. The object is not changed; where both forms are the same it is returned itself.
   */
  wireForm<T extends object>(object: T): T;

  /** Returns the object as it is stored and answered once admission is over; see `wireForm`. */
  storedForm<T extends object>(object: T): T;

  /** Returns an object with no more in it than what the kind always writes: the state before the first field is applied. */
  emptyObject(): Record<string, unknown>;

  /** Fills in the defaults of the kind, at every depth. The draft must be fresh from `decode`; it is changed. */
  applyDefaults(draft: Record<string, unknown>): void;

  /**
   * Whether upstream's server has no type for the objects, but keeps them as maps: custom resources. Some of its errors, and lists, differ
   * then. Default: false.
   */
  readonly isUntyped?: boolean;

  /** Upstream's messages for a body of another kind or version. Default: texts that name both. */
  readonly otherKindMessage?: string;

  /** The form of the kind in protobuf. Absent: it has none (see negotiation.ts and body.ts of the API server's endpoints). */
  readonly protobuf?: ProtobufCodec;

  /** The rules of strategic merge patches. Absent: the kind takes no such patches (415). */
  readonly patchSchema?: PatchSchema;

  /**
   * Returns the error for the result of a strategic merge patch that `decode` rejects, in the words of upstream's converter.
   * Undefined: the words are those of `decode`. Present if `patchSchema` is.
   */
  conversionError?(patched: unknown): string | undefined;

  /** The rules of server-side apply: which lists and maps are granular, and the keys of list items. */
  readonly mergeType: MergeType;

  /** The type of the objects in CEL expressions. */
  readonly celType: ObjectType;

  /** The kind as OpenAPI describes it. */
  readonly openApi: OpenApiType;

  /** The list of the kind as OpenAPI describes it. Absent: the kind has no lists. */
  readonly openApiList?: OpenApiType;

  /** The kind as parameters of a query (PodExecOptions). Absent: requests never spell it that way. */
  readonly query?: QueryCodec;
}

/**
 * The protobuf form of a kind. Lists of the kind need no codec of their own: their envelope and their metadata are the same for all
 * kinds (listFrame).
 */
export interface ProtobufCodec {
  /** Decodes the message of the envelope; the object has the envelope's apiVersion and kind. Throws ProtobufError or DecodeError. */
  decode(envelope: Envelope): Record<string, unknown>;

  /** Encodes an object, which is not changed, in an envelope with its own apiVersion and kind. */
  encode(object: object): Buffer;
}

/** A type that OpenAPI documents refer to by name. */
export interface OpenApiType {
  /** The name of its definition, such as io.k8s.api.core.v1.Pod. */
  readonly name: string;

  /** Adds the definition, and all definitions that it refers to, to those of a document. */
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
   * Decodes an object from a query. `valuesOf` returns the values of a parameter; other parameters are not asked for. Values that are
   * no numbers where numbers are due count as 0. The object has no apiVersion and kind.
   */
  decode(valuesOf: (parameter: string) => readonly string[]): Record<string, unknown>;
}
