// Objects as YAML for the editor, and back.

import { type Document, parseAllDocuments, parseDocument, stringify } from 'yaml';
import type { KubeObject } from '../lists/live-object.ts';

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

const OPTIONS = { version: '1.1', prettyErrors: true } as const;

/** Returns the object in a text. Throws YamlError with a text for the user. */
export function fromYaml(text: string): KubeObject {
  return asObject(valueOf(parseDocument(text, OPTIONS)));
}

/**
 * Returns the objects in a text of several documents. Empty documents are left out, and Lists are
 * their items. Throws YamlError.
 */
export function allFromYaml(text: string): readonly KubeObject[] {
  const documents = parseAllDocuments(text, OPTIONS);
  if (!Array.isArray(documents)) return [];
  return documents
    .map(valueOf)
    .filter((value) => value !== null)
    .flatMap((value) => (isList(value) ? value.items.map(asObject) : [asObject(value)]));
}

const isList = (value: unknown): value is { readonly items: readonly unknown[] } =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  String(value.kind).endsWith('List') &&
  'items' in value &&
  Array.isArray(value.items);

/** Returns the value of a document; null for an empty one. */
function valueOf(document: Document.Parsed): unknown {
  const [error] = document.errors;
  if (error !== undefined) throw new YamlError(error.message);
  return document.toJS({ maxAliasCount: MAX_ALIASES });
}

function asObject(value: unknown): KubeObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new YamlError('the text is not an object');
  const { metadata } = value as { metadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null)
    throw new YamlError('the object has no metadata');
  return value as KubeObject;
}
