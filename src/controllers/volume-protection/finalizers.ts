// The one finalizer by which an object is kept while it is used.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import { reconciled, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';

export const PVC_PROTECTION = 'kubernetes.io/pvc-protection';
export const PV_PROTECTION = 'kubernetes.io/pv-protection';
export const VAC_PROTECTION = 'kubernetes.io/vac-protection';

/** It is to be deleted, and this finalizer holds it. */
export function isDeletionCandidate({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(finalizer) === true;
}

/** Admission gives every new object the finalizer: these were made without it. */
export function lacksFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.deletionTimestamp === undefined && metadata.finalizers?.includes(finalizer) !== true;
}

export interface ProtectConfig<T extends KubeObject> {
  readonly client: Client;
  readonly type: ResourceType<T>;
  readonly finalizer: string;
  /** Asked only for what is to be deleted; the answer has to be certain. */
  readonly isUsed: (signal: AbortSignal) => Promise<boolean>;
}

/** Adds the finalizer where it is missing, and takes it from what is to be deleted and not used. */
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
    metadata: { ...metadata, ...(type.namespaced && { namespace }), ...(wanted.length > 0 && { finalizers: wanted }) },
  };
  try {
    await (type.namespaced ? resource.namespace(namespace) : resource).update(changed, { signal });
  } catch (err) {
    if (apierrors.isNotFound(err)) return reconciled;
    // The cache will know more soon; else it is tried again with what it knows then.
    if (apierrors.isConflict(err)) return requeue;
    throw err;
  }
  return reconciled;
}
