// Attempts to change the volume of a claim, as its spec wants it: one is repeated with back-off when
// it fails, and after a longer time when the driver calls it impossible. A claim that wants something
// else is tried at once.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  reconciled,
  type ReconcileResult,
  requeue,
  requeueAfter,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';

/** An attempt that the driver calls impossible is repeated after this time. */
const INFEASIBLE_RETRY_MS = 300_000;

export interface Attempt {
  /** The text for what the claim wants: attempts for the same text are for the same change. */
  readonly wanted: string;
  /** Changes the volume. */
  readonly run: () => Promise<void>;
  /** Records the failure of an attempt. */
  readonly onFailed: (message: string) => void;
  /** Reports whether another attempt would fail with this error, too. */
  readonly isInfeasible: (error: unknown) => boolean;
}

export class ClaimAttempts {
  readonly #clock: Clock;
  /** By the claim's UID: the monotonic time of the next attempt, and what the last one was for. */
  readonly #infeasible = new Map<string, { readonly at: number; readonly wanted: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes an attempt if one is due. Rejects if it is to be repeated with back-off. */
  async make(
    { metadata: { uid } }: Immutable<PersistentVolumeClaim>,
    { wanted, run, onFailed, isInfeasible }: Attempt,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const last = this.#infeasible.get(uid);
    const waitMs = (last?.at ?? 0) - this.#clock.monotonic();
    if (waitMs > 0 && last?.wanted === wanted) return requeueAfter(waitMs);
    this.#infeasible.delete(uid);
    try {
      await run();
    } catch (error) {
      if (signal.aborted) throw error;
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      onFailed(errorMessage(error));
      if (!isInfeasible(error)) throw error;
      this.#infeasible.set(uid, { at: this.#clock.monotonic() + INFEASIBLE_RETRY_MS, wanted });
      return requeueAfter(INFEASIBLE_RETRY_MS);
    }
    return reconciled;
  }

  /** Drops the state of a claim that is gone. */
  forget(uid: string): void {
    this.#infeasible.delete(uid);
  }
}
