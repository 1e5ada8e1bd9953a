// Claims as the scheduler sees them: as the API server has them, with what it has answered already
// and what is decided and not written yet; and which devices that takes.

import { resourceClaims } from '#api/groups/resource/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import { AssumeCache } from '../assume-cache.ts';
import { type DevicesInUse, DeviceTracker } from './in-use.ts';
import type { Allocation, ResourceClaim } from './objects.ts';

export class Claims {
  readonly #cache: AssumeCache<ResourceClaim>;
  readonly #lister;
  readonly #tracker = new DeviceTracker();
  /** By UID: decided, and on its way to the API server. */
  readonly #pending = new Map<string, Allocation>();

  constructor({ informers, ended }: Pick<Handle, 'informers' | 'ended'>) {
    const informer = informers.informerFor(resourceClaims);
    this.#lister = informer.lister;
    this.#cache = new AssumeCache({ informer, ended });
    // After the cache's own handler.
    const registration = informer.addEventHandler({
      onAdd: (claim) => this.#seen(claim),
      onUpdate: (before, after) => {
        if (before.metadata.uid !== after.metadata.uid)
          this.#tracker.set(before.metadata.uid, undefined);
        this.#seen(after);
      },
      onDelete: ({ metadata }) => {
        this.#pending.delete(metadata.uid);
        this.#tracker.set(metadata.uid, undefined);
      },
    });
    ended.addEventListener('abort', () => registration.remove(), { once: true });
  }

  get inUse(): DevicesInUse {
    return this.#tracker;
  }

  /** `key`: namespace/name. */
  get(key: string): ResourceClaim | undefined {
    return this.#cache.get(key);
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid);
  }

  /** The devices are the claim's from now on. */
  setPending(claim: ResourceClaim, allocation: Allocation): void {
    this.#pending.set(claim.metadata.uid, allocation);
    this.#track(claim);
  }

  /** Whether it was pending. The devices are free again, unless the claim has been written. */
  clearPending(claim: ResourceClaim): boolean {
    if (!this.#pending.delete(claim.metadata.uid)) return false;
    const now = this.#cache.get(objectKey(claim));
    if (now?.metadata.uid === claim.metadata.uid) this.#track(now);
    else this.#tracker.set(claim.metadata.uid, undefined);
    return true;
  }

  /** The API server has answered this. */
  written(claim: ResourceClaim): void {
    this.#cache.assumeWritten(claim);
    // One that was just made is pending until it is seen: versions without devices may be seen
    // first.
    if (this.#cache.get(objectKey(claim)) !== undefined) this.#pending.delete(claim.metadata.uid);
    this.#track(claim);
  }

  /** Returns the claims of a namespace. */
  list(namespace: string): readonly ResourceClaim[] {
    return this.#lister.list(namespace);
  }

  #seen(claim: ResourceClaim): void {
    if (claim.status.allocation !== undefined) this.#pending.delete(claim.metadata.uid);
    this.#track(claim);
  }

  /** Calls once, at the next change of the claim, unless forgotten before. */
  onChange(claim: ResourceClaim, tell: () => void): () => void {
    const key = objectKey(claim);
    this.#cache.onChange(key, tell);
    return () => this.#cache.forget(key, tell);
  }

  #track({ metadata, status }: ResourceClaim): void {
    const now = this.#cache.get(
      metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`,
    );
    const known = now?.metadata.uid === metadata.uid ? now.status.allocation : status.allocation;
    this.#tracker.set(metadata.uid, this.#pending.get(metadata.uid) ?? known);
  }
}
