// A finalizer that keeps an object as long as it is in use.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { only, type Predicate } from '../builder.ts';

export const PVC_PROTECTION = 'kubernetes.io/pvc-protection';
export const PV_PROTECTION = 'kubernetes.io/pv-protection';
export const VAC_PROTECTION = 'kubernetes.io/vac-protection';

/** Reports whether the object is being deleted and has this finalizer. */
function isDeletionCandidate({ metadata }: KubeObject, finalizer: string): boolean {
  return (
    metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true
  );
}

/**
 * Reports whether the object was created without the finalizer, which admission adds to every new
 * object.
 */
function lacksFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return (
    metadata.deletionTimestamp === undefined && metadata.finalizers?.includes(finalizer) !== true
  );
}

/** Returns the predicate for objects that lack the finalizer, or are being deleted and have it. */
export function concernsProtection(finalizer: string): Predicate<KubeObject> {
  return {
    ...only(
      (object) => lacksFinalizer(object, finalizer) || isDeletionCandidate(object, finalizer),
    ),
    delete: false,
  };
}

export interface ProtectConfig<T extends KubeObject> {
  readonly client: Client;
  readonly type: ResourceType<T>;
  readonly finalizer: string;
  /**
   * Reports whether the object is in use. Called only for objects that are being deleted; the
   * result must be certain.
   */
  readonly isUsed: (signal: AbortSignal) => Promise<boolean>;
}

/**
 * Adds the finalizer where it is missing, and removes it from an unused object that is being
 * deleted.
 */
export async function protect<T extends KubeObject>(
  config: ProtectConfig<T>,
  object: Immutable<T>,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { client, type, finalizer, isUsed } = config;
  const { namespace = '', finalizers = [], ...metadata } = { ...object.metadata };
  let wanted: readonly string[];
  if (isDeletionCandidate(object, finalizer)) {
    if (await isUsed(signal)) return reconciled;
    wanted = finalizers.filter((each) => each !== finalizer);
  } else if (lacksFinalizer(object, finalizer)) wanted = [...finalizers, finalizer];
  else return reconciled;
  const resource = client.resource(type);
  const changed = {
    ...object,
    metadata: {
      ...metadata,
      ...(type.namespaced && { namespace }),
      ...(wanted.length > 0 && { finalizers: wanted }),
    },
  };
  try {
    await (type.namespaced ? resource.namespace(namespace) : resource).update(changed, { signal });
  } catch (error) {
    if (apierrors.isNotFound(error)) return reconciled;
    // The cache is stale: the retry sees a newer object.
    if (apierrors.isConflict(error)) return requeue;
    throw error;
  }
  return reconciled;
}
