// Checks a converted object. A conversion must not change kind, name, namespace and UID; of the
// metadata it may change only labels and annotations. Messages are upstream's.

import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { validateAnnotations } from '#api/machinery/meta/v1/object-meta-validation.ts';
import { ConversionError } from '#apiserver/registry/object-converter.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { validateLabels } from '#machinery/validation/validation.ts';
import { goTypeName } from '../kinds/nested.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A converted object is invalid. The message continues 'conversion webhook for KIND '. */
export class ConvertedObjectError extends Error {
  override name = 'ConvertedObjectError';
}

export interface ConversionResult {
  readonly original: KubeObject;
  /** The object in the webhook's response. */
  readonly converted: unknown;
  readonly apiVersion: string;
  /** Its index in the response. */
  readonly index: number;
}

/**
 * Returns the converted object with the metadata of the original, except for labels and
 * annotations. Throws ConvertedObjectError or ConversionError.
 */
export function checkedConversion({
  original,
  converted,
  apiVersion,
  index,
}: ConversionResult): KubeObject {
  // Upstream's message does not mention the webhook.
  if (!isPlainObject(converted)) {
    throw new ConversionError(
      `json: cannot unmarshal ${jsonType(converted)} into Go value of type map[string]interface {}`,
    );
  }
  if (typeof converted['kind'] !== 'string' || converted['kind'] === '') {
    throw new ConversionError(`Object 'Kind' is missing in '${stringifyJson(converted)}'`);
  }
  const invalid = (why: string): ConvertedObjectError =>
    new ConvertedObjectError(`returned invalid object${why}`);
  const { kind, apiVersion: received = '' } = converted;
  if (received !== apiVersion) {
    throw invalid(
      ` at index ${index}: invalid groupVersion (expected ${apiVersion}, received ${String(received)})`,
    );
  }
  if (kind !== original.kind)
    throw invalid(` at index ${index}: invalid kind (expected ${original.kind}, received ${kind})`);
  const metadata = metadataOf(converted);
  for (const [name, field_] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['UID', 'uid'],
  ] as const) {
    const [before, after] = [textOf(original.metadata?.[field_]), textOf(metadata?.[field_])];
    if (before !== after) throw invalid(`: must have the same ${name}: ${before} != ${after}`);
  }
  try {
    return {
      ...converted,
      metadata: restoredMetadata(original, converted),
    } as unknown as KubeObject;
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new ConvertedObjectError(`returned invalid metadata: ${error.message}`);
  }
}

class MetadataError extends Error {}

function metadataOf({ metadata }: JsonObject): JsonObject | undefined {
  return isPlainObject(metadata) ? metadata : undefined;
}

function restoredMetadata(original: KubeObject, converted: JsonObject): JsonObject {
  if (!Object.hasOwn(converted, 'metadata'))
    throw new MetadataError('missing metadata in converted object');
  const convertedMetadata = metadataOf(converted);
  if (convertedMetadata === undefined) {
    throw new MetadataError(
      `invalid metadata of type ${goTypeName(converted['metadata'])} in converted object`,
    );
  }
  const metadata: Record<string, unknown> = { ...original.metadata };
  for (const name of ['labels', 'annotations'] as const) {
    const value = convertedMetadata[name];
    if (value === undefined || value === null) delete metadata[name];
    else metadata[name] = checkedTexts(name, value, original.metadata?.[name] ?? {});
  }
  return metadata;
}

/** Returns labels or annotations. They are validated only if they differ from the original's. */
function checkedTexts(
  name: 'labels' | 'annotations',
  value: unknown,
  before: JsonObject,
): JsonObject {
  if (!isPlainObject(value)) {
    throw new MetadataError(
      `invalid metadata.${name} of type ${goTypeName(value)} in converted object`,
    );
  }
  const keys = Object.keys(value);
  for (const key of keys) {
    if (typeof value[key] === 'string') continue;
    throw new MetadataError(
      `metadata.${name}[${key}] must be a string, but is ${goTypeName(value[key])} in converted object`,
    );
  }
  const isSame =
    keys.length === Object.keys(before).length && keys.every((key) => before[key] === value[key]);
  const errors = isSame ? [] : errorsOf(name, value as Readonly<Record<string, string>>);
  if (errors.length > 0) throw new MetadataError(field.aggregateMessage(errors));
  return value;
}

function errorsOf(
  name: 'labels' | 'annotations',
  value: Readonly<Record<string, string>>,
): FieldErrorList {
  // Upstream uses this path for annotations, too.
  return name === 'labels'
    ? validateLabels(value, field.path('metadata', 'labels'))
    : validateAnnotations(value, field.path('metadata', 'annotation'));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
