// The public interface of the simulated runtime.

export { annotationPrefix } from './annotations.ts';
export { SimulationJournal } from './journal.ts';
export type { NodeJournal } from './journal.ts';
export type { SimulatedRuntimeConfig } from './config.ts';
export { createSimulatedRuntime } from './runtime.ts';
