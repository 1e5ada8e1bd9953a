// The engine for tests and simulation: everything is in memory, and gone when the process ends.

import type { Storage } from '../interface.ts';
import { type EngineOptions, MvccEngine } from '../mvcc/engine.ts';
import { MvccStore } from '../mvcc/store.ts';

/** See EngineOptions and HistoryLimits for the fields and their defaults. */
export type MemoryStorageConfig = EngineOptions;

export function createMemoryStorage(config: MemoryStorageConfig): Storage {
  return new MvccEngine({ ...config, store: new MvccStore() });
}
