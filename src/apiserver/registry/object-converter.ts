// Conversion between the versions of one kind. A ResourceStore converts only when it reads or
// writes the storage: a read state is converted to the served version, a written object to the
// stored version. All other code (strategies, admission, selectors, watch events) handles one
// version.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { nextTurn } from '#machinery/turn.ts';

/**
 * Converts objects of one kind. Conversion webhooks are asynchronous; conversions in this process
 * need not be.
 */
export interface ObjectConverter {
  /**
   * Returns the objects in the version `apiVersion` ('v1', 'apps/v1'), in the order of `objects`.
   * These are in other versions, not necessarily the same, and must not be modified. All objects of
   * a list, or of events that wait together, are passed in one call. For managed fields, parts of
   * objects are converted, too: everything except kind and apiVersion may be missing.
   *
   * Throws or rejects if one of them cannot be converted; clients get the message (see
   * conversionFailed). It is not guaranteed that converting an object back yields the same object.
   */
  convert(objects: readonly KubeObject[], apiVersion: string): Awaitable<readonly KubeObject[]>;
  /**
   * Does the same for objects as they were stored, which may lack defaults that their schema has
   * got since. Default: `convert`.
   */
  convertStored?(
    objects: readonly KubeObject[],
    apiVersion: string,
  ): Awaitable<readonly KubeObject[]>;
}

/**
 * An object could not be converted. Clients get status 500 with the message and without a reason,
 * as upstream.
 */
export class ConversionError extends apierrors.StatusError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(
      { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500 },
      options,
    );
    this.name = 'ConversionError';
  }
}

/** Returns the error for a webhook that did not convert `object`, with upstream's message. */
export function conversionFailed(
  { apiVersion = '', kind = '' }: KubeObject,
  why: string,
): ConversionError {
  // As Go prints a kind of the core group: '/v1, Kind=Pod'.
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  return new ConversionError(`conversion webhook for ${version}, Kind=${kind} failed: ${why}`);
}

/**
 * Converts objects, and checks the converter's result: it must have one object of the right kind
 * and version for each. Throws or rejects with ConversionError. Undefined `converter`: there is
 * only one version. `areStored`: see ObjectConverter.convertStored.
 */
export function convertObjects(
  converter: ObjectConverter | undefined,
  objects: readonly KubeObject[],
  apiVersion: string,
  areStored = false,
): Awaitable<readonly KubeObject[]> {
  const [first] = objects;
  if (first === undefined) return [];
  const failed = (error: unknown): never => {
    if (error instanceof ConversionError) throw error;
    throw new ConversionError(errorMessage(error), { cause: error });
  };
  const checked = (converted: readonly KubeObject[]): readonly KubeObject[] => {
    const problem = problemOf(objects, converted, apiVersion);
    if (problem !== undefined)
      throw new ConversionError(`conversion of ${first.kind} to ${apiVersion} ${problem}`);
    return converted;
  };
  if (converter === undefined) throw unknownVersion(first);
  try {
    const converted =
      areStored && converter.convertStored !== undefined
        ? converter.convertStored(objects, apiVersion)
        : converter.convert(objects, apiVersion);
    return converted instanceof Promise
      ? converted.then(checked).catch(failed)
      : checked(converted);
  } catch (error) {
    return failed(error);
  }
}

function problemOf(
  objects: readonly KubeObject[],
  converted: readonly KubeObject[],
  apiVersion: string,
): string | undefined {
  if (converted.length !== objects.length)
    return `returned ${converted.length} objects, expected ${objects.length}`;
  for (const [index, object] of converted.entries()) {
    if (object.apiVersion !== apiVersion)
      return `returned an object of ${object.apiVersion} at index ${index}`;
    if (object.kind !== objects[index]?.kind)
      return `returned an object of kind ${object.kind} at index ${index}`;
  }
  return undefined;
}

function unknownVersion({ kind = '', apiVersion = '' }: KubeObject): ConversionError {
  return new ConversionError(
    `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
  );
}

/** Returns the converted object without kind and apiVersion. Must not modify the given object. */
export type Conversion = (object: never) => object;

/** The number of objects that are converted in one turn of the event loop. */
const SLICE = 250;

/** Returns a converter made of functions, by source apiVersion and target apiVersion. */
export function functionConverter(
  conversions: Readonly<Record<string, Readonly<Record<string, Conversion>>>>,
): ObjectConverter {
  const convertOne = (object: KubeObject, apiVersion: string): KubeObject => {
    if (object.apiVersion === apiVersion) return object;
    const conversion = conversions[object.apiVersion ?? '']?.[apiVersion];
    if (conversion === undefined) throw unknownVersion(object);
    return { kind: object.kind, apiVersion, ...conversion(object as never) } as KubeObject;
  };
  const convertSlices = async (
    objects: readonly KubeObject[],
    apiVersion: string,
  ): Promise<readonly KubeObject[]> => {
    const converted: KubeObject[] = [];
    for (const object of objects) {
      if (converted.length % SLICE === SLICE - 1) await nextTurn();
      converted.push(convertOne(object, apiVersion));
    }
    return converted;
  };
  return {
    convert: (objects, apiVersion) =>
      objects.length > SLICE
        ? convertSlices(objects, apiVersion)
        : objects.map((object) => convertOne(object, apiVersion)),
  };
}

/** Converts one object. Throws or rejects with ConversionError. */
export function convertObject(
  converter: ObjectConverter | undefined,
  object: KubeObject,
  apiVersion: string,
): Awaitable<KubeObject> {
  return andThen(convertObjects(converter, [object], apiVersion), ([converted]) => converted!);
}
