// JSON and YAML to API objects and back. Protobuf is in protobuf/.

export { conversionError } from './conversion-error.ts';
export { type Decoded, decodeObject, emptyObject } from './decode.ts';
export { DecodeError } from './decode-error.ts';
export { findDuplicateFields } from './duplicate-fields.ts';
export { encodeObject } from './encode.ts';
export {
  decodeFromStorage,
  encodeForStorage,
  hasBytes,
  spliceInto,
  splicedLength,
  spliceResourceVersion,
} from './storage-codec.ts';
export { HEADER_BYTES as STORED_HEADER_BYTES } from './plain-encoding.ts';
export { storedLabels, storedText } from './stored-text.ts';
export { storedForm, wireForm } from './wire-form.ts';
export {
  decodeOutline,
  decodeWithoutStatus,
  withoutManagedFields,
} from './without-managed-fields.ts';
export { parseYaml, parseYamlDocuments, YamlError, type YamlOptions } from './yaml.ts';
