// The codec for Scales of custom kinds. Upstream serves them like custom resources: without
// protobuf and strategic merge patches.

import type { Decoded } from '#api/machinery/codec/decode.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';

/** Returns the codec. `typed`: the codec of the typed descriptor. */
export function scaleCodec(typed: ObjectCodec): ObjectCodec {
  return {
    kind: typed.kind,
    openApi: typed.openApi,
    otherKindMessage:
      'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"',
    get mergeType() {
      return typed.mergeType;
    },
    get celType() {
      return typed.celType;
    },
    decode: (json): Decoded => typed.decode(json),
    applyDefaults: (draft) => typed.applyDefaults(draft),
    wireForm: (object) => typed.wireForm(object),
    storedForm: (object) => typed.storedForm(object),
    emptyObject: () => typed.emptyObject(),
  };
}
