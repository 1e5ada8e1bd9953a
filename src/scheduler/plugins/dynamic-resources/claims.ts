// Claims as the scheduler sees them: as the API server has them, with newer responses and decisions
// that are not written yet, and the devices in use by them.

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
  /** By UID: allocations that are decided and being written. */
  readonly #pending = new Map<string, Allocation>();

  constructor({ informers, ended }: Pick<Handle, 'informers' | 'ended'>) {
    const informer = informers.informerFor(resourceClaims);
    this.#lister = informer.lister;
    this.#cache = new AssumeCache({ informer, ended });
    // Called after the cache's own handler.
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

  /** Returns the claim. `key`: namespace/name. */
  get(key: string): ResourceClaim | undefined {
    return this.#cache.get(key);
  }

  isPending({ metadata }: ResourceClaim): boolean {
    return this.#pending.has(metadata.uid);
  }

  /** Reserves the devices for the claim. */
  setPending(claim: ResourceClaim, allocation: Allocation): void {
    this.#pending.set(claim.metadata.uid, allocation);
    this.#track(claim);
  }

  /**
   * Releases the reservation, and returns whether there was one. The devices are free again, unless
   * the claim was written.
   */
  clearPending(claim: ResourceClaim): boolean {
    if (!this.#pending.delete(claim.metadata.uid)) return false;
    const now = this.#cache.get(objectKey(claim));
    if (now?.metadata.uid === claim.metadata.uid) this.#track(now);
    else this.#tracker.set(claim.metadata.uid, undefined);
    return true;
  }

  /** Records a claim from a response of the API server. */
  written(claim: ResourceClaim): void {
    this.#cache.assumeWritten(claim);
    // A new claim stays pending until the informer has it: earlier versions without devices may
    // arrive first.
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

  /**
   * Calls back once, at the next change of the claim. Returns a function that removes the callback.
   */
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
