// JSON to API objects and back. YAML is apart, in yaml.ts: its parser is large, and only the command line needs it at start.

export { type Decoded, decodeObject, emptyObject } from './decode.ts';
export { DecodeError } from './decode-error.ts';
export { findDuplicateFields } from './duplicate-fields.ts';
export { encodeObject } from './encode.ts';
export { decodeFromStorage, encodeForStorage, spliceInto, splicedLength, spliceResourceVersion } from './storage-codec.ts';
