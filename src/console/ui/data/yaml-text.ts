// Objects as YAML for the editor, and back.

import { parseDocument, stringify } from 'yaml';
import type { KubeObject } from './live-object.ts';

/** Returns the object as the editor shows it: without the owners of fields, which have their own tab. */
export function toYaml(object: KubeObject): string {
  const { managedFields: _omitted, ...metadata } = object.metadata;
  // YAML 1.1, as the server reads it: 'yes' has to be quoted.
  return stringify({ ...object, metadata }, { version: '1.1', lineWidth: 0 });
}

export class YamlError extends Error {}

/** Anchors that refer to anchors could make a small text a huge value. */
const MAX_ALIASES = 100;

/** Returns the object in a text. Throws YamlError with a text for the user. */
export function fromYaml(text: string): KubeObject {
  const document = parseDocument(text, { version: '1.1', prettyErrors: true });
  const [error] = document.errors;
  if (error !== undefined) throw new YamlError(error.message);
  const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new YamlError('the text is not an object');
  const { metadata } = value as { metadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null)
    throw new YamlError('the object has no metadata');
  return value as KubeObject;
}
