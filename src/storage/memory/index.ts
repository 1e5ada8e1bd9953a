// The engine for tests and simulation: everything in memory, gone when the process ends. Its state
// can be frozen, and forked.

import type { Revision, Storage } from '../interface.ts';
import { type EngineOptions, type EngineState, MvccEngine } from '../mvcc/engine.ts';
import { noExpirations } from '../mvcc/expiry.ts';
import { MvccStore } from '../mvcc/store.ts';

/** The state of a store in memory at one moment. */
export type MemoryState = EngineState;

export interface MemoryStorageConfig extends EngineOptions {
  /**
   * The state to begin with: objects, revisions, history and expirations. The clock should be at
   * the time of the state. Default: empty.
   */
  readonly state?: MemoryState;
}

export interface MemoryStorage extends Storage {
  /**
   * Returns the state of this moment. What either side writes later is not seen by the other.
   * Throws Closed.
   */
  freeze(): MemoryState;
}

export function createMemoryStorage(config: MemoryStorageConfig): MemoryStorage {
  return new MvccEngine({ ...config, store: config.state?.store.fork() ?? new MvccStore() });
}

/**
 * Returns the state as it was at a revision, and at the time at which that was written: objects and
 * history, without the expirations, which are not kept. Throws StorageError: Expired,
 * FutureRevision.
 */
export function rewind(state: MemoryState, revision: Revision): MemoryState {
  const store = state.store.fork();
  store.rewind(revision);
  return {
    ...state,
    revision,
    now: state.times.timeOf(revision) ?? state.now,
    store,
    expirations: noExpirations(),
    samples: [],
  };
}
