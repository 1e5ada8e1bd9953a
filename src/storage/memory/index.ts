// The engine for tests and simulation: everything in memory, gone when the process ends.

import type { Storage } from '../interface.ts';
import type { EngineOptions } from '../mvcc/engine.ts';
import { MvccEngine } from '../mvcc/engine.ts';
import { MvccStore } from '../mvcc/store.ts';

/** Fields and defaults: see EngineOptions and HistoryLimits. */
export type MemoryStorageConfig = EngineOptions;

export function createMemoryStorage(config: MemoryStorageConfig): Storage {
  return new MvccEngine({ ...config, store: new MvccStore() });
}
