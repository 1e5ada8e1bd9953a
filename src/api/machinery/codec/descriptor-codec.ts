// The codec of a kind with a typed descriptor: every built-in kind.

import { typeOfMessage } from '#cel/descriptor-types.ts';
import type { ObjectType } from '#cel/index.ts';
import type { PatchSchema } from '#machinery/patch/strategic-merge-patch.ts';
import type { GroupVersionKind, MessageDescriptor } from '../descriptor.ts';
import { mergeTypeOf, type MergeType } from '../managed-fields/merge-type.ts';
import { patchSchema } from '../patch-schema.ts';
import { conversionError } from './conversion-error.ts';
import { decodeObject, emptyObject, type Decoded } from './decode.ts';
import type { ObjectCodec, OpenApiType, ProtobufCodec, QueryCodec } from './object-codec.ts';
import { decodeProtobuf, encodeProtobuf } from './protobuf/index.ts';
import { DescriptorQueryCodec } from './query-codec.ts';
import { storedForm, wireForm } from './wire-form.ts';

export interface DescriptorCodecConfig {
  readonly kind: GroupVersionKind;
  readonly message: MessageDescriptor;
  /** The list of the kind. Absent: there is none. */
  readonly listMessage?: MessageDescriptor;
  /** Sets the defaults of the kind. Default: there are none. */
  readonly applyDefaults?: (draft: Record<string, unknown>) => void;
}

/** A codec is cheap: compiled code is cached by descriptor, not by codec. */
export class DescriptorCodec implements ObjectCodec {
  readonly kind: GroupVersionKind;
  readonly #config: DescriptorCodecConfig;
  readonly protobuf: ProtobufCodec;
  readonly query: QueryCodec;
  readonly openApi: OpenApiType;
  readonly openApiList?: OpenApiType;

  constructor(config: DescriptorCodecConfig) {
    const { kind, message, listMessage } = config;
    this.kind = kind;
    this.#config = config;
    this.protobuf = {
      decode: (envelope) => decodeProtobuf(message, envelope),
      encode: (object) => encodeProtobuf(message, object),
    };
    this.query = new DescriptorQueryCodec(message);
    this.openApi = openApiTypeOf(message);
    if (listMessage !== undefined) this.openApiList = openApiTypeOf(listMessage);
  }

  decode(json: unknown): Decoded {
    return decodeObject(this.#config.message, json);
  }

  wireForm<T extends object>(object: T): T {
    return wireForm(this.#config.message, object);
  }

  storedForm<T extends object>(object: T): T {
    return storedForm(this.#config.message, object);
  }

  emptyObject(): Record<string, unknown> {
    return emptyObject(this.#config.message);
  }

  applyDefaults(draft: Record<string, unknown>): void {
    this.#config.applyDefaults?.(draft);
  }

  conversionError(patched: unknown): string | undefined {
    return conversionError(this.#config.message, patched);
  }

  get patchSchema(): PatchSchema {
    return patchSchema(this.#config.message);
  }

  get mergeType(): MergeType {
    return mergeTypeOf(this.#config.message);
  }

  get celType(): ObjectType {
    return typeOfMessage(this.#config.message);
  }
}

function openApiTypeOf(message: MessageDescriptor): OpenApiType {
  return { name: message.name, define: (definitions) => void definitions.addMessage(message) };
}
