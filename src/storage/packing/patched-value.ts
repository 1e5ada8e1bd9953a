// A state that differs from an earlier state of its key in a few bytes at known places, such as the
// times in a Lease that is renewed. It keeps the earlier state and these bytes. The bytes are often
// those of many keys that were written together, and the places those of all renewals of a Lease.

import type { KeyValue, Revision, ValuePatch } from '../interface.ts';
import type { MadeValue } from '../value.ts';
import { type HeldKeyValue, room } from './held-value.ts';

export class PatchedKeyValue implements MadeValue {
  readonly modRevision: Revision;
  readonly base: HeldKeyValue;
  readonly places: readonly number[];
  readonly #texts: readonly Uint8Array[];

  /** `base`: an earlier state of the key, in its present lifetime. */
  constructor(base: HeldKeyValue, { places, texts }: ValuePatch, revision: Revision) {
    this.modRevision = revision;
    this.base = base;
    this.places = places;
    this.#texts = texts;
  }

  get key(): string {
    return this.base.key;
  }

  get createRevision(): Revision {
    return this.base.createRevision;
  }

  get size(): number {
    return this.base.size;
  }

  get value(): Uint8Array {
    const target = room(this.size);
    target.set(this.base.passing());
    return this.#patch(target);
  }

  start(length: number, from = 0): Uint8Array {
    const isAlike = this.places.every((place) => place >= length);
    return isAlike ? this.base.start(length, from) : this.value;
  }

  passing(): Uint8Array {
    return this.#patch(this.base.passingCopy());
  }

  #patch(target: Uint8Array): Uint8Array {
    applyPatch(target, this.places, this.#texts);
    return target;
  }
}

/** Returns the value of the state with the bytes of the patch, in memory of its own. */
export function patchedValue(current: KeyValue, { places, texts }: ValuePatch): Uint8Array {
  const { value } = current;
  const target = Buffer.allocUnsafe(value.length);
  target.set(value);
  applyPatch(target, places, texts);
  return target;
}

function applyPatch(
  target: Uint8Array,
  places: readonly number[],
  texts: readonly Uint8Array[],
): void {
  // Texts are short: a call of `set` would cost more.
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!;
    const text = texts[i]!;
    for (let at = 0; at < text.length; at++) target[place + at] = text[at]!;
  }
}
