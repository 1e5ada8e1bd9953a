// Pending writes of one call of `patchTogether`: they have one promise, where other writes have one each.

import { withResolvers } from '#machinery/with-resolvers.ts';
import type { KeyValue, Revision, StorageError } from '../interface.ts';
import type { EngineWrite } from './engine-write.ts';

/** Writes that are made together. */
export class PatchedWrites {
  readonly #outcome = withResolvers<undefined>();
  #left = 0;

  constructor() {
    // Nothing waits for single writes, and the caller may not wait at all.
    this.done.catch(() => undefined);
  }

  /** Resolves when all writes that were added are committed. There must be one. */
  get done(): Promise<undefined> {
    return this.#outcome.promise;
  }

  /** Returns the pending write of a state. All are added before the first one is committed. */
  add(kv: KeyValue): EngineWrite {
    this.#left++;
    return new PatchedWrite(this, kv);
  }

  committed(): void {
    if (--this.#left === 0) this.#outcome.resolve(undefined);
  }

  failed(error: StorageError): void {
    this.#outcome.reject(error);
  }
}

class PatchedWrite implements EngineWrite {
  readonly kv: KeyValue;
  readonly #writes: PatchedWrites;
  isLast = true;

  constructor(writes: PatchedWrites, kv: KeyValue) {
    this.#writes = writes;
    this.kv = kv;
  }

  get key(): string {
    return this.kv.key;
  }

  get revision(): Revision {
    return this.kv.modRevision;
  }

  get expiresAt(): undefined {
    return undefined;
  }

  get done(): Promise<undefined> {
    return this.#writes.done;
  }

  resolve(): void {
    this.#writes.committed();
  }

  reject(error: StorageError): void {
    this.#writes.failed(error);
  }
}
