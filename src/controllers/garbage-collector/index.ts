// The garbage collector.

export { GarbageCollector } from './garbage-collector.ts';
export type { GarbageCollectorConfig } from './garbage-collector.ts';
