// From an object in its normalized form to bytes.

import { stringifyJson } from '#machinery/text/json-integers.ts';

/** The object's JSON in UTF-8. Trusts that the object is normalized (see decode.ts). */
export function encodeObject(object: unknown): Uint8Array {
  return Buffer.from(stringifyJson(object));
}
