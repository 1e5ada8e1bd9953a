// The rules for metadata, the same for every kind: what the server fills in, what nobody may change.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Random } from '#machinery/random.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { formatTime } from '#machinery/text/time.ts';

/**
 * The namespace of the object is that of the request; without one of its own it gets it. Throws BadRequest. `requested` is ''
 * for cluster-scoped resources, whose objects lose one that they should not have.
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

/** What a new object begins with. Marks of deletion are not taken from the client. */
export function fillForCreate<T extends KubeObject>(
  object: T,
  now: number,
  random: Random,
  generation: number | undefined,
): T {
  const metadata: Record<string, unknown> = {};
  const given = object.metadata as object as Readonly<Record<string, unknown>>;
  for (const key in given) if (!NOT_FROM_CLIENTS.has(key)) metadata[key] = given[key];
  metadata['uid'] = random.uuid();
  metadata['creationTimestamp'] = formatTime(now);
  if (generation !== undefined) metadata['generation'] = generation;
  // Copied first, then changed: a literal that names members beside what it spreads is several times as slow to make.
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

/** Fields that the server alone writes are those of `old`, except where the client insists on another value: that is an error for validation to name. */
export function keepForUpdate<T extends KubeObject>(object: T, old: T): T {
  const before = old.metadata;
  const { selfLink: _selfLink, generation: _generation, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      resourceVersion: before.resourceVersion,
      uid: metadata.uid === undefined || metadata.uid === '' ? before.uid : metadata.uid,
      // Another one is not an error: it is ignored.
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

/** Reports whether the desired state has changed: whether anything but metadata and status means something else than before. */
export function desiredStateChanged<T extends KubeObject>(object: T, old: T): boolean {
  const { metadata: _m1, status: _s1, ...desired } = object as T & { readonly status?: unknown };
  const { metadata: _m2, status: _s2, ...desiredBefore } = old as T & { readonly status?: unknown };
  return !semanticEqual(desired, desiredBefore);
}
