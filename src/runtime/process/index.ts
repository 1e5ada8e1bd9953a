// The public interface of the process runtime.

export { createIsolatedRuntime, createProcessRuntime } from './create.ts';
export type { IsolatedRuntimeConfig } from './create.ts';
export type { ProcessRuntimeConfig } from './runtime.ts';
