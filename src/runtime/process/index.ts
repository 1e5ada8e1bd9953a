// The public interface of the process runtime.

export { createIsolatedRuntime, createProcessRuntime } from './runtime.ts';
export type { IsolatedRuntimeConfig, ProcessRuntimeConfig } from './runtime.ts';
