// Events about claims that wait: one for each reason, however often the claim is reconciled.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;

export class ClaimEvents {
  readonly #recorder: EventRecorder;
  /** By UID: the last recorded reason why a claim waits. */
  readonly #recorded = new Map<string, string>();

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Records an event, once as long as the claim waits for the same reason. */
  once({ metadata }: ReadClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#recorded.get(metadata.uid) === message) return;
    this.#recorded.set(metadata.uid, message);
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata },
      type,
      reason,
      message,
    );
  }

  /** Forgets why the claim has waited: it does not wait any more, or is gone. */
  forget({ metadata }: ReadClaim): void {
    this.#recorded.delete(metadata.uid);
  }
}
