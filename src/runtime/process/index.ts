// The public interface of the process runtime.

export { createProcessRuntime } from './runtime.ts';
export type { ProcessRuntimeConfig } from './runtime.ts';
