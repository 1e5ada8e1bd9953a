// The rules for metadata, which are the same for every kind: the fields that the server sets, and
// immutable fields.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Random } from '#machinery/random.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { formatTime } from '#machinery/text/time.ts';

/**
 * Returns the object with the namespace of the request. Throws BadRequest if the object has another
 * one. `requested` is '' for cluster-scoped resources, whose objects must not have a namespace: it
 * is removed.
 */
export function inNamespace<T extends KubeObject>(object: T, requested: string): T {
  const { namespace } = object.metadata;
  if (requested === '') {
    if (namespace === undefined || namespace === '') return object;
    const { namespace: _namespace, ...metadata } = object.metadata;
    return { ...object, metadata };
  }
  if (namespace === requested) return object;
  if (namespace !== undefined && namespace !== '') throw apierrors.badRequest(NAMESPACE_MISMATCH);
  return { ...object, metadata: { ...object.metadata, namespace: requested } };
}

const NAMESPACE_MISMATCH =
  'the namespace of the provided object does not match the namespace sent on the request';

/** Returns a new object with the server's metadata. Deletion marks of the client are removed. */
export function fillForCreate<T extends KubeObject>(
  object: T,
  now: number,
  random: Random,
  generation: number | undefined,
): T {
  const metadata: Record<string, unknown> = {};
  const sentMetadata = object.metadata as object as Readonly<Record<string, unknown>>;
  for (const key in sentMetadata) if (!NOT_FROM_CLIENTS.has(key)) metadata[key] = sentMetadata[key];
  metadata['uid'] = random.uuid();
  metadata['creationTimestamp'] = formatTime(now);
  if (generation !== undefined) metadata['generation'] = generation;
  // The object is copied first and then changed, which is several times as fast as an object
  // literal with a spread and further members.
  const copy: { metadata: unknown } = { ...object };
  copy.metadata = metadata;
  return copy as T;
}

const NOT_FROM_CLIENTS: ReadonlySet<string> = new Set([
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'generation',
  'resourceVersion',
]);

/**
 * Returns the update with the server's fields of `old`. Where the client has sent another value,
 * that value stays, for validation to report.
 */
export function keepForUpdate<T extends KubeObject>(object: T, old: T): T {
  const before = old.metadata;
  const { selfLink: _selfLink, generation: _generation, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      resourceVersion: before.resourceVersion,
      uid: metadata.uid === undefined || metadata.uid === '' ? before.uid : metadata.uid,
      // Another value is not an error: it is ignored.
      creationTimestamp: before.creationTimestamp,
      ...(metadata.deletionTimestamp === undefined &&
        before.deletionTimestamp !== undefined && { deletionTimestamp: before.deletionTimestamp }),
      ...(metadata.deletionGracePeriodSeconds === undefined &&
        before.deletionGracePeriodSeconds !== undefined && {
          deletionGracePeriodSeconds: before.deletionGracePeriodSeconds,
        }),
      ...(before.generation !== undefined && { generation: before.generation }),
    },
  };
}

/**
 * Reports whether the desired state has changed: anything except metadata and status, compared
 * semantically.
 */
export function desiredStateChanged<T extends KubeObject>(object: T, old: T): boolean {
  const { metadata: _m1, status: _s1, ...desired } = object as T & { readonly status?: unknown };
  const { metadata: _m2, status: _s2, ...desiredBefore } = old as T & { readonly status?: unknown };
  return !semanticEqual(desired, desiredBefore);
}
