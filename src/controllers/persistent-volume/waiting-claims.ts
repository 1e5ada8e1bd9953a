// Claims without a volume, by storage class.

import type { PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import { isAnnotated } from './binding.ts';
import { BIND_COMPLETED } from './names.ts';
import { classOfClaim } from './storage-classes.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;

export function isWaiting(claim: ReadClaim): boolean {
  return claim.spec.volumeName === undefined && !isAnnotated(claim, BIND_COMPLETED);
}

export class WaitingClaims {
  /**
   * By class, then by key, the claims that have waited longest first. It has no empty inner maps.
   */
  readonly #byClass = new Map<string, Map<string, ReadClaim>>();

  /**
   * Replaces a version of a claim. Returns the class in which a claim stopped waiting; undefined if
   * none did.
   */
  replace(before: ReadClaim | undefined, after: ReadClaim | undefined): string | undefined {
    const from = before !== undefined && isWaiting(before) ? classOfClaim(before) : undefined;
    const to = after !== undefined && isWaiting(after) ? classOfClaim(after) : undefined;
    if (before !== undefined && from !== undefined && from !== to) {
      const claims = this.#byClass.get(from);
      claims?.delete(objectKey(before));
      if (claims?.size === 0) this.#byClass.delete(from);
    }
    if (after !== undefined && to !== undefined) {
      const claims = this.#byClass.get(to) ?? new Map<string, ReadClaim>();
      this.#byClass.set(to, claims.set(objectKey(after), after));
    }
    return from === to ? undefined : from;
  }

  /**
   * Returns the claims of a class, those that have waited longest first. '': claims without a
   * class.
   */
  ofClass(storageClass: string): readonly ReadClaim[] {
    return [...(this.#byClass.get(storageClass)?.values() ?? [])];
  }
}
