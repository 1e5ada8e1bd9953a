// Encodes normalized objects.

import { stringifyJson } from '#machinery/text/json-integers.ts';

/** Returns the object's JSON in UTF-8. The object must be normalized (see decode.ts). */
export function encodeObject(object: unknown): Uint8Array {
  return Buffer.from(stringifyJson(object));
}
