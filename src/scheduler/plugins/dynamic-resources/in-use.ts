// The devices in use: by claims of the API server, and by decisions that are not written yet.

import { newQuantity, parseQuantity } from '#machinery/text/quantity.ts';
import { type Consumed, difference, sum } from './capacity.ts';
import { type Allocation, deviceKey } from './objects.ts';

/** Reads the use of devices, by their keys. */
export interface DevicesInUse {
  isTaken(key: string): boolean;
  /** Returns the consumed capacity of a shared device; undefined if it has no shares. */
  sharesOf(key: string): Consumed | undefined;
}

interface Shares {
  count: number;
  consumed: Consumed;
}

/** Tracks the use of devices as claims change. */
export class DeviceTracker implements DevicesInUse {
  /** By the claim's UID. */
  readonly #allocations = new Map<string, Allocation>();
  /** The number of claims that use a whole device: more than one only by mistake. */
  readonly #taken = new Map<string, number>();
  readonly #shared = new Map<string, Shares>();

  /** Sets the current allocation of a claim; undefined: none. */
  set(uid: string, allocation: Allocation | undefined): void {
    const before = this.#allocations.get(uid);
    if (before === allocation) return;
    if (before !== undefined) this.#count(before, -1);
    if (allocation === undefined) {
      this.#allocations.delete(uid);
    } else {
      this.#allocations.set(uid, allocation);
      this.#count(allocation, 1);
    }
  }

  isTaken(key: string): boolean {
    return this.#taken.has(key);
  }

  sharesOf(key: string): Consumed | undefined {
    return this.#shared.get(key)?.consumed;
  }

  #count({ devices }: Allocation, change: 1 | -1): void {
    for (const result of devices.results ?? []) {
      // Admin access uses no devices.
      if (result.adminAccess === true) continue;
      const key = deviceKey(result);
      if (result.shareID === undefined) {
        const count = (this.#taken.get(key) ?? 0) + change;
        if (count === 0) this.#taken.delete(key);
        else this.#taken.set(key, count);
      } else {
        const consumed = new Map(
          Object.entries(result.consumedCapacity ?? {}).map(([name, text]) => [
            name,
            parseQuantity(text),
          ]),
        );
        this.#share(key, consumed, change);
      }
    }
  }

  #share(key: string, consumed: Consumed, change: 1 | -1): void {
    const present = this.#shared.get(key) ?? {
      count: 0,
      consumed: new Map([...consumed.keys()].map((name) => [name, newQuantity(0, 'BinarySI')])),
    };
    const count = present.count + change;
    if (count === 0) this.#shared.delete(key);
    else
      this.#shared.set(key, {
        count,
        consumed:
          change > 0 ? sum(present.consumed, consumed) : difference(present.consumed, consumed),
      });
  }
}
