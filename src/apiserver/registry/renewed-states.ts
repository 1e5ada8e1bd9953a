// The states of objects that were renewed together (../renewals): a watcher whose own process has
// made these renewals, and knows them, may leave out their events.

import type { KeyValue } from '#storage/interface.ts';

/** Reports whether the state was written by such a renewal, and is the latest one that was. */
export interface RenewedStates {
  has(state: KeyValue): boolean;
}

export class RenewalRecord implements RenewedStates {
  /** By key: the bytes of the last renewal. */
  readonly #latest = new Map<string, Uint8Array>();

  /** Must be called before the renewal is written: its event may come before its result. */
  renewing(key: string, value: Uint8Array): void {
    this.#latest.set(key, value);
  }

  forget(key: string): void {
    this.#latest.delete(key);
  }

  has({ key, value }: KeyValue): boolean {
    return this.#latest.get(key) === value;
  }
}
