// The metadata of custom resources and of resources embedded in them: their only typed part. It is
// decoded as ObjectMeta and encoded as a map: sorted, and without empty values.

import { isPlainObject } from '#machinery/deep.ts';
import { metaSchemas } from '../../schema/meta-schemas.ts';
import { DecodeError } from '../decode-error.ts';
import { decodeObject } from '../decode.ts';
import { sortedCopy, sortedKeys } from './sorted.ts';

export interface DecodedMetadata {
  readonly metadata: Record<string, unknown>;
  /** Paths inside of the metadata, such as 'ownerReferences[0].foo'. */
  readonly unknownFields: readonly string[];
}

const objectMeta = metaSchemas.message('meta/v1.ObjectMeta');

/**
 * Decodes metadata. Null is empty metadata. Throws DecodeError at the first value of a wrong type.
 */
export function decodeMetadata(json: unknown): DecodedMetadata {
  const { object, unknownFields } = decodeObject(objectMeta, json ?? {});
  return { metadata: sortedWithoutEmpty(object), unknownFields };
}

/** Decodes metadata, and drops fields of a wrong type. Never throws. */
export function repairMetadata(json: unknown): DecodedMetadata {
  const metadata: Record<string, unknown> = {};
  const unknownFields: string[] = [];
  for (const [name, value] of Object.entries(isPlainObject(json) ? json : {})) {
    try {
      const decoded = decodeMetadata({ [name]: value });
      Object.assign(metadata, decoded.metadata);
      unknownFields.push(...decoded.unknownFields);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return { metadata: sortedWithoutEmpty(metadata), unknownFields };
}

/**
 * Decodes the metadata of an object that was stored: as repairMetadata where it is malformed. A
 * missing generation is 1.
 */
export function decodeStoredMetadata(json: unknown): DecodedMetadata {
  let decoded: DecodedMetadata;
  try {
    decoded = decodeMetadata(json);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    decoded = repairMetadata(json);
  }
  const { metadata, unknownFields } = decoded;
  return metadata['generation'] === undefined
    ? { metadata: sortedWithoutEmpty({ ...metadata, generation: 1 }), unknownFields }
    : decoded;
}

/**
 * Returns the metadata sorted and without empty values. Metadata has no field with a meaningful
 * empty value.
 */
function sortedWithoutEmpty(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of sortedKeys(metadata))
    if (!isEmpty(metadata[name])) kept[name] = sortedCopy(metadata[name]);
  return kept;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isPlainObject(value) && Object.keys(value).length === 0;
}
