// The end of a reconcile whose writes name the version that was read.

import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';

/**
 * Returns the result of a reconcile. After a conflict the key is reconciled again with what the
 * cache has by then. An object that is gone meanwhile needs nothing more. Rejects with every other
 * error.
 */
export async function retriedOnConflict(work: Promise<void>): Promise<ReconcileResult> {
  try {
    await work;
  } catch (error) {
    if (apierrors.isConflict(error)) return requeue;
    if (!apierrors.isNotFound(error)) throw error;
  }
  return reconciled;
}
