// A thread for the components beside the one of the API server.

export { ComponentsThread } from './components-thread.ts';
export type { ComponentsRunner } from './components-thread.ts';
export { KeptThread } from './kept-thread.ts';
export type { Logging } from './messages.ts';
