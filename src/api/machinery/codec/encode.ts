// From an object in its normalized form to bytes.

/** The object's JSON in UTF-8. Trusts that the object is normalized (see decode.ts). */
export function encodeObject(object: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(object));
}
