// The upgrade from client-side to server-side apply. kubectl stores its client-side configuration
// in an annotation. `kubectl apply --server-side` may take over the fields in it without a
// conflict, and the annotation is kept up to date for the way back.

import { isPlainObject } from '#machinery/deep.ts';
import { JsonError, parseJson } from '#machinery/text/json.ts';
import { compare } from './compare.ts';
import { FieldSet } from './field-set.ts';
import type { MergeType } from './merge-type.ts';
import { compareText } from './path-element.ts';
import { toFieldSet } from './to-field-set.ts';
import { TypedValueError, validateTyped } from './validate.ts';

const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The manager whose client-side applies are upgraded. An apply by another name is another manager.
 */
export const UPGRADING_MANAGER = 'kubectl';

/** The maximum size of all annotations of an object together, keys and values. */
const MAX_ANNOTATIONS_BYTES = 256 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** Returns the fields that were applied client-side and have not changed since. */
export function fieldsLastApplied(type: MergeType, apiVersion: string, live: unknown): FieldSet {
  const annotation = annotationsOf(live)[LAST_APPLIED_ANNOTATION];
  if (typeof annotation !== 'string' || annotation === '') return FieldSet.empty;
  let applied: unknown;
  try {
    applied = parseJson(annotation, { bigints: true });
    validateTyped(type, applied);
  } catch (error) {
    // An annotation with an invalid value is ignored.
    if (error instanceof JsonError || error instanceof TypedValueError) return FieldSet.empty;
    throw error;
  }
  if (!isPlainObject(applied) || applied['apiVersion'] !== apiVersion) return FieldSet.empty;
  const { added, modified, removed } = compare(type, applied, live);
  return toFieldSet(type, applied).difference(modified).difference(added).difference(removed);
}

/**
 * Returns the object with `applied` in its annotation, if it has the annotation. If the text is too
 * long, the annotation is removed.
 */
export function withLastApplied(object: Json, applied: Json): Json {
  const annotations = annotationsOf(object);
  const existing = annotations[LAST_APPLIED_ANNOTATION];
  if (typeof existing !== 'string' || existing === '') return object;
  const updated: Record<string, unknown> = {
    ...annotations,
    [LAST_APPLIED_ANNOTATION]: lastAppliedText(applied),
  };
  const bytes = Object.entries(updated).reduce(
    (sum, [key, value]) =>
      sum + Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    0,
  );
  if (bytes > MAX_ANNOTATIONS_BYTES) delete updated[LAST_APPLIED_ANNOTATION];
  return { ...object, metadata: { ...object['metadata']!, annotations: updated } };
}

function lastAppliedText(applied: Json): string {
  const metadata = applied['metadata'];
  if (!isPlainObject(metadata) || !isPlainObject(metadata['annotations']))
    return `${sortedJson(applied)}\n`;
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = metadata['annotations'];
  return `${sortedJson({ ...applied, metadata: { ...metadata, annotations } })}\n`;
}

/** Returns JSON as Go writes maps: keys sorted, <, > and & escaped. */
function sortedJson(value: unknown): string {
  return sorted(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${entries
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, item]) => `${JSON.stringify(key)}:${sorted(item)}`)
    .join(',')}}`;
}

function annotationsOf(object: unknown): Json {
  const metadata = isPlainObject(object) ? object['metadata'] : undefined;
  const annotations = isPlainObject(metadata) ? metadata['annotations'] : undefined;
  return isPlainObject(annotations) ? annotations : {};
}
