// How the objects of one kind are read, written, defaulted, merged and described. There are two implementations: one for kinds that
// have a typed descriptor, one for kinds that have a structural schema (custom resources).

import type { PatchSchema } from '#machinery/patch/strategic-merge-patch.ts';
import type { GroupVersionKind } from '../descriptor.ts';
import type { MergeType } from '../managed-fields/index.ts';
import type { Decoded } from './decode.ts';
import type { Envelope } from './protobuf/index.ts';

/** The codec of one kind in one version. Codecs have no state that a caller could see: one may be shared by all threads of control. */
export interface ObjectCodec {
  readonly kind: GroupVersionKind;

  /**
   * Decodes JSON (as JSON.parse returns it, or an object in memory) into a fresh object of the kind, without its defaults. Unknown
   * fields are dropped, unless the kind preserves them, and reported either way the kind's schema demands. The input is not changed.
   * Throws DecodeError at the first value of a wrong type.
   */
  decode(json: unknown): Decoded;

  /** Fills in the defaults of the kind, at every depth. The draft must be fresh from `decode`; it is changed. */
  applyDefaults(draft: Record<string, unknown>): void;

  /** The form of the kind in protobuf. Absent: it has none, and requests for it are answered with JSON or 406. */
  readonly protobuf?: ProtobufCodec;

  /** The rules of strategic merge patches. Absent: the kind takes no such patches (415). */
  readonly patchSchema?: PatchSchema;

  /** The rules of server-side apply: which lists and maps are granular, and how items of lists are told apart. */
  readonly mergeType: MergeType;
}

export interface ProtobufCodec {
  /** Throws ProtobufError or DecodeError. */
  decode(envelope: Envelope): Record<string, unknown>;
  encode(object: object): Buffer;
}
