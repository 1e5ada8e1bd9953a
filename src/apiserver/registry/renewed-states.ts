// The states of objects that were renewed together (../renewals): a watcher whose own process has
// made these renewals, and knows them, may leave out their events.

import type { KeyValue, Revision } from '#storage/interface.ts';

/** Reports whether the state was written by such a renewal, and is the latest one that was. */
export interface RenewedStates {
  has(state: KeyValue): boolean;
}

export class RenewalRecord implements RenewedStates {
  /** By key: the revision of the last renewal, or its bytes while it is being written. */
  readonly #latest = new Map<string, Revision | Uint8Array>();

  /** Must be called before the renewal is written: its event may come before its result. */
  renewing(key: string, value: Uint8Array): void {
    this.#latest.set(key, value);
  }

  /** Called with the result of the write. */
  renewed(key: string, value: Uint8Array, revision: Revision): void {
    if (this.#latest.get(key) === value) this.#latest.set(key, revision);
  }

  forget(key: string): void {
    this.#latest.delete(key);
  }

  has(state: KeyValue): boolean {
    const latest = this.#latest.get(state.key);
    return typeof latest === 'number'
      ? latest === state.modRevision
      : latest !== undefined && latest === state.value;
  }
}
