// Creates audit IDs in the form of UUIDs. They have to be unique, not secret. One random UUID
// serves for 4,096 of them, which differ in their last three digits, because a random one would
// cost more than the rest of many requests.

import type { Random } from '#machinery/random.ts';

const COUNT = 4096;
const ENDINGS = Array.from({ length: COUNT }, (_, n) => n.toString(16).padStart(3, '0'));

export class AuditIds {
  readonly #random: Random;
  #beginning = '';
  #next = COUNT;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): string {
    if (this.#next === COUNT) {
      this.#beginning = this.#random.uuid().slice(0, -3);
      this.#next = 0;
    }
    return this.#beginning + ENDINGS[this.#next++]!;
  }
}
