// Objects as YAML for the editor, and back.

import { parseDocument, stringify } from 'yaml';
import type { KubeObject } from './live-object.ts';

/** Returns the object as the editor shows it: without the owners of fields, which have their own tab. */
export function toYaml(object: KubeObject): string {
  const { managedFields: _omitted, ...metadata } = object.metadata;
  // YAML 1.1, as the server reads it: 'yes' has to be quoted.
  return stringify({ ...object, metadata }, { version: '1.1', lineWidth: 0 });
}

/**
 * Returns the value with its keys in the order of `model`, as far as that has them: two texts of the
 * same object then differ only where the object does.
 */
export function inOrderOf<T>(value: T, model: unknown): T {
  if (Array.isArray(value)) {
    const models: readonly unknown[] = Array.isArray(model) ? model : [];
    return value.map((item, index) => inOrderOf<unknown>(item, models[index])) as T;
  }
  if (typeof value !== 'object' || value === null) return value;
  const before = (typeof model === 'object' && model !== null ? model : {}) as Record<
    string,
    unknown
  >;
  const own = value as Record<string, unknown>;
  const keys = [
    ...Object.keys(before).filter((key) => Object.hasOwn(own, key)),
    ...Object.keys(own).filter((key) => !Object.hasOwn(before, key)),
  ];
  return Object.fromEntries(keys.map((key) => [key, inOrderOf(own[key], before[key])])) as T;
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
