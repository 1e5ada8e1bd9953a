// Identifiers of requests, in the form of UUIDs. They have to be unique, not secret: one random UUID serves for 4,096 of them, which
// differ in their last three digits, since a random one costs more than many a request's other work.

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
