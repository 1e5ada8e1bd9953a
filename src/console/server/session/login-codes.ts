// One-time codes: a user that is authenticated elsewhere (by a kubeconfig) takes its identity to a
// browser.

import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { Grant } from './grant.ts';
import { digestOf, newSecret } from './secrets.ts';

/** How long a code can be redeemed, in ms. */
export const CODE_LIFE_MS = 60_000;
const MAX_CODES = 1000;
const MAX_PER_USER = 10;

interface Entry {
  readonly grant: Grant;
  readonly expiresMs: number;
}

export class LoginCodes {
  readonly #clock: Clock;
  readonly #random: Random;
  /** By the digest of the code, oldest first. */
  readonly #codes = new Map<string, Entry>();

  constructor({ clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Creates a code. The oldest one of the user, or of all, ends if there are too many. */
  create(grant: Grant): { readonly code: string; readonly expiresMs: number } {
    const now = this.#clock.now();
    for (const [key, { expiresMs }] of this.#codes) if (expiresMs <= now) this.#codes.delete(key);
    const ofUser = [...this.#codes].filter(
      ([, entry]) => entry.grant.user.name === grant.user.name,
    );
    if (ofUser.length >= MAX_PER_USER) this.#codes.delete(ofUser[0]![0]);
    else if (this.#codes.size >= MAX_CODES) this.#codes.delete(this.#codes.keys().next().value!);
    const code = newSecret(this.#random);
    const expiresMs = now + CODE_LIFE_MS;
    this.#codes.set(digestOf(code), { grant, expiresMs });
    return { code, expiresMs };
  }

  /** Returns the grant of a code, which is used up. Undefined: it is unknown, used or expired. */
  redeem(code: string): Grant | undefined {
    const key = digestOf(code);
    const entry = this.#codes.get(key);
    this.#codes.delete(key);
    return entry === undefined || entry.expiresMs <= this.#clock.now() ? undefined : entry.grant;
  }
}
